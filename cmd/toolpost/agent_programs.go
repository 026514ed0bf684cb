package main

import (
	"os"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/agentcli"
)

// agentPrograms returns what opens agent/NAME: the agent programs of the configuration,
// whose secrets are kept out of records from now on.
func (s *settings) agentPrograms() func(rest string) (llm.Model, error) {
	programs := make(map[string]agentcli.Program)
	for name, e := range s.AgentPrograms {
		p := e.Program(name)
		p.Supervised, p.Limits, p.Version = true, llm.Limits(s.Limits), readBuildInfo().Version
		programs[name] = p
		for _, secret := range p.SecretValues(os.LookupEnv) {
			if len(secret) >= leastKey {
				s.hidden = append(s.hidden, secret)
			}
		}
	}
	return func(rest string) (llm.Model, error) {
		m, err := agentcli.Open(programs, os.LookupEnv, rest)
		if err != nil {
			return nil, err // not a model that is nil
		}
		return m, nil
	}
}

// checkAgentPrograms refuses programs that cannot be started as they should.
func (s *settings) checkAgentPrograms() error {
	for name, e := range s.AgentPrograms {
		if err := e.Program(name).Check(); err != nil {
			return err
		}
	}
	return nil
}
