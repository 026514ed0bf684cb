// Package formats checks names of wire formats that people write: in flags, configuration files and models.yaml.
package formats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/near"
)

// Check returns an error that lists the known names if name is not one of them.
func Check(name string, known ...string) error {
	if slices.Contains(known, name) {
		return nil
	}
	meant := ""
	if like := near.Names(name, known, 1); len(like) > 0 {
		meant = fmt.Sprintf(". Did you mean %q?", like[0])
	}
	return fmt.Errorf("unknown format %.40q; the formats are %s%s", name, strings.Join(known, ", "), meant)
}
