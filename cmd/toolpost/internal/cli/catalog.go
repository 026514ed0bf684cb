package cli

import (
	"fmt"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/formats"
	"github.com/toolpost/toolpost/internal/usercatalog"
	"github.com/toolpost/toolpost/wire"
)

// UserCatalog calls [usercatalog.Open] and refuses unknown wire formats.
func UserCatalog(file string) (*catalog.Catalog, error) {
	c, err := usercatalog.Open(file)
	if err != nil {
		return nil, err
	}
	for place, name := range c.Wires() {
		if err := formats.Check(name, wire.Formats()...); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
	}
	return c, nil
}
