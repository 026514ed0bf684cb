package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/mcpbridge/internal/names"
)

// ServerConfig is the address of an MCP server, and its trust. Command, Args,
// Env, Dir, URL and Headers may hold ${VAR} and ${VAR:-default}. They are replaced
// each time the server is started.
type ServerConfig struct {
	// Name is the prefix of the server's tools: up to 32 letters, digits,
	// hyphens and underscores, no two underscores in a row.
	Name string
	// Transport is how it is reached; empty means Stdio with a Command, and HTTP
	// with a URL.
	Transport Transport

	// Command and Args are the program of a Stdio server, which runs in Dir; empty
	// means the current folder. It gets Env and what every program needs to find
	// its way (PATH, HOME and the like), and nothing else of our environment.
	Command string
	Args    []string
	Env     map[string]string
	// EnvFile is a file of more variables, NAME=value in each line. Those of Env
	// count before them.
	EnvFile string
	Dir     string

	// URL is the address of an HTTP or SSE server. Headers go to its host only.
	URL     string
	Headers map[string]string

	// Protocol is the revision of the protocol: "2025-11-25" for that or what the server knows
	// before it, "2026-07-28" for nothing else, or "auto", which is the same as empty.
	Protocol string

	// Connect bounds the time until the server is ready; 0 means 30 s, or 2 minutes for commands that may download the
	// server first, like npx. Call bounds one call of a tool; 0 means 60 s.
	Connect, Call time.Duration
	// Tools are the tools that are used, by the server's own names. Nil means all,
	// empty but not nil none.
	Tools []string
	// DisabledTools are not used, whatever Tools says.
	DisabledTools []string
	// Trust is how far what the server says of its tools is believed.
	Trust Trust
	// Sampling lets the server ask the model of the run, in the middle of a call and
	// within bounds; see Options.Sample.
	Sampling bool
	// Disabled servers are neither started nor listed.
	Disabled bool
}

// Transport is how messages get to a server and back.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio" // a program of ours, by its standard input and output
	HTTP  Transport = "http"  // streamable HTTP
	SSE   Transport = "sse"   // HTTP with server-sent events, of the revision 2024-11-05
)

// Trust is how far what a server says of its tools is believed.
type Trust string

// The degrees of trust.
const (
	// TrustNone believes nothing: every tool may change anything, and a tool whose
	// definition differs from the first one is not used until a person approves it.
	TrustNone Trust = "none"
	// TrustAnnotations believes readOnlyHint, idempotentHint and openWorldHint, and
	// uses changed definitions at once.
	TrustAnnotations Trust = "annotations"
)

// The values of ServerConfig.Protocol.
const (
	protocolAuto   = "auto"
	protocolOlder  = "2025-11-25"
	protocolNewest = "2026-07-28"
)

// The bounds of a ServerConfig that says nothing else.
const (
	defaultConnect = 30 * time.Second
	installConnect = 2 * time.Minute
	defaultCall    = 60 * time.Second
)

// ConnectTimeout is how long the server may take until it is ready.
func (s ServerConfig) ConnectTimeout() time.Duration {
	if s.installs() {
		return cmp.Or(s.Connect, installConnect)
	}
	return cmp.Or(s.Connect, defaultConnect)
}

// installers are programs that may download a server before they start it, with the first argument that says so. An empty
// one means any.
var installers = map[string][]string{
	"npx": {""}, "pnpx": {""}, "bunx": {""}, "uvx": {""}, "npm": {"exec", "x"}, "pnpm": {"dlx"}, "yarn": {"dlx"}, "bun": {"x"},
	"uv": {"run", "tool"}, "pipx": {"run"}, "docker": {"run"}, "podman": {"run"}, "deno": {"run"}, "go": {"run"},
}

// installs reports whether the command may download the server first.
func (s ServerConfig) installs() bool {
	words := append([]string{s.Command}, s.Args...)
	program := func() string {
		name := strings.ToLower(words[0][strings.LastIndexAny(words[0], `/\`)+1:])
		return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
	}
	if program() == "cmd" && len(words) > 2 && strings.EqualFold(words[1], "/c") { // as npx is started on Windows
		words = words[2:]
	}
	return slices.ContainsFunc(installers[program()], func(first string) bool {
		return first == "" || len(words) > 1 && words[1] == first
	})
}

// CallTimeout is how long a call may take.
func (s ServerConfig) CallTimeout() time.Duration { return cmp.Or(s.Call, defaultCall) }

// Revision is the revision to ask a server for; "" leaves it to the server.
func (s ServerConfig) Revision() string {
	if s.Protocol == protocolAuto {
		return ""
	}
	return s.Protocol
}

// Uses reports whether a tool of the server is used, by the server's own name.
func (s ServerConfig) Uses(tool string) bool {
	return (s.Tools == nil || slices.Contains(s.Tools, tool)) && !slices.Contains(s.DisabledTools, tool)
}

// Kind is the transport, which the zero value leaves to the other fields.
func (s ServerConfig) Kind() Transport {
	if s.Transport != "" {
		return s.Transport
	}
	if s.Command == "" && s.URL != "" {
		return HTTP
	}
	return Stdio
}

// Check returns the problem of s. It does not look at variables.
func (s ServerConfig) Check() error {
	if !names.ValidServer(s.Name) {
		return fmt.Errorf("mcp: %q is not a name for a server: up to %d letters, digits, - and _, without __", s.Name, names.MaxServer)
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("mcp: server %s: %w", s.Name, err)
	}
	return nil
}

func (s ServerConfig) check() error {
	switch {
	case s.Connect < 0 || s.Call < 0:
		return errors.New("a timeout must not be negative")
	case !slices.Contains([]string{"", protocolAuto, protocolOlder, protocolNewest}, s.Protocol):
		return fmt.Errorf("protocol is %q; there are %s, %s and %s", s.Protocol, protocolAuto, protocolOlder, protocolNewest)
	case !slices.Contains([]Trust{"", TrustNone, TrustAnnotations}, s.Trust):
		return fmt.Errorf("trust is %q; there are %s and %s", s.Trust, TrustNone, TrustAnnotations)
	}
	switch s.Kind() {
	case Stdio:
		return s.checkCommand()
	case HTTP, SSE:
		return s.checkURL()
	}
	return fmt.Errorf("type is %q; there are %s, %s and %s", s.Transport, Stdio, HTTP, SSE)
}

func (s ServerConfig) checkCommand() error {
	switch {
	case s.Command == "":
		return errors.New("a stdio server needs a command, another one a url: write {command: PROGRAM} or {url: https://HOST/mcp}")
	case s.URL != "" || len(s.Headers) > 0:
		return errors.New("a stdio server has no url and no headers")
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("%q is not a name of a variable", name)
		}
	}
	return nil
}

func (s ServerConfig) checkURL() error {
	switch {
	case s.URL == "":
		return fmt.Errorf("type %s needs a url", s.Kind())
	case s.Command != "" || len(s.Args) > 0 || len(s.Env) > 0 || s.Dir != "" || s.EnvFile != "":
		return fmt.Errorf("a server of type %s has no command, args, env, envFile or cwd", s.Kind())
	}
	if err := checkHeaders(s.Headers); err != nil {
		return err
	}
	if strings.Contains(s.URL, "${") {
		return nil // looked at when the variables are known
	}
	return checkAddress(s.URL)
}

// checkAddress refuses addresses that cannot be servers. Errors do not repeat the
// address, which may hold a secret.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the url must be one of http or https with a host")
	case u.User != nil:
		return errors.New("the url holds a password; put it into headers")
	}
	if err := outbound.CheckPort(u); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	return nil
}

// checkHeaders refuses headers that no request can have. Errors do not repeat their values.
func checkHeaders(headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if err := outbound.CheckHeader(name, headers[name]); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
	}
	return nil
}

// Resolve returns s with its variables replaced, and the values that came from
// variables: they may be secrets.
func (s ServerConfig) Resolve(lookup func(string) (string, bool)) (ServerConfig, []string, error) {
	v := variables{lookup: lookup}
	out := s
	out.Command, out.Dir, out.URL = v.expand(s.Command), v.expand(s.Dir), v.expand(s.URL)
	out.Args = make([]string, len(s.Args))
	for i, a := range s.Args {
		out.Args[i] = v.expand(a)
	}
	out.Env, out.Headers = v.expandAll(s.Env), v.expandAll(s.Headers)
	if v.err != nil {
		return ServerConfig{}, nil, v.err
	}
	if s.EnvFile != "" {
		more, err := readEnvFile(v.expand(s.EnvFile))
		if err != nil || v.err != nil {
			return ServerConfig{}, nil, errors.Join(v.err, err)
		}
		for name, value := range more {
			v.used = append(v.used, value)
			if _, given := out.Env[name]; !given {
				out.Env[name] = value
			}
		}
	}
	if out.Kind() != Stdio {
		if err := checkAddress(out.URL); err != nil {
			return ServerConfig{}, nil, err
		}
	}
	if err := checkHeaders(out.Headers); err != nil {
		return ServerConfig{}, nil, err
	}
	return out, v.used, nil
}

// variables replaces ${VAR} and ${VAR:-default}. The first error stays.
type variables struct {
	lookup func(string) (string, bool)
	used   []string
	err    error
}

func (v *variables) expandAll(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for key, value := range m {
		out[key] = v.expand(value)
	}
	return out
}

// expand replaces the variables in text. What they hold is not looked at again.
func (v *variables) expand(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			v.fail(errors.New("a ${ has no }"))
			return ""
		}
		b.WriteString(v.value(inside))
		text = after
	}
}

func (v *variables) value(inside string) string {
	name, otherwise, optional := strings.Cut(inside, ":-")
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		v.fail(fmt.Errorf("${%.40s} names no variable", inside))
		return ""
	}
	if v.lookup != nil {
		if value, ok := v.lookup(name); ok && (value != "" || !optional) {
			v.used = append(v.used, value)
			return value
		}
	}
	if !optional {
		v.fail(fmt.Errorf("the variable %s is not set; set it, or write ${%s:-default}", name, name))
	}
	return otherwise
}

func (v *variables) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}
