package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// fields are the keys of an entry, by the words of all programs.
type fields struct {
	entry *ServerEntry
	notes *[]string
	in    section
	name  string
	http  string   // the address of httpUrl, which counts before url
	inert []string // keys without an effect on the server
}

// aliases are the keys that mean one of ours.
var aliases = map[string]string{
	"cmd": "command", "environment": "env", "envs": "env", "uri": "url", "serverUrl": "url", "http_headers": "headers", "workingDirectory": "cwd",
	"enabled_tools": "tools", "includeTools": "tools", "disabledTools": "disabled_tools", "excludeTools": "disabled_tools",
}

// loginRemedy tells how to get what a program keeps for a login.
const loginRemedy = "log in with 'toolpost mcp login NAME'; --client-id and --client-secret-env name a registered client"

// askedRemedy tells how to allow calls.
const askedRemedy = "calls are asked about here; the answer 'always' or --yes allows them"

// remedies are the keys that are left out, and what to do instead; nothing if they have no effect on the server.
var remedies = map[string]string{
	"auth": loginRemedy, "oauth": loginRemedy, "oauth_resource": loginRemedy, "scopes": loginRemedy, "authProviderType": loginRemedy,
	"targetAudience": loginRemedy, "targetServiceAccount": loginRemedy,
	"headersHelper": "put what it prints into a variable, and write headers: {Authorization: \"Bearer ${VARIABLE}\"}",
	"trust":         askedRemedy, "autoApprove": askedRemedy, "alwaysAllow": askedRemedy, "always_allow": askedRemedy, "default_tools_approval_mode": askedRemedy,
	"required": "a run with --mcp NAME does not start without it",
	"sandbox":  "the server runs without a sandbox here; run it in a container", "sandboxEnabled": "the server runs without a sandbox here; run it in a container",
	"settings": "put the values into env or args",
	"name":     "", "display_name": "", "description": "", "title": "", "icon": "", "bundled": "", "gallery": "", "version": "", "alwaysLoad": "", "dev": "", "source": "",
}

// take reads one key of an entry.
func (f *fields) take(key string, v *value) error {
	if ours, there := aliases[key]; there {
		key = ours
	}
	if v.kind == null && key != "command" && key != "url" { // goose: not set
		return nil
	}
	if v.holdsNull() { // it would become an empty text
		return fmt.Errorf("%s holds null", key)
	}
	if done, err := f.takeOther(key, v); done {
		return err
	}
	e := f.entry
	to := map[string]any{
		"type": &e.Type, "command": &e.Command, "args": &e.Args, "envFile": &e.EnvFile, "cwd": &e.Cwd, "url": &e.URL,
		"connect_timeout": &e.ConnectTimeout, "call_timeout": &e.CallTimeout, "protocol": &e.Protocol, "trust": &e.Trust, "sampling": &e.Sampling, "disabled_tools": &e.DisabledTools,
	}[key]
	if to == nil {
		switch remedy, known := remedies[key]; {
		case !known:
			f.note("%s is left out: nothing here corresponds to it", key)
		case remedy == "":
			f.inert = append(f.inert, key)
		default:
			f.note("%s is left out: %s", key, strings.ReplaceAll(remedy, "NAME", f.name))
		}
		return nil
	}
	if err := v.read(to); err != nil {
		return fmt.Errorf("%s cannot be read as what it should be", key)
	}
	switch {
	case key == "type":
		return f.transport()
	case key == "trust" && e.Trust == string(TrustAnnotations):
		f.note("its annotations are trusted, as the file says")
	}
	return nil
}

// transportWords are the words of all programs for transports.
var transportWords = map[string]string{
	"stdio": "stdio", "local": "stdio", "http": "http", "streamableHttp": "http", "streamable-http": "http", "streamable_http": "http", "sse": "sse",
	"remote": "http", // opencode, which tries both
}

// ownParts are the types of servers that are a part of another program.
var ownParts = []string{"builtin", "platform", "frontend", "inline_python", "extension", "sdk", "sse-ide", "ws-ide"}

func (f *fields) transport() error {
	given := f.entry.Type
	if f.entry.Type = transportWords[given]; f.entry.Type != "" {
		return nil
	}
	if slices.Contains(ownParts, given) {
		return fmt.Errorf("a server of type %s is a part of the other program; add the command of its server, if it has one, with 'toolpost mcp add'", given)
	}
	return fmt.Errorf("type is stdio, http or sse, and not %.20q", given)
}

// takeOther reads a key whose value is not kept as it is.
func (f *fields) takeOther(key string, v *value) (done bool, err error) {
	e := f.entry
	var on bool
	var text string
	var list []string
	var named map[string]string
	wrong := fmt.Errorf("%s cannot be read as what it should be", key)
	switch {
	case strings.HasPrefix(key, "timeout") || strings.HasSuffix(key, "_timeout_sec") || strings.HasSuffix(key, "_timeout_ms"):
		return true, f.timeout(key, v)
	case key == "enabled" || key == "disabled":
		if v.read(&on) != nil {
			return true, fmt.Errorf("%s is neither true nor false", key)
		}
		on = on == (key == "enabled")
		if e.Enabled == nil || *e.Enabled {
			e.Enabled = &on
		}
	case key == "tools" && v.kind == mapping: // Codex
		return true, f.toolTable(v)
	case key == "tools" || key == "available_tools":
		if v.read(&list) != nil {
			return true, errors.New("tools is a list of names")
		}
		for i, name := range list { // Gemini: "tool(arguments)"
			list[i], _, _ = strings.Cut(name, "(")
		}
		if key == "tools" || len(list) > 0 { // goose: empty means all
			e.Tools = &list
		}
	case key == "command" && v.kind == sequence: // opencode
		if v.read(&list) != nil || len(list) == 0 {
			return true, wrong
		}
		e.Command, e.Args = list[0], append(list[1:], e.Args...)
	case key == "command" && v.kind == mapping: // Zed
		for _, p := range v.pairs {
			if p.key == "path" {
				p.key = "command"
			}
			if err := f.take(p.key, p.of); err != nil {
				return true, err
			}
		}
	case key == "env":
		if v.read(&named) != nil {
			return true, wrong
		}
		if e.Env == nil {
			e.Env = make(map[string]string)
		}
		maps.Copy(e.Env, named)
	case key == "headers" || key == "env_http_headers": // Codex: names of variables
		if v.read(&named) != nil {
			return true, wrong
		}
		for name, value := range named {
			if key != "headers" {
				value = "${" + value + "}"
			}
			f.header(name, value)
		}
	case key == "bearer_token_env_var":
		if v.read(&text) != nil {
			return true, wrong
		}
		f.header("Authorization", "Bearer ${"+text+"}")
	case key == "env_vars" || key == "env_keys": // Codex, goose: variables that are passed on
		return true, f.passOn(v)
	case key == "httpUrl":
		return true, v.read(&f.http)
	case key == "source" && v.text == "extension": // Zed
		return true, errors.New("the server is a part of an extension of the other program; add its command with 'toolpost mcp add'")
	case key == "trust" && v.kind == scalar: // Gemini: true means that calls are not asked about
		if v.text == "true" {
			f.note("trust is left out: %s", askedRemedy)
		}
	case key == "oauth" && v.text == "false": // opencode: no login
	default:
		return false, nil
	}
	return true, nil
}

// toolTable reads a table with settings of each tool.
func (f *fields) toolTable(v *value) error {
	asked := false
	for _, p := range v.pairs {
		on := true
		for _, setting := range p.of.pairs {
			switch setting.key {
			case "enabled":
				if setting.of.read(&on) != nil {
					return fmt.Errorf("tools.%s.enabled is neither true nor false", p.key)
				}
			case "approval_mode":
				asked = true
			default:
				f.note("tools.%s.%s is left out: nothing here corresponds to it", p.key, setting.key)
			}
		}
		if !on {
			f.entry.DisabledTools = append(f.entry.DisabledTools, p.key)
		}
	}
	if asked {
		f.note("approval_mode of tools is left out: %s", askedRemedy)
	}
	return nil
}

func (f *fields) header(name, value string) {
	if f.entry.Headers == nil {
		f.entry.Headers = make(map[string]string)
	}
	f.entry.Headers[name] = value
}

// passOn adds variables of our environment, or of a keyring, to that of the server.
func (f *fields) passOn(v *value) error {
	for _, item := range v.items {
		name := item.text
		if n := item.at("name"); n != nil {
			name = n.text
		}
		if name == "" {
			return errors.New("a variable has no name")
		}
		if f.entry.Env == nil {
			f.entry.Env = make(map[string]string)
		}
		if _, there := f.entry.Env[name]; !there {
			f.entry.Env[name] = "${" + name + "}"
			f.note("set the variable %s", name)
		}
	}
	return nil
}

// timeout reads a time without a unit. The key or the program has the unit.
func (f *fields) timeout(key string, v *value) error {
	var n float64
	if v.kind != scalar || v.read(&n) != nil || n <= 0 {
		return fmt.Errorf("%s is a number of %s", key, map[bool]string{true: "seconds", false: "milliseconds"}[f.in.seconds || strings.HasSuffix(key, "_sec")])
	}
	unit := time.Millisecond
	switch {
	case f.in.seconds || strings.HasSuffix(key, "_sec"):
		unit = time.Second
	case key == "timeout" && n < 1000:
		unit = time.Second
		f.note("timeout %v is taken as seconds", n)
	}
	if n > float64(24*time.Hour/unit) {
		return fmt.Errorf("%s is longer than a day", key)
	}
	d := time.Duration(n * float64(unit))
	if strings.HasPrefix(key, "startup") || f.in.starting {
		f.entry.ConnectTimeout = d
	} else {
		f.entry.CallTimeout = d
	}
	return nil
}

func (f *fields) note(format string, args ...any) {
	*f.notes = append(*f.notes, fmt.Sprintf(format, args...))
}

// finish settles what several keys decide, and turns the variables of other programs into ours.
func (f *fields) finish() error {
	e := f.entry
	if f.http != "" {
		if e.URL != "" && e.URL != f.http {
			f.note("url is left out: httpUrl counts before it")
		}
		e.URL, e.Type = f.http, string(HTTP)
	}
	if e.Type == string(HTTP) && e.Command != "" && e.URL == "" {
		e.Type = ""
	}
	if len(f.inert) > 0 {
		f.note("left out, without an effect on the server: %s", strings.Join(f.inert, ", "))
	}
	return f.variables()
}

var (
	// variable matches ${NAME}, {env:NAME} and {file:PATH} of opencode, and $NAME of Gemini.
	variable  = regexp.MustCompile(`\$?\{(?:env|file):[^}]*\}|\$\{[^}]*\}`)
	plainName = regexp.MustCompile(`\$[A-Z_][A-Z0-9_]*`)
)

// variables turns the words of other programs for variables into ours.
func (f *fields) variables() error {
	var wrong error
	change := func(text *string) {
		*text = variable.ReplaceAllStringFunc(*text, func(whole string) string {
			inside := strings.TrimPrefix(whole, "$")
			out, err := f.variable(inside[1 : len(inside)-1])
			if err != nil && wrong == nil {
				wrong = err
			}
			return out
		})
	}
	e := f.entry
	for _, text := range []*string{&e.Command, &e.EnvFile, &e.Cwd, &e.URL} {
		change(text)
	}
	for i := range e.Args {
		change(&e.Args[i])
	}
	for _, m := range []map[string]string{e.Env, e.Headers} {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			value := m[key]
			change(&value)
			m[key] = plainName.ReplaceAllStringFunc(value, func(name string) string {
				f.note("%s in %s is read as a variable", name, key)
				return "${" + name[1:] + "}"
			})
		}
	}
	return wrong
}

func (f *fields) variable(inside string) (string, error) {
	kind, name, special := strings.Cut(inside, ":")
	switch {
	case inside == "workspaceFolder":
		return ".", nil
	case inside == "workspaceFolderBasename":
		f.note("set the variable WORKSPACE_FOLDER_BASENAME to the name of the folder: the file has ${%s}", inside)
		return "${WORKSPACE_FOLDER_BASENAME}", nil
	case inside == "userHome":
		return "${HOME}", nil
	case inside == "pathSeparator" || inside == "/":
		return "/", nil
	case special && kind == "env":
		return "${" + name + "}", nil
	case special && kind == "input":
		upper := strings.ToUpper(strings.Map(func(r rune) rune {
			if r == '-' || r == '.' || r == ' ' {
				return '_'
			}
			return r
		}, name))
		f.note("set the variable %s: the file asks for it as input %s", upper, name)
		return "${" + upper + "}", nil
	case special && kind == "file":
		return "", fmt.Errorf("{%s} is not read here; set a variable to what the file holds, and write ${VARIABLE}", inside)
	case special && !strings.HasPrefix(name, "-"):
		return "", fmt.Errorf("${%s} is not known here", inside)
	}
	return "${" + inside + "}", nil
}
