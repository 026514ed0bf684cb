package main

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// offlineID is the id of the offline model.
const offlineID = "sim/offline"

// keyed lists the vendors that are used if their key is set, in order of preference, each with its model.
var keyed = []struct{ vendor, model string }{
	{"anthropic", "claude-sonnet-4-5"},
	{"openai", "gpt-5"},
	{"gemini", "gemini-2.5-pro"},
	{"openrouter", "anthropic/claude-sonnet-4.5"},
	{"xai", "grok-4"},
	{"mistral", "mistral-large-latest"},
	{"deepseek", "deepseek-chat"},
	{"moonshot", "kimi-k2-0905-preview"},
	{"groq", "llama-3.3-70b-versatile"},
	{"cerebras", "llama-3.3-70b"},
	{"together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"},
	{"fireworks", "accounts/fireworks/models/llama-v3p3-70b-instruct"},
}

// locals are the servers to look for on this machine, in order of preference.
var locals = []string{"ollama", "llamacpp", "vllm", "lmstudio"}

// found is a usable model and the reason for its choice.
type found struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// choose returns the model to ask: the configured one, else one with a key in the environment, else one of a local
// server, else the offline model.
func (s *settings) choose(ctx context.Context) found {
	if s.Model != "" {
		return found{s.Model, "set by " + cmp.Or(s.from["model"], "the settings")}
	}
	if f := firstKey(); f.ID != "" {
		return f
	}
	for _, f := range s.findLocal(ctx) {
		if f.ID != "" {
			return f
		}
	}
	return found{offlineID, "no key is set and no server answers on this machine"}
}

// vendors returns the table of vendors by name.
func vendors() map[string]provider.Vendor {
	all := make(map[string]provider.Vendor)
	for _, v := range provider.Vendors() {
		all[v.Name] = v
	}
	return all
}

// firstKey returns the model of the first vendor whose key is set.
func firstKey() found {
	table := vendors()
	for _, k := range keyed {
		if env := table[k.vendor].KeyEnv; env != "" && os.Getenv(env) != "" {
			return found{k.vendor + "/" + k.model, env + " is set"}
		}
	}
	return found{}
}

// patience is the time limit for a local server to list its models. Only tests change it.
var patience = 300 * time.Millisecond

// local is the HTTP client for servers on this machine.
var local = outbound.New(outbound.Rules{})

// client returns the client that opens models: those of the user's catalogue and servers, and simulated ones.
func (s *settings) client() (*provider.Client, error) {
	c, err := cli.UserCatalog("")
	if err != nil {
		return nil, err
	}
	own := make(map[string]provider.Vendor)
	for name, p := range s.Providers {
		v := provider.Vendor{Name: name, BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Headers: p.Headers, Like: p.Like, Vars: p.vars(name)}
		if p.Wire != "" {
			v.Wires = []string{p.Wire}
		}
		own[name] = v
	}
	return &provider.Client{Catalog: c, Vendors: own, Limits: llm.Limits(s.Limits), Schemes: map[string]func(string) (llm.Model, error){"sim": openSim, "agent": s.agentPrograms()}}, nil
}
