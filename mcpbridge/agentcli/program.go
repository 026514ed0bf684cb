package agentcli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/names"
)

// Program is an agent program and how it is started.
type Program struct {
	// Name is what the configuration calls it, for people.
	Name string
	// Format is what the program writes: "claude" or "codex".
	Format string
	// Command and Args are the program. Args come before those that the format needs,
	// and may hold none of those; see [Program.Check].
	Command string
	Args    []string
	// Env are all variables of the program. Nothing of our environment is added.
	Env map[string]string
	// Dir is the folder that it runs in; empty means an empty one that is removed
	// afterwards.
	Dir string
	// Settings is a file with which the program's own configuration begins, where the
	// format has such a file.
	Settings string
	// Bridge is the name of the MCP server; empty means [bridge.DefaultName].
	Bridge string
	// MaxTurns is how many turns the program may take where it runs tools itself; 0
	// leaves that to the program.
	MaxTurns int

	// Supervised runs it under a supervisor, which ends it when this program ends.
	Supervised bool
	// Limits are where an answer is given up; zero fields mean [llm.DefaultLimits].
	Limits llm.Limits
	// Secrets are values that must not be in errors, besides those of Env.
	Secrets []string
	// Version is ours, for the handshake.
	Version string
}

// formatNames are the names of the formats that programs write.
func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Check returns the problem of p. It does not look at variables.
func (p Program) Check() error {
	if err := p.check(); err != nil {
		return fmt.Errorf("agent program %s: %w", p.Name, err)
	}
	return nil
}

func (p Program) check() error {
	f, ok := formatNamed(p.Format)
	switch {
	case !ok:
		return fmt.Errorf("format is %q; there are %s", p.Format, strings.Join(formatNames(), " and "))
	case p.Command == "":
		return errors.New("it needs a command")
	case p.Bridge != "" && !names.ValidServer(p.Bridge):
		return fmt.Errorf("bridge is %q, which is not a name of a server", p.Bridge)
	case p.MaxTurns < 0:
		return errors.New("max_turns must not be negative")
	case p.MaxTurns > 0 && !f.bounds:
		return fmt.Errorf("max_turns cannot be enforced with the format %s; leave it out, and bound the time instead", f.name)
	case p.Settings != "" && f.settings == "":
		return fmt.Errorf("the format %s has no settings file", f.name)
	}
	for name := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("%q is not a name of a variable", name)
		}
		if slices.Contains(f.variables, name) {
			return fmt.Errorf("env has %s, which is set for the program", name)
		}
	}
	return f.checkArgs(p.Args)
}

// checkArgs refuses arguments that would give the program more than the bridge, or that
// are set for it.
func (f *format) checkArgs(args []string) error {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			continue
		}
		flag, _, _ := strings.Cut(arg, "=")
		if !slices.Contains(f.passes, flag) {
			return fmt.Errorf("args has %s; with the format %s only these can be given: %s", flag, f.name, strings.Join(f.passes, " "))
		}
	}
	return nil
}

// resolve returns p with the variables of its values replaced, ${VAR} and
// ${VAR:-default}.
func (p Program) resolve(lookup func(string) (string, bool)) (Program, error) {
	// What a server of that command would get is what the program gets.
	s := config.ServerConfig{Command: p.Command, Args: append(slices.Clone(p.Args), p.Settings), Env: p.Env, Dir: p.Dir}
	s, used, err := s.Resolve(lookup)
	if err != nil {
		return p, fmt.Errorf("agent program %s: %w", p.Name, err)
	}
	last := len(s.Args) - 1
	p.Command, p.Args, p.Settings, p.Env, p.Dir = s.Command, s.Args[:last], s.Args[last], s.Env, s.Dir
	for name, v := range p.Env { // paths are not secret
		if slices.Contains(plain, name) {
			used = slices.DeleteFunc(used, func(u string) bool { return u == v })
		}
	}
	p.Secrets = append(slices.Clone(p.Secrets), used...)
	return p, nil
}

// environment is what the program gets, with more variables.
func (p Program) environment(more map[string]string) []string {
	env := []string{}
	for _, m := range []map[string]string{p.Env, more} {
		for name, value := range m {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// plain are variables whose values are paths and settings, not secrets.
var plain = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TERM", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE", "PATHEXT", "COMSPEC"}

// SecretValues are the secret values that the program is given, as far as they are known now. They
// must not be recorded.
func (p Program) SecretValues(lookup func(string) (string, bool)) []string {
	resolved, err := p.resolve(lookup)
	if err != nil {
		return nil // then it is given none
	}
	return resolved.secrets()
}

func (p Program) secrets() []string {
	secrets := slices.Clone(p.Secrets)
	for name, v := range p.Env {
		if !slices.Contains(plain, name) {
			secrets = append(secrets, v)
		}
	}
	return secrets
}

// redact removes secrets from text of the program.
func (p Program) redact(text string) string {
	return secret.Redact(text, secret.Values(p.secrets())...)
}

// Open returns the model of a program by the rest of its id: the name of the program,
// and after a slash the name of the model that the program is to ask, if it is not to be
// its own choice. Lookup replaces variables.
func Open(programs map[string]Program, lookup func(string) (string, bool), rest string) (*Model, error) {
	name, model, _ := strings.Cut(rest, "/")
	p, ok := programs[name]
	if !ok {
		return nil, &llm.Error{Op: "agent", Kind: llm.NotFound, Err: fmt.Errorf("no agent program of the configuration is called %s", name)}
	}
	if err := p.Check(); err != nil {
		return nil, &llm.Error{Op: "agent", Kind: llm.Invalid, Err: err}
	}
	if strings.HasPrefix(model, "-") || strings.ContainsFunc(model, unicode.IsControl) {
		return nil, &llm.Error{Op: "agent", Kind: llm.Invalid, Err: fmt.Errorf("%q is not a name of a model", model)}
	}
	p, err := p.resolve(lookup)
	if err != nil {
		return nil, &llm.Error{Op: "agent", Kind: llm.Invalid, Err: err}
	}
	return &Model{Program: p, Model: model}, nil
}

// settingsOf reads the file with which the program's configuration begins.
func (p Program) settingsOf() ([]byte, error) {
	if p.Settings == "" {
		return nil, nil
	}
	info, err := os.Stat(p.Settings)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, fmt.Errorf("%s is not a file of up to %d bytes", p.Settings, maxSettings)
	}
	return os.ReadFile(p.Settings)
}

// maxSettings bounds a settings file.
const maxSettings = 256 << 10
