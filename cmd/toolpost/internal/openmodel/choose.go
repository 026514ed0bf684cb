// Package openmodel chooses a model and opens it: by vendor key, on a local server, as an agent program or simulated.
package openmodel

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// OfflineID is the id of the offline model.
const OfflineID = "sim/offline"

// Keyed lists the vendors that are used if their key is set, in order of preference, each with its model.
var Keyed = []struct{ Vendor, Model string }{
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

// Choice is a usable model and the reason for its choice.
type Choice struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Choose returns the model to ask: the configured one, else one with a key in the environment, else one of a local
// server, else the offline model. source is the source of the configured one.
func Choose(ctx context.Context, o *settings.ModelOptions, source string) Choice {
	if o.Model != "" {
		return Choice{o.Model, "set by " + cmp.Or(source, "the settings")}
	}
	if f := firstKey(); f.ID != "" {
		return f
	}
	for _, f := range FindLocal(ctx, o) {
		if f.ID != "" {
			return f
		}
	}
	return Choice{OfflineID, "no key is set and no server answers on this machine"}
}

// firstKey returns the model of the first vendor whose key is set.
func firstKey() Choice {
	table := settings.Vendors()
	for _, k := range Keyed {
		if env := table[k.Vendor].KeyEnv; env != "" && os.Getenv(env) != "" {
			return Choice{k.Vendor + "/" + k.Model, env + " is set"}
		}
	}
	return Choice{}
}

// Patience is the time limit for a local server to list its models. Only tests change it.
var Patience = 300 * time.Millisecond

// local is the HTTP client for servers on this machine.
var local = outbound.New(outbound.Rules{})

// GateOf returns the gate of a setting: auto or off.
func GateOf(setting string) emulate.Gate {
	if setting == "off" {
		return emulate.GateOff
	}
	return ""
}

// Client returns the client that opens models: those of the user's catalogue and servers, and simulated ones.
func Client(o *settings.ModelOptions) (*provider.Client, error) {
	c, err := cli.UserCatalog("")
	if err != nil {
		return nil, err
	}
	own := make(map[string]provider.Vendor)
	for name, p := range o.Providers {
		v := provider.Vendor{Name: name, BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Headers: p.Headers, Like: p.Like, Vars: p.Vars(name)}
		if p.Wire != "" {
			v.Wires = []string{p.Wire}
		}
		own[name] = v
	}
	return &provider.Client{Catalog: c, Vendors: own, Gate: GateOf(o.Gate), Limits: llm.Limits(o.Limits), Schemes: map[string]func(string) (llm.Model, error){"sim": openSim, "agent": openAgentProgram(o)}}, nil
}
