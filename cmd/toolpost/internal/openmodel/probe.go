package openmodel

import (
	"fmt"
	"time"

	"github.com/toolpost/toolpost/internal/usercatalog"
	"github.com/toolpost/toolpost/provider"
)

// KeepProbe adds what a probe found to a model file and returns its name. An empty name means the user's model file.
func KeepProbe(file string, p *provider.Probe) (string, error) {
	if file == "" {
		var err error
		if file, err = usercatalog.File(); err != nil {
			return "", err
		}
	}
	if len(p.Record.Values) == 0 {
		return file, nil
	}
	note := fmt.Sprintf("%s, %s", time.Now().Format(time.DateOnly), p.Record.Why)
	return file, usercatalog.Remember(file, p.Record.ID, note, p.Record.Values)
}
