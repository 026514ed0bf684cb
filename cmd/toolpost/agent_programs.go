package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/agentcli"
)

// agentPrograms returns the function that opens agent/NAME models: the agent programs of the configuration. It also
// registers the secrets of the programs for redaction.
func (s *settings) agentPrograms() func(rest string) (llm.Model, error) {
	programs := make(map[string]agentcli.Program)
	for name, e := range s.AgentPrograms {
		p := e.Program(name)
		p.Supervised, p.Limits, p.Version = true, llm.Limits(s.Limits), readBuildInfo().Version
		programs[name] = p
		s.hidden = append(s.hidden, secret.Values(p.SecretValues(os.LookupEnv))...)
	}
	return func(rest string) (llm.Model, error) {
		m, err := agentcli.Open(programs, os.LookupEnv, rest)
		if err != nil {
			return nil, err // a plain nil, not a nil *agentcli.Model
		}
		return m, nil
	}
}

// checkAgentPrograms refuses agent programs with an invalid configuration.
func (s *settings) checkAgentPrograms() error {
	for name, e := range s.AgentPrograms {
		if err := e.Program(name).Check(); err != nil {
			return err
		}
	}
	return nil
}

// agentProgram is an agent program of the configuration and the result of looking for it.
type agentProgram struct {
	id, path string // path is empty if it cannot be started
	why      error
}

// findAgents looks for the agent programs, sorted by name, and starts none of them.
func (s *settings) findAgents() []agentProgram {
	var out []agentProgram
	open := s.agentPrograms()
	for _, name := range slices.Sorted(maps.Keys(s.AgentPrograms)) {
		p := agentProgram{id: "agent/" + name}
		m, err := open(name)
		if err == nil {
			p.path, err = lookProgram(m.(*agentcli.Model).Program)
		}
		p.why = err
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

// examineAgents reports which agent programs are installed.
func (s *settings) examineAgents() []finding {
	var out []finding
	for _, p := range s.findAgents() {
		f := finding{What: p.id, State: stateOK, Says: cli.InOneLine(p.path)}
		if p.why != nil {
			f = finding{p.id, stateMissing, cli.InOneLine(s.redact(p.why.Error())), "install the program, or correct it under agent_programs in the configuration"}
		}
		out = append(out, f)
	}
	return out
}
