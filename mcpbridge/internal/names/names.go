// Package names has the rule for names of servers.
package names

import (
	"strings"

	"github.com/toolpost/toolpost/tool"
)

// MaxServer is the maximum length of a server's name in bytes.
const MaxServer = 32

// ValidServer reports whether a server may be called name.
func ValidServer(name string) bool {
	return tool.ValidName(name) && len(name) <= MaxServer && !strings.Contains(name, "__")
}
