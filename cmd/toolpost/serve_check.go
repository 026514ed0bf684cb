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

// problems says everything that is wrong with the settings of the gateway beside its routes and stores.
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
		least int64 // below which no request of any client fits
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

// addressProblems says what is wrong with the addresses of the gateway.
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

// problem says what is wrong with how administrators are served. It never repeats their key.
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

// publicProblem refuses an address that others can reach, if nobody needs a key there.
func (v *serving) publicProblem(addr string, s *settings) error {
	name, err := keysName(v.cmd, s)
	anyone, _ := v.cmd.Flags().GetBool(publicFlag)
	if err != nil || anyone || name != "" || listenable(addr) != nil || loopback(addr) == nil {
		return nil // keysName is asked again for the stores
	}
	err = fmt.Errorf("%s is not a loopback address, and without keys whoever reaches it spends what your keys are good for: set keys below gateway (see 'toolpost keys --help'), or give --%s", addr, publicFlag)
	if v.addrFlag != "" {
		return &placedError{path: "--addr", err: err, flag: true}
	}
	return &placedError{path: "addr", err: err}
}

// storeProblems says why keys or what is remembered cannot be kept where the settings say, as far as it can be seen without opening
// anything. What a gateway that serves has open itself is not looked at: closing it would end its locks.
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

// storable says why a database cannot be opened. Nothing is opened for writing by another, and nothing made.
func storable(name, what string) error {
	file, isFile := strings.CutPrefix(name, "sqlite:")
	switch {
	case isPostgres(name):
		if _, err := pgx.ParseConfig(name); err != nil {
			return errors.New("the address of the database cannot be read; write postgres://USER@HOST:PORT/DATABASE") // the error may quote a password
		}
		return nil
	case !isFile:
		return fmt.Errorf("%s kept in sqlite:FILE, at postgres://…%s, and what it says is none of these", what, map[bool]string{true: " or in memory"}[what == "it is"]) // it may hold a password
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

// sqliteHead is what a database of SQLite begins with.
const sqliteHead = "SQLite format 3\x00"

// warnings says what may not be meant so.
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

// routeWarnings says what of the routes may not be meant so.
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

// variableIn is a variable of the environment in an address.
var variableIn = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// idleProviders warns of servers of the user's own that could not be asked and that no route asks, where it would be said. An address that begins with a variable is known
// only where it is set.
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

// absentServer says why an MCP server cannot be started: a variable is not set, or its program is not there; "" if it can, or
// nobody can tell without asking it.
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

// listenable says why nobody can listen on an address, as far as it can be told without doing so.
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

// loops says which routes lead back to the gateway itself.
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

// here reports whether a host and port of an upstream are where a gateway listens.
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

// hostOf returns the host and port that a model is asked at, "" if it is asked at none.
func hostOf(m llm.Model) string {
	known, ok := m.(*provider.Model)
	if !ok {
		return ""
	}
	return known.Host()
}
