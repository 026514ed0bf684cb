package settings

import "github.com/toolpost/toolpost/mcpbridge/agentcli"

// ProgramEntry is a program as the configuration file describes it, under its name.
type ProgramEntry struct {
	Format   string            `yaml:"format" json:"format"`
	Command  string            `yaml:"command" json:"command"`
	Args     []string          `yaml:"args,omitempty" json:"args,omitempty"`
	Env      map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	Cwd      string            `yaml:"cwd,omitempty" json:"cwd,omitempty"`
	Settings string            `yaml:"settings,omitempty" json:"settings,omitempty"`
	Bridge   string            `yaml:"bridge,omitempty" json:"bridge,omitempty"`
	MaxTurns int               `yaml:"max_turns,omitempty" json:"max_turns,omitempty"`
}

// Program returns the program of that name. Variables of values are not replaced yet.
func (e ProgramEntry) Program(name string) agentcli.Program {
	return agentcli.Program{Name: name, Format: e.Format, Command: e.Command, Args: e.Args, Env: e.Env, Dir: e.Cwd, Settings: e.Settings, Bridge: e.Bridge, MaxTurns: e.MaxTurns}
}
