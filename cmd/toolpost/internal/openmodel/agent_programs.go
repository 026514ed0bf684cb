package openmodel

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/agentcli"
)

// openAgentProgram returns the function that opens agent/NAME models: the agent programs of the configuration. It also
// registers the secrets of the programs for redaction.
func openAgentProgram(o *settings.ModelOptions) func(rest string) (llm.Model, error) {
	programs := make(map[string]agentcli.Program)
	for name, e := range o.AgentPrograms {
		p := e.Program(name)
		p.Supervised, p.Limits, p.Version = true, llm.Limits(o.Limits), buildinfo.Read().Version
		programs[name] = p
		o.ProgramSecrets = append(o.ProgramSecrets, secret.Values(p.SecretValues(os.LookupEnv))...)
	}
	return func(rest string) (llm.Model, error) {
		m, err := agentcli.Open(programs, os.LookupEnv, rest)
		if err != nil {
			return nil, err // a plain nil, not a nil *agentcli.Model
		}
		return m, nil
	}
}

// agentProgram is an agent program of the configuration and the result of looking for it.
type agentProgram struct {
	ID, Path string // path is empty if it cannot be started
	Why      error
}

// AgentPrograms looks for the agent programs, sorted by name, and starts none of them.
func AgentPrograms(o *settings.ModelOptions) []agentProgram {
	var out []agentProgram
	open := openAgentProgram(o)
	for _, name := range slices.Sorted(maps.Keys(o.AgentPrograms)) {
		p := agentProgram{ID: "agent/" + name}
		m, err := open(name)
		if err == nil {
			p.Path, err = lookProgram(m.(*agentcli.Model).Program)
		}
		p.Why = err
		out = append(out, p)
	}
	return out
}

// lookProgram returns the path of a program's command. A plain name is looked up in PATH. A relative path is resolved
// against the folder that the program runs in.
func lookProgram(p agentcli.Program) (string, error) {
	if filepath.Base(p.Command) != p.Command && !filepath.IsAbs(p.Command) {
		if p.Dir == "" {
			return "", fmt.Errorf("the command %s is a path, and the program runs in an empty folder: write the whole path, or set cwd", cli.InOneLine(p.Command))
		}
		return exec.LookPath(filepath.Join(p.Dir, p.Command))
	}
	return exec.LookPath(p.Command)
}
