package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/consolecmd"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serveimport"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/observe/otlp"
	"github.com/toolpost/toolpost/provider"
)

// examination checks one configuration of a gateway. It starts and changes nothing.
type examination struct {
	*configcheck.Report
	*serving
	s       *settings.Settings
	addr    string // the listen address
	keys    string // the store of keys, "" if there is none
	keysErr error
}

// outside places a problem at a flag or a variable.
func outside(name string, err error) error {
	return &configcheck.Error{Path: name, Err: err, Outside: true}
}

// check runs all checks of the settings.
func (x *examination) check() (setup gateway.Setup) {
	x.addr = cmp.Or(x.options.addr, x.s.Gateway.Addr, DefaultAddr)
	x.keys, x.keysErr = keys.StoreName(x.cmd, &x.s.Gateway)
	for _, err := range x.s.Problems() {
		x.AddError(err)
	}
	x.CheckDeclared(reflect.ValueOf(x.s.Gateway), "gateway")
	x.addresses()
	x.administrators()
	x.console()
	x.budgetAlerts()
	x.certificate()
	x.public()
	x.stores()
	x.bodies()
	x.traces()
	x.AddError(x.tryTools(x.s))
	x.impliedRoot()
	x.names()
	setup, err := gatewaySetup(x.s, x.log)
	x.AddError(err)
	if err == nil {
		x.loops(setup.Open)
		if len(x.s.Gateway.Routes) > 0 {
			_, err = gateway.New(setup)
			x.AddFound(err)
		}
		x.missingKeys(setup.Open)
	}
	x.unusedProviders()
	x.warnings()
	return setup
}

// addresses checks the listen addresses.
func (x *examination) addresses() {
	type place struct{ path, addr string }
	c := x.s.Gateway
	rows := []place{{"gateway.addr", x.addr}, {"gateway.ops_addr", c.Ops.OpsAddr}, {"gateway.admin_addr", c.Keys.AdminAddr}}
	for i, row := range rows {
		if row.addr == "" {
			continue
		}
		if err := listenable(row.addr); err != nil {
			x.AddError(x.ofAddr(row.path, err))
			continue
		}
		for _, other := range rows[:i] {
			if _, port, err := net.SplitHostPort(other.addr); err == nil && port != "0" && (here(row.addr, other.addr) || here(other.addr, row.addr)) {
				name := strings.TrimPrefix(other.path, "gateway.")
				if i == 1 && x.options.addr != "" {
					name = "--addr"
				}
				x.Wrong(row.path, "%s is already the address of %s (%s); use another port", row.addr, name, other.addr)
			}
		}
	}
}

// ofAddr places a problem with an address at its setting. The address of clients may come from a flag.
func (x *examination) ofAddr(path string, err error) error {
	if path == "gateway.addr" && x.options.addr != "" {
		return outside("--addr", err)
	}
	return &configcheck.Error{Path: path, Err: err}
}

// administrators checks the settings of the administration API. It never repeats the administrators' key.
func (x *examination) administrators() {
	const at = "gateway.admin_addr"
	c := x.s.Gateway.Keys
	key := strings.TrimSpace(os.Getenv(AdminKeyEnv))
	switch {
	case c.AdminAddr == "":
		return
	case listenable(c.AdminAddr) != nil: // already reported
	case listen.Loopback(c.AdminAddr) != nil && len(c.AdminHosts) == 0:
		x.Wrong(at, "%s is reachable from other machines, and the key of administrators would be sent without encryption; use loopback (127.0.0.1:PORT), or put a proxy with TLS before it and list the host names in admin_hosts", c.AdminAddr)
	case key == "":
		x.AddError(&configcheck.Error{Path: at, Unset: true, Err: fmt.Errorf("it needs a key for administrators in %s", AdminKeyEnv)})
	case slices.ContainsFunc(access.AdminKeys(key), func(k string) bool { return len(k) < access.MinAdminKey }):
		x.Wrong(at, "the key in %s is too short; it needs at least %d bytes", AdminKeyEnv, access.MinAdminKey)
	}
	if x.keys == "" && x.keysErr == nil {
		x.Wrong(at, "it manages keys, and the gateway has none: set keys")
	}
}

// console checks the settings of the console. It never repeats a token.
func (x *examination) console() {
	const at = "gateway.console"
	c := x.s.Gateway.Keys
	if !c.Console {
		return
	}
	if _, err := consolecmd.Accounts(consoleKeys(c)); err != nil {
		x.AddError(&configcheck.Error{Path: at, Unset: os.Getenv(consolecmd.AccountsEnv) == "", Err: err})
	}
	if c.AdminAddr == "" && listenable(x.addr) == nil && listen.Loopback(x.addr) != nil {
		x.Wrong(at, "%s is reachable from other machines; set admin_addr, which then serves the console", x.addr)
	}
}

// certificate checks that the certificate can be loaded.
func (x *examination) certificate() {
	if _, err := loadCertificate(x.s.Gateway.Ops.TLS); err != nil {
		x.Wrong("gateway.tls", "%v", err)
	}
}

// public refuses an address that others can reach, if the gateway has no keys.
func (x *examination) public() {
	if x.keysErr != nil || x.options.anyone || x.keys != "" || listenable(x.addr) != nil || listen.Loopback(x.addr) == nil {
		return // an error of the keys is reported with the stores
	}
	x.AddError(x.ofAddr("gateway.addr", fmt.Errorf("%s is reachable from other machines, and without keys everyone can use your accounts: set keys below gateway (see 'toolpost keys --help'), or give --%s", x.addr, publicFlag)))
}

// stores checks the stores of keys and state, as far as possible without opening them. It skips files that a running
// gateway has open, because closing a second handle would release the gateway's locks.
func (x *examination) stores() {
	if x.keysErr != nil {
		x.AddError(x.keysErr)
		return
	}
	check := func(name, setting, variable, flag string, memory bool) {
		if name == "" || memory && name == inMemory || x.guards.has(name) {
			return
		}
		err := keys.Storable(name, memory)
		switch f := x.cmd.Flag(flag); {
		case err == nil:
		case f != nil && f.Changed:
			x.AddError(outside("--"+flag, err))
		case os.Getenv(variable) != "":
			x.AddError(outside(variable, err))
		default:
			x.Wrong("gateway."+setting, "%v", err)
		}
	}
	check(x.keys, "keys", keys.StoreEnv, "keys", false)
	check(cmp.Or(os.Getenv(stateEnv), x.s.Gateway.Keys.State), "state", stateEnv, "", true)
}

// bodies checks the settings that store requests and answers, and warns that they are stored.
func (x *examination) bodies() {
	paths := keepingBodies(x.s.Gateway)
	for _, path := range paths {
		if x.keys == "" && x.keysErr == nil {
			x.Wrong(path, "requests and answers are kept next to the log of requests, which needs keys: set keys")
			continue
		}
		x.Warn(path, "requests and answers are kept for %v; known secrets are removed, but others may remain, so tell the users", cmp.Or(x.s.Gateway.Keys.Retention, defaultRetention))
	}
	if x.s.Gateway.Keys.BodySize != 0 && len(paths) == 0 {
		x.unused("log_body_size", "log_bodies")
	}
}

// traces reports invalid variables for the export of spans.
func (x *examination) traces() {
	_, err := otlp.FromEnv(os.Getenv)
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, err := range list {
		if err != nil {
			x.AddError(outside("the environment", err))
		}
	}
}

// unused warns about a setting that has no effect without another one.
func (x *examination) unused(setting, needed string) {
	x.Warn("gateway."+setting, "it has no effect without %s, which is not set", needed)
}

// warnings reports settings that are valid but probably not intended.
func (x *examination) warnings() {
	c := x.s.Gateway
	noKeys := x.keys == "" && x.keysErr == nil
	if len(c.Routes) == 0 && x.File != "" && len(x.List) == 0 {
		x.Warn("gateway", "there are no routes, so the offline model answers for every name")
	}
	for _, row := range []struct {
		setting, needed string
		unused          bool
	}{
		{"ops_hosts", "ops_addr", len(c.Ops.OpsHosts) > 0 && c.Ops.OpsAddr == ""},
		{"admin_hosts", "admin_addr", len(c.Keys.AdminHosts) > 0 && c.Keys.AdminAddr == ""},
		{"log_retention", "keys", c.Keys.Retention > 0 && noKeys},
		{"webhook", "keys", c.Keys.Webhook != "" && noKeys},
		{"webhook_at", "keys", len(c.Keys.WebhookAt) > 0 && noKeys},
	} {
		if row.unused {
			x.unused(row.setting, row.needed)
		}
	}
	for _, row := range []struct{ setting, address, variable string }{{"keys", c.Keys.Store, keys.StoreEnv}, {"state", c.Keys.State, stateEnv}} {
		if settings.IsPostgres(row.address) && keys.Storable(row.address, false) == nil && settings.HasPassword(row.address) {
			x.Warn("gateway."+row.setting, "the file contains a password; put the address into the variable %s instead", row.variable)
		}
	}
	x.limits()
	x.routeWarnings()
	x.fallbackCycles()
	x.readableSecrets()
}

// limits warns about limits below 0, which mean no limit and may be a mistake.
func (x *examination) limits() {
	v := reflect.ValueOf(x.s.Limits)
	for _, f := range configcheck.Fields(v.Type()) {
		if f.Of(v).Int() < 0 {
			x.Warn("limits."+f.Key, "a value below 0 means no limit, so an endless answer is not stopped; leave it out for the default")
		}
	}
}

// routeWarnings reports settings of routes that are valid but probably not intended.
func (x *examination) routeWarnings() {
	state := cmp.Or(os.Getenv(stateEnv), x.s.Gateway.Keys.State, x.keys)
	forgets := x.keysErr == nil && (state == "" || state == inMemory)
	for i, r := range x.s.Gateway.Routes {
		at := fmt.Sprintf("gateway.routes[%d].", i)
		if forgets && r.Served.Approval == pendingApproval {
			x.Warn(at+"approval", "waiting calls are kept in memory, and a restart forgets them: set state or keys")
		}
		if r.PassTeam != "" && x.keys == "" && x.keysErr == nil {
			x.Warn(at+"pass_team", "it has no effect without keys: every client may use the endpoints that the route passes on")
		}
		for k, u := range r.To {
			if u.Weight != nil && *u.Weight == 0 && len(r.To) > 1 {
				x.Warn(fmt.Sprintf("%sto[%d].weight", at, k), "a weight of 0 takes %s out of the selection", u.Model)
			}
		}
		for k, name := range r.Served.MCP {
			if problem := absentServer(x.s.MCPServers, name); problem != "" {
				x.Warn(fmt.Sprintf("%smcp[%d]", at, k), "the tools of %s are missing until the server can be started: %s", name, problem)
			}
		}
	}
}

// absentServer returns why an MCP server cannot be started: a variable is not set, or its program is missing. It
// returns "" if the server can be started, or if only a request would tell.
func absentServer(servers map[string]config.ServerEntry, name string) string {
	e, ok := servers[name]
	if !ok {
		return ""
	}
	program, _, err := e.Config(name).Resolve(os.LookupEnv)
	if err != nil {
		return err.Error()
	}
	command := program.Command
	if command == "" {
		return ""
	}
	if e.Cwd != "" && strings.HasPrefix(command, ".") {
		command = filepath.Join(program.Dir, command)
	}
	if _, err := exec.LookPath(command); err != nil {
		return err.Error()
	}
	return ""
}

// unusedProviders warns about providers that no route uses and that are unusable, because no request would report this.
// It skips an address that begins with a variable, which is known only where the variable is set.
func (x *examination) unusedProviders() {
	for _, name := range slices.Sorted(maps.Keys(x.s.Providers)) {
		if slices.ContainsFunc(x.s.Gateway.Routes, func(r settings.RouteConfig) bool {
			return slices.ContainsFunc(r.To, func(u settings.UpstreamConfig) bool { return strings.HasPrefix(u.Model, name+"/") })
		}) {
			continue
		}
		at := "providers." + name
		if strings.ContainsAny(name, "/#+* ") {
			x.Warn(at, "no route uses it, and none could: a model is written NAME/MODEL, and this name has a character with another meaning there")
			continue
		}
		base := x.s.Providers[name].BaseURL
		if base == "" || !strings.Contains(base, "://") || strings.HasPrefix(base, "${") {
			continue
		}
		if _, err := new(provider.Client).Open(settings.VariableIn.ReplaceAllString(base, "x") + "#x"); err != nil {
			x.Warn(at+".base_url", "no route uses it, and none could: %s", cli.Plain(err))
		}
	}
}

// listenable returns an error for an invalid listen address, as far as this is visible without listening.
func listenable(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not an address; write HOST:PORT, like %s", addr, DefaultAddr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is not a port; it can be 0 to 65535", port)
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !strings.EqualFold(host, "localhost") {
		return fmt.Errorf("%q is not an address of this machine; write its IP address, or localhost", host)
	}
	return nil
}

// loops reports routes that lead back to the gateway itself.
func (x *examination) loops(open func(string, gateway.Way) (llm.Model, error)) {
	_, port, err := net.SplitHostPort(x.addr)
	if err != nil || port == "0" {
		return
	}
	for i, r := range GatewayRoutes(x.s.Gateway) {
		for k, u := range r.Upstreams {
			m, err := open(strings.Replace(u.Model, "*", "x", 1), u.Way)
			known, ok := m.(*provider.Model)
			if err == nil && ok && here(known.Host(), x.addr) {
				x.Wrong(fmt.Sprintf("gateway.routes[%d].to[%d].model", i, k), "the route %s leads to the gateway itself, which listens at %s", r.Model, known.Host())
			}
		}
	}
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

// readableSecrets warns about key files that every user of the machine may read.
func (x *examination) readableSecrets() {
	if runtime.GOOS == "windows" {
		return // permission bits have no meaning there
	}
	at := "gateway.keys"
	if f := x.cmd.Flag("keys"); f != nil && f.Changed {
		at = "--keys"
	} else if os.Getenv(keys.StoreEnv) != "" {
		at = keys.StoreEnv
	}
	for _, row := range []struct{ path, file string }{
		{at, strings.TrimPrefix(x.keys, "sqlite:")},
		{"gateway.state", strings.TrimPrefix(x.s.Gateway.Keys.State, "sqlite:")},
		{"gateway.tls.key", x.s.Gateway.Ops.TLS.Key},
	} {
		info, err := os.Stat(row.file)
		if row.file == "" || err != nil || info.Mode().Perm()&0o004 == 0 {
			continue
		}
		m := configcheck.Mistake{Path: row.path, Warning: true, Problem: fmt.Sprintf("every user of this machine may read %s; run chmod 600 on it", row.file)}
		if strings.HasPrefix(row.path, "gateway.") {
			x.AddAt(m)
		} else {
			x.Add(m)
		}
	}
}

// missingKeys warns about upstreams without a key.
func (x *examination) missingKeys(open func(string, gateway.Way) (llm.Model, error)) {
	other, err := openmodel.Client(&x.s.ModelOptions)
	if err != nil || len(x.s.Gateway.Routes) == 0 {
		return
	}
	routes := GatewayRoutes(x.s.Gateway)
	lacking := make([]map[int]error, len(routes)) // the upstreams of each route without a key
	answers := make([]bool, len(routes))          // whether the route has other upstreams
	for i, r := range routes {
		lacking[i] = make(map[int]error)
		for k, u := range r.Upstreams {
			if u.Off {
				continue
			}
			if err := missingKey(r, u, open, other); err != nil {
				lacking[i][k] = err
			} else {
				answers[i] = true
			}
		}
	}
	for i, r := range routes {
		effect := "clients of " + r.Model + " get no answer"
		if answers[i] {
			effect = "it cannot be used, and the other upstreams of " + r.Model + " answer instead"
		} else if at := slices.IndexFunc(r.Fallback, func(name string) bool { return anyAnswers(routes, answers, name) }); at >= 0 {
			effect = "it cannot be used, and " + r.Fallback[at] + " answers instead"
		}
		for _, k := range slices.Sorted(maps.Keys(lacking[i])) {
			x.Warn(fmt.Sprintf("gateway.routes[%d].to[%d].model", i, k), "%s: %v", effect, lacking[i][k])
		}
	}
}

// anyAnswers reports whether a route for a name has a usable upstream. An exact match takes precedence over patterns
// that end in *, and longer patterns over shorter ones.
func anyAnswers(routes []gateway.ModelRoute, answers []bool, name string) bool {
	best, found := -1, false
	for i, r := range routes {
		fit := -1
		if prefix, star := strings.CutSuffix(r.Model, "*"); r.Model == name {
			fit = len(name) + 1
		} else if star && strings.HasPrefix(name, prefix) {
			fit = len(prefix)
		}
		switch {
		case fit > best:
			best, found = fit, answers[i]
		case fit == best && fit >= 0: // a route for clients of another format
			found = found || answers[i]
		}
	}
	return found
}

// missingKey returns an error that names the missing key of an upstream. It returns nil if the key is set, not needed,
// or unknown.
func missingKey(r gateway.ModelRoute, u gateway.Upstream, open func(string, gateway.Way) (llm.Model, error), other *provider.Client) error {
	id := strings.Replace(u.Model, "*", "x", 1)
	asked, err := open(id, r.WayOf(u))
	known, ok := asked.(interface{ Ready() error })
	if (err != nil || !ok) && len(r.Pass) > 0 { // perhaps another kind of model
		known, err = other.Forwarder(id)
		ok = err == nil
	}
	if err != nil || !ok {
		return nil
	}
	return known.Ready()
}

// serveCheck prints all mistakes in a configuration without starting anything.
func (v *serving) serveCheck(asJSON bool) error {
	m, s, _ := v.examine()
	wrong, warnings := m.Split(true, "; serve does not start without it")
	names := ""
	if s != nil && len(wrong) == 0 {
		names = s.Gateway.String()
	}
	if asJSON {
		if err := cli.PrintJSON(v.cmd.OutOrStdout(), map[string]any{"ok": len(wrong) == 0, "routes": names, "mistakes": append([]configcheck.Mistake{}, m.List...)}); err != nil {
			return err
		}
		return v.refusal(wrong)
	}
	for _, x := range warnings {
		fmt.Fprintln(v.cmd.ErrOrStderr(), x)
	}
	if err := v.refusal(wrong); err != nil {
		return err
	}
	text := "the routes are in order: " + names
	if names == "" {
		text = "nothing is wrong, and there are no routes: the offline model answers for every name"
	}
	_, err := fmt.Fprintln(v.cmd.OutOrStdout(), text)
	return err
}

// names refuses implausible names, and numbers in place of words.
func (x *examination) names() {
	for i, r := range x.s.Gateway.Routes {
		wrong := func(setting, problem string) {
			if problem != "" {
				x.AddError(&gateway.RouteError{Route: i, Model: r.Model, Setting: setting, Err: fmt.Errorf("%s", problem)})
			}
		}
		wrong("model", settings.NameProblem(r.Model))
		for k, u := range r.To {
			wrong(fmt.Sprintf("to[%d].model", k), settings.NameProblem(u.Model))
		}
		for k, name := range r.Fallback {
			wrong(fmt.Sprintf("fallback[%d]", k), settings.NameProblem(name))
		}
		wrong("pass_team", settings.NameProblem(r.PassTeam))
		if r.Thinking != "" && strings.Trim(r.Thinking, "0123456789.-") == "" {
			wrong("thinking", fmt.Sprintf("%q is not a level of thinking; write a word like off, low, medium or high", r.Thinking))
		}
	}
}

// fallbackCycles warns about routes whose fallbacks form a cycle. At run time each route is tried only once.
func (x *examination) fallbackCycles() {
	next := map[string]settings.RouteConfig{}
	for _, r := range x.s.Gateway.Routes {
		next[r.Model] = r
	}
	reported := map[string]bool{}
	for i, r := range x.s.Gateway.Routes {
		if cycle := fallbackCycle(next, r.Model, []string{r.Model}, map[string]bool{}); cycle != nil && !reported[r.Model] {
			for _, name := range cycle {
				reported[name] = true
			}
			x.Warn(fmt.Sprintf("gateway.routes[%d].fallback", i), "these fallbacks form a cycle (%s); each route is tried once, so this may be intended", strings.Join(cycle, " → "))
		}
	}
}

// fallbackCycle returns a cycle of fallbacks, nil if there is none. It visits each route once.
func fallbackCycle(next map[string]settings.RouteConfig, first string, path []string, seen map[string]bool) []string {
	for _, name := range next[path[len(path)-1]].Fallback {
		if name == first && len(path) > 1 {
			return append(slices.Clone(path), name)
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		if found := fallbackCycle(next, first, append(slices.Clone(path), name), seen); found != nil {
			return found
		}
	}
	return nil
}

// fileSchema describes the configuration file.
var fileSchema = &configcheck.Schema{Root: reflect.TypeFor[settings.Settings](), Filled: "gateway", Hint: fieldHint}

// fieldHint returns advice on fields of other programs and on keys in the file.
func fieldHint(name, section string) string {
	switch {
	case name == "api_key" || name == "key":
		return "the file contains no keys: key_env names the environment variable with the key"
	case section == "" && serveimport.IsSection(name):
		return "this looks like a configuration of the LiteLLM proxy; 'toolpost serve import FILE' converts it"
	}
	return ""
}

// examine finds all mistakes in the configuration of serve, without starting or changing anything. serve, serve --check
// and every reload use it, so they report the same mistakes. serve itself can only fail later for reasons that a check
// cannot see, such as a port in use.
func (v *serving) examine() (*configcheck.Report, *settings.Settings, gateway.Setup) {
	r, s := v.readSettings()
	r.Explain = explainError
	if s == nil {
		return r, nil, gateway.Setup{}
	}
	x := &examination{Report: r, serving: v, s: s}
	return r, s, x.check()
}

// readSettings reads the settings. After mistakes it returns the readable part, or nil if nothing is readable.
func (v *serving) readSettings() (*configcheck.Report, *settings.Settings) {
	s, partly, r := settings.Defaults(), settings.Defaults(), &configcheck.Report{}
	file, named := settings.File(v.cmd)
	if file != "" {
		text, err := readConfig(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !named:
		case err != nil:
			r.Add(configcheck.Mistake{File: file, Problem: fmt.Sprintf("the configuration cannot be read: %v", err)})
			return r, nil
		default:
			r = fileSchema.Read(file, text, partly)
		}
	}
	switch {
	case !r.Parsed() && len(r.List) > 0:
		return r, nil
	case named && len(r.List) == 0 && r.Empty():
		r.AddError(errEmptyConfig)
		return r, nil
	case len(r.List) > 0:
		s = partly
	case r.File != "":
		if err := s.ReadFile(file); err != nil {
			r.AddError(err)
			return r, nil
		}
	}
	s.File = r.File
	if err := s.Override(v.cmd); err != nil {
		r.AddError(err)
		return r, nil
	}
	return r, s
}

// errEmptyConfig refuses an empty configuration file that the user named, for example a file that is not written yet.
// Otherwise the offline model would answer for every name.
var errEmptyConfig = errors.New("the configuration is empty; to start without one, leave out --config and TOOLPOST_CONFIG")

// readConfig reads the configuration file of a gateway. It requires a regular file, because the file is read more than
// once. A second read of a pipe would return an empty configuration or block.
func readConfig(file string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file, which is required because it is read more than once", file)
	}
	text, err := cli.ReadFile(file, settings.MaxConfig)
	return settings.WithoutMark(text), err
}

// explainError places problems of routes and settings.
func explainError(err error) (configcheck.Mistake, bool) {
	var route *gateway.RouteError
	var setting settings.SettingError
	switch {
	case errors.As(err, &route):
		path := fmt.Sprintf("gateway.routes[%d].%s", route.Route, route.Setting)
		problem, unset := route.Error(), new(provider.UnsetError)
		if known := new(llm.Error); errors.As(route.Err, &known) && known.Err != nil { // the start of this error is meant for programs
			problem = strings.Replace(problem, strings.TrimSuffix(known.Error(), known.Err.Error()), "", 1)
		}
		return configcheck.Mistake{Path: strings.TrimSuffix(path, "."), Problem: problem, Unset: errors.As(route.Err, &unset)}, true
	case errors.As(err, &setting) && !setting.OfCommand():
		return configcheck.Mistake{Path: setting.Path, Problem: setting.Problem()}, true
	}
	return configcheck.Mistake{}, false
}

// refusal returns an error with all mistakes, nil if there are none.
func (v *serving) refusal(wrong []configcheck.Mistake) error {
	if len(wrong) == 0 {
		return nil
	}
	var lines []string
	flags := true
	for _, m := range wrong {
		lines = append(lines, m.String())
		flags = flags && m.Outside
	}
	if text := strings.Join(lines, "\n"); flags {
		return cli.Usagef(v.cmd, "%s", text)
	} else {
		return errors.New(text)
	}
}

// tryTools checks the tools that routes name. If none are open, it opens them temporarily, without starting servers.
func (v *serving) tryTools(s *settings.Settings) error {
	if v.tools != nil {
		return v.tools.Attach(&s.Gateway)
	}
	tools, err := OpenRouteTools(v.cmd, s, true, nil)
	if err != nil {
		return err
	}
	tools.Close()
	return nil
}

// checkFile returns the mistakes that 'serve --check' finds in a file.
func checkFile(file string) ([]configcheck.Mistake, error) {
	cmd := New()
	if err := cmd.Flags().Set("config", file); err != nil {
		return nil, err
	}
	v := &serving{cmd: cmd, log: slog.New(slog.DiscardHandler)}
	r, _, _ := v.examine()
	wrong, _ := r.Split(true, "")
	return wrong, nil
}
