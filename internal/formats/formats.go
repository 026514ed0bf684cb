// Package formats checks names of wire formats that people write: in flags, configuration files and models.yaml.
package formats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/wire"
)

// Check returns an error that lists the valid names if name is not one of [wire.Formats] or own, the formats of the
// program itself.
func Check(name string, own ...string) error {
	known := append(wire.Formats(), own...)
	if slices.Contains(known, name) {
		return nil
	}
	meant := ""
	if like := near.Names(name, known, 1); len(like) > 0 {
		meant = fmt.Sprintf(". Did you mean %q?", like[0])
	}
	return fmt.Errorf("unknown format %.40q; the formats are %s%s", name, strings.Join(known, ", "), meant)
}
