package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// problems reports all mistakes in the gateway's settings, except those in routes and stores.
func (c gatewayConfig) problems(addr string, flag bool) error {
	var list []error
	wrong := func(key, format string, args ...any) {
		list = append(list, &placedError{path: key, err: fmt.Errorf(format, args...)})
	}
	list = append(list, c.addressProblems(addr, flag)...)
	for _, row := range []struct {
		key   string
		value time.Duration
	}{
		{"drain", c.Ops.Drain}, {"reload", c.Ops.Reload}, {"header_timeout", c.Ops.HeaderTimeout}, {"body_timeout", c.Ops.BodyTimeout},
		{"write_timeout", c.Ops.WriteTimeout}, {"idle_timeout", c.Ops.IdleTimeout}, {"keep_alive", c.KeepAlive}, {"log_retention", c.Keys.Retention},
		{"answers_for", c.Ops.AnswersFor},
	} {
		switch off := row.key == "keep_alive" && row.value < 0; {
		case off:
		case row.value < 0:
			wrong(row.key, "%v is no time to wait: it is less than 0; write one like 30s", row.value)
		case row.value > 0 && row.value < time.Millisecond:
			wrong(row.key, "%v is no time to wait; give a unit, like 30s", row.value)
		}
	}
	for _, row := range []struct {
		key   string
		value int64
		least int64 // smaller values would refuse every request
	}{{"max_body", c.MaxBody, 1 << 10}, {"max_requests", int64(c.Ops.MaxRequests), 1}, {"max_header", int64(c.Ops.MaxHeader), 512}} {
		switch {
		case row.value < 0:
			wrong(row.key, "%d is less than 0", row.value)
		case row.value > 0 && row.value < row.least:
			wrong(row.key, "%d bytes are too few for any request; give at least %d", row.value, row.least)
		}
	}
	if err := c.Keys.problem(); err != nil {
		list = append(list, err)
	}
	if _, err := c.Ops.TLS.load(); err != nil {
		wrong("tls", "%w", err)
	}
	return errors.Join(list...)
}

// addressProblems reports invalid addresses of the gateway.
func (c gatewayConfig) addressProblems(addr string, flag bool) (list []error) {
	first := placedError{path: "addr", flag: flag}
	if flag {
		first.path = "--addr"
	}
	rows := []struct {
		at   placedError
		addr string
	}{{first, addr}, {placedError{path: "ops_addr"}, c.Ops.OpsAddr}, {placedError{path: "admin_addr"}, c.Keys.AdminAddr}}
	for i, row := range rows {
		if row.addr == "" {
			continue
		}
		if row.at.err = listenable(row.addr); row.at.err != nil {
			list = append(list, &row.at)
			continue
		}
		for _, other := range rows[:i] {
			if _, port, err := net.SplitHostPort(other.addr); err == nil && port != "0" && (here(row.addr, other.addr) || here(other.addr, row.addr)) {
				row.at.err = fmt.Errorf("%s is taken by %s (%s); each needs an address of its own", row.addr, other.at.path, other.addr)
				list = append(list, &row.at)
			}
		}
	}
	return list
}

// problem reports invalid settings of the administration API. It never repeats the administrators' key.
func (c keysConfig) problem() error {
	wrong := func(missing bool, format string, args ...any) error {
		return &placedError{path: "admin_addr", missing: missing, err: fmt.Errorf(format, args...)}
	}
	switch key := strings.TrimSpace(os.Getenv(adminKeyEnv)); {
	case c.AdminAddr == "" || listenable(c.AdminAddr) != nil:
		return nil
	case loopback(c.AdminAddr) != nil && len(c.AdminHosts) == 0:
		return wrong(false, "%s can be reached by others, and the key of administrators goes over it in the clear; keep it on loopback (127.0.0.1:PORT), or say in admin_hosts by which names of this host others may ask, and put TLS before it", c.AdminAddr)
	case key == "":
		return wrong(true, "it needs a key for administrators in %s", adminKeyEnv)
	case len(key) < gateway.MinAdminKey:
		return wrong(false, "the key in %s has less than %d bytes", adminKeyEnv, gateway.MinAdminKey)
	}
	return nil
}

// publicProblem refuses an address that others can reach, if the gateway has no keys.
func (v *serving) publicProblem(addr string, s *settings) error {
	name, err := keysName(v.cmd, s)
	anyone, _ := v.cmd.Flags().GetBool(publicFlag)
	if err != nil || anyone || name != "" || listenable(addr) != nil || loopback(addr) == nil {
		return nil // an error of keysName is reported with the stores
	}
	err = fmt.Errorf("%s is not a loopback address, and without keys whoever reaches it spends what your keys are good for: set keys below gateway (see 'toolpost keys --help'), or give --%s", addr, publicFlag)
	if v.addrFlag != "" {
		return &placedError{path: "--addr", err: err, flag: true}
	}
	return &placedError{path: "addr", err: err}
}

// storeProblems reports stores of keys and state that cannot be used, as far as this is visible without opening them.
// It skips files that a running gateway has open, because closing a second handle would release the gateway's locks.
func (v *serving) storeProblems(s *settings) error {
	storable := func(name, what string) error {
		if v.guards.has(name) {
			return nil
		}
		return storable(name, what)
	}
	name, err := keysName(v.cmd, s)
	if err != nil {
		return err
	}
	var list []error
	if name == "" && s.Gateway.Keys.AdminAddr != "" {
		list = append(list, &placedError{path: "admin_addr", err: errors.New("it is for those who look after keys, and there are none: set keys")})
	}
	keys := &placedError{path: "keys", err: storable(name, "keys are")}
	if f := v.cmd.Flag("keys"); f != nil && f.Changed {
		keys.path, keys.flag = "--keys", true
	} else if os.Getenv(keysEnv) != "" {
		keys.path, keys.flag = keysEnv, true
	}
	if name != "" && keys.err != nil {
		list = append(list, keys)
	}
	state := &placedError{path: "state", err: storable(s.Gateway.Keys.State, "it is")}
	where := s.Gateway.Keys.State
	if env := os.Getenv(stateEnv); env != "" {
		state, where = &placedError{path: stateEnv, flag: true, err: storable(env, "it is")}, env
	}
	if where != "" && where != inMemory && state.err != nil {
		list = append(list, state)
	}
	return errors.Join(list...)
}

// storable reports why a database cannot be opened. It neither writes nor creates anything.
func storable(name, what string) error {
	file, isFile := strings.CutPrefix(name, "sqlite:")
	switch {
	case isPostgres(name):
		if _, err := pgx.ParseConfig(name); err != nil {
			return errors.New("the address of the database cannot be read; write postgres://USER@HOST:PORT/DATABASE") // the error may quote a password
		}
		return nil
	case !isFile:
		return fmt.Errorf("%s kept in sqlite:FILE, at postgres://…%s, and what it says is none of these", what, map[bool]string{true: " or in memory"}[what == "it is"]) // the name may hold a password
	case file == "":
		return errors.New("sqlite: names no file; write sqlite:FILE")
	case variableIn.MatchString(file):
		return fmt.Errorf("variables are not replaced here, and %s would be part of the name of the file", variableIn.FindString(file))
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if dir, err := os.Stat(filepath.Dir(file)); err != nil || !dir.IsDir() {
			return fmt.Errorf("%s cannot be made: there is no folder %s", file, filepath.Dir(file))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("the database cannot be opened: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(sqliteHead))
	if n, _ := io.ReadFull(f, head); n > 0 && string(head[:n]) != sqliteHead[:min(n, len(sqliteHead))] {
		return fmt.Errorf("%s is no database of SQLite; name one, or a file that is not there yet", file)
	}
	return nil
}

// sqliteHead is the start of every SQLite file.
const sqliteHead = "SQLite format 3\x00"

// warnings reports settings that are valid but probably not intended.
func (v *serving) warnings(m *mistakes, s *settings) {
	c := s.Gateway
	if len(c.Routes) == 0 && m.file != "" && len(m.list) == 0 {
		m.warn("gateway", "there are no routes, so the offline model answers for every name")
	}
	name, err := keysName(v.cmd, s)
	for _, row := range []struct {
		path   string
		idle   bool
		says   string
		needed string
	}{
		{"ops_hosts", len(c.Ops.OpsHosts) > 0 && c.Ops.OpsAddr == "", "it is for", "ops_addr"},
		{"admin_hosts", len(c.Keys.AdminHosts) > 0 && c.Keys.AdminAddr == "", "it is for", "admin_addr"},
		{"log_retention", c.Keys.Retention > 0 && name == "" && err == nil, "it is for the log that is kept with", "keys"},
	} {
		if row.idle {
			m.warn("gateway."+row.path, "%s %s, which is not set", row.says, row.needed)
		}
	}
	for path, address := range map[string]string{"keys": c.Keys.Store, "state": c.Keys.State} {
		if isPostgres(address) && storable(address, "") == nil && hasPassword(address) {
			m.warn("gateway."+path, "a password stands in the file; it belongs into %s in the environment", map[string]string{"keys": keysEnv, "state": stateEnv}[path])
		}
	}
	if at := cmp.Or(os.Getenv(stateEnv), c.Keys.State, name); err == nil && (at == "" || at == inMemory) {
		for i, r := range c.Routes {
			if r.Served.Approval == pendingApproval {
				m.warn(fmt.Sprintf("gateway.routes[%d].approval", i), "which calls wait is kept in memory, and a restart forgets it: set state or keys")
			}
		}
	}
	s.Limits.noLimits(m)
	c.bodyWarnings(m)
	s.routeWarnings(m)
	c.idleTeams(m, name == "" && err == nil)
	c.circles(m)
	v.openSecrets(m, s)
	m.zeros(reflect.ValueOf(c), "gateway")
}

// routeWarnings reports settings of routes that are valid but probably not intended.
func (s *settings) routeWarnings(m *mistakes) {
	for i, r := range s.Gateway.Routes {
		for k, u := range r.To {
			if u.Weight != nil && *u.Weight == 0 && len(r.To) > 1 {
				m.warn(fmt.Sprintf("gateway.routes[%d].to[%d].weight", i, k), "0 keeps %s out of the draw: it is not asked", u.Model)
			}
		}
		for k, name := range r.Served.MCP {
			if problem := s.absentServer(name); problem != "" {
				m.warn(fmt.Sprintf("gateway.routes[%d].mcp[%d]", i, k), "the tools of %s are not there until it can be started: %s", name, problem)
			}
		}
	}
}

// variableIn matches an environment variable in an address.
var variableIn = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// idleProviders warns about providers that no route uses and that are unusable, because no request would report this.
// It skips an address that begins with a variable, which is known only where the variable is set.
func (s *settings) idleProviders(m *mistakes) {
	for _, name := range slices.Sorted(keys(s.Providers)) {
		if slices.ContainsFunc(s.Gateway.Routes, func(r routeConfig) bool {
			return slices.ContainsFunc(r.To, func(u upstreamConfig) bool { return strings.HasPrefix(u.Model, name+"/") })
		}) {
			continue
		}
		at := "providers." + name
		if strings.ContainsAny(name, "/#+* ") {
			m.warn(at, "no route asks it, and none could: a model is named NAME/MODEL, and this name has a letter that stands for something else there")
			continue
		}
		base := s.Providers[name].BaseURL
		if base == "" || strings.HasPrefix(base, "${") {
			continue
		}
		if _, err := new(provider.Client).Open(variableIn.ReplaceAllString(base, "x") + "#x"); err != nil || !strings.Contains(base, "://") {
			problem := "an address begins with http:// or https://"
			if known := new(llm.Error); errors.As(err, &known) && known.Err != nil && strings.Contains(base, "://") {
				problem = known.Err.Error()
			}
			m.warn(at+".base_url", "no route asks it, and none could: %s", problem)
		}
	}
}

// absentServer returns why an MCP server cannot be started: a variable is not set, or its program is missing. It
// returns "" if the server can be started, or if only a request would tell.
func (s *settings) absentServer(name string) string {
	e, ok := s.MCPServers[name]
	if !ok {
		return ""
	}
	config, _, err := e.Config(name).Resolve(os.LookupEnv)
	if err != nil {
		return err.Error()
	}
	command := config.Command
	if command == "" {
		return ""
	}
	if e.Cwd != "" && strings.HasPrefix(command, ".") {
		command = filepath.Join(config.Dir, command)
	}
	if _, err := exec.LookPath(command); err != nil {
		return err.Error()
	}
	return ""
}

// listenable returns an error for an invalid listen address, as far as this is visible without listening.
func listenable(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address; write HOST:PORT, like %s", addr, defaultAddr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is no port; it can be 0 to 65535", port)
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !strings.EqualFold(host, "localhost") {
		return fmt.Errorf("%q is no address of this machine; write its IP address, or localhost", host)
	}
	return nil
}

// loops reports routes that lead back to the gateway itself.
func (s *settings) loops(addr string, open func(string, gateway.Way) (llm.Model, error)) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return nil
	}
	var list []error
	for i, r := range s.Gateway.routes() {
		for k, u := range r.Upstreams {
			m, err := open(strings.Replace(u.Model, "*", "x", 1), u.Way)
			if host := hostOf(m); err == nil && here(host, addr) {
				list = append(list, &placedError{path: fmt.Sprintf("routes[%d].to[%d].model", i, k), err: fmt.Errorf("the route %s leads to the gateway itself: %s is where it listens", r.Model, host)})
			}
		}
	}
	return errors.Join(list...)
}

// here reports whether the host and port of an upstream are the gateway's listen address.
func here(host, addr string) bool {
	uh, up, err := net.SplitHostPort(host)
	if err != nil {
		return false
	}
	lh, lp, _ := net.SplitHostPort(addr)
	if up != lp {
		return false
	}
	local := func(h string) bool {
		ip, err := netip.ParseAddr(h)
		return strings.EqualFold(h, "localhost") || err == nil && ip.IsLoopback()
	}
	any := func(h string) bool {
		ip, err := netip.ParseAddr(h)
		return h == "" || err == nil && ip.IsUnspecified()
	}
	return uh == lh || local(uh) && (local(lh) || any(lh)) || any(uh)
}

// hostOf returns the host and port of a model's server, "" if it has none.
func hostOf(m llm.Model) string {
	known, ok := m.(*provider.Model)
	if !ok {
		return ""
	}
	return known.Host()
}
