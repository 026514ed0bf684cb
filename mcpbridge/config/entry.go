package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/secret"
)

// ServerEntry is a server as the configuration file describes it, under its name.
type ServerEntry struct {
	Type    string            `yaml:"type,omitempty" json:"type,omitempty"`
	Command string            `yaml:"command,omitempty" json:"command,omitempty"`
	Args    []string          `yaml:"args,omitempty" json:"args,omitempty"`
	Env     map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
	EnvFile string            `yaml:"envFile,omitempty" json:"envFile,omitempty"`
	Cwd     string            `yaml:"cwd,omitempty" json:"cwd,omitempty"`
	URL     string            `yaml:"url,omitempty" json:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	// Protocol is auto, 2025-11-25 or 2026-07-28.
	Protocol       string        `yaml:"protocol,omitempty" json:"protocol,omitempty"`
	ConnectTimeout time.Duration `yaml:"connect_timeout,omitempty" json:"connect_timeout,omitempty"`
	CallTimeout    time.Duration `yaml:"call_timeout,omitempty" json:"call_timeout,omitempty"`
	// Tools are the tools to use. A nil pointer, and the one item "*", mean all.
	Tools *[]string `yaml:"tools,omitempty" json:"tools,omitempty"`
	// DisabledTools are not used, whatever Tools says.
	DisabledTools []string `yaml:"disabled_tools,omitempty" json:"disabled_tools,omitempty"`
	Trust         string   `yaml:"trust,omitempty" json:"trust,omitempty"`
	// Sampling lets the server ask the model of the run.
	Sampling bool  `yaml:"sampling,omitempty" json:"sampling,omitempty"`
	Enabled  *bool `yaml:"enabled,omitempty" json:"enabled,omitempty"`
}

// Config returns the server of that name.
func (e ServerEntry) Config(name string) ServerConfig {
	c := ServerConfig{
		Name: name, Transport: Transport(e.Type), Command: e.Command, Args: e.Args, Env: e.Env, EnvFile: e.EnvFile, Dir: e.Cwd, URL: e.URL, Headers: e.Headers, Protocol: e.Protocol,
		Connect: e.ConnectTimeout, Call: e.CallTimeout, Trust: Trust(e.Trust), Sampling: e.Sampling, DisabledTools: e.DisabledTools, Disabled: e.Enabled != nil && !*e.Enabled,
	}
	if e.Tools != nil && (len(*e.Tools) != 1 || (*e.Tools)[0] != "*") {
		c.Tools = append([]string{}, *e.Tools...)
	}
	return c
}

// maxEnvFile bounds a file of variables.
const maxEnvFile = 256 << 10

func unquote(v string) string {
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
		return v[1 : len(v)-1]
	}
	return v
}

// Secrets are the values that the server is given by variables, environment and
// headers, as far as they are known now. They must not be recorded.
func (s ServerConfig) Secrets(lookup func(string) (string, bool)) []string {
	resolved, used, err := s.Resolve(lookup)
	if err != nil {
		return nil // then it is given none
	}
	for _, m := range []map[string]string{resolved.Env, resolved.Headers} {
		for _, v := range m {
			used = append(used, secret.OfHeader(v)...)
		}
	}
	return used
}

var errNoServers = errors.New("it has no mcpServers, servers or mcp_servers")

// readEnvFile reads lines like NAME=value. A value may be quoted. Empty lines and lines that begin
// with # are ignored.
func readEnvFile(file string) (map[string]string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxEnvFile {
		return nil, fmt.Errorf("%s is not a file of up to %d bytes", file, maxEnvFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("%s:%d: there is no NAME=value", file, n)
		}
		out[name] = unquote(strings.TrimSpace(value))
	}
	return out, nil
}
