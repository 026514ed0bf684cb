package serve

import (
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/consolecmd"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/console"
	"github.com/toolpost/toolpost/internal/access"
)

// consolePath is the path of the console.
const consolePath = "/console"

// consoleKeys returns the keys of administrators that log in to the console: none without an address for administrators.
func consoleKeys(c settings.KeysConfig) string {
	if c.AdminAddr == "" {
		return ""
	}
	return strings.TrimSpace(os.Getenv(AdminKeyEnv))
}

// withConsole serves the console below its path, if the configuration has it, and everything else with next. With an
// address of administrators the console also shows the gateway. The caller calls done.
func (v *serving) withConsole(next http.Handler, admin net.Addr) (_ http.Handler, done func(), err error) {
	c := v.with.Gateway.Keys
	if !c.Console || (admin == nil) != (c.AdminAddr == "") {
		return next, func() {}, nil
	}
	var api *console.AdminAPI
	if admin != nil {
		api = &console.AdminAPI{URL: "http://" + reachable(admin.String()), Key: access.AdminKeys(consoleKeys(c))[0]}
	}
	pages, done, err := consolecmd.Mounted(v.cmd, v.with, consolecmd.Mount{Path: consolePath, Hosts: c.AdminHosts, AdminKeys: consoleKeys(c), Gateway: api})
	if err != nil {
		return nil, nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == consolePath || strings.HasPrefix(r.URL.Path, consolePath+"/") {
			pages.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}), done, nil
}
