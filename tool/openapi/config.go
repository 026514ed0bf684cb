package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/internal/yamlcheck"
)

// Config selects the operations of a document that become tools, and configures
// the requests to its server. The zero value takes all operations, without
// credentials, at the first server in the document.
type Config struct {
	// File is the location of the document, for [ParseConfig]; this package never reads it.
	File string `json:"openapi"`
	// Server is the address that all requests go to. It must be set if there
	// are credentials: they are for the host that the operator chose, not for
	// the server in the document.
	Server string `json:"server"`
	// Operations, Tags and Paths choose operations: by id, by tag, by path. An
	// operation that any of them matches is chosen; * matches any text. The
	// method may precede a path, like "GET /things/*".
	Operations []string `json:"operations"`
	Tags       []string `json:"tags"`
	Paths      []string `json:"paths"`
	// Auth has the name of an environment variable for each security scheme of the
	// document that is to be used. For HTTP Basic it holds user:password.
	Auth map[string]string `json:"auth"`
	// Headers are sent with every request and may hold ${NAME} for an environment
	// variable.
	Headers map[string]string `json:"headers"`
	// Prefix is put before the names of the tools, with two underscores.
	Prefix string `json:"prefix"`
}

// IsConfig reports whether a text is a Config rather than a document or a list of
// tools: an object whose key "openapi" names a file.
func IsConfig(text []byte) bool {
	text = bytes.TrimSpace(text)
	if Is(text) {
		return false
	}
	if len(text) > 0 && text[0] == '{' {
		var head struct{ OpenAPI string }
		return json.Unmarshal(text, &head) == nil && head.OpenAPI != ""
	}
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("openapi:")) {
			return true
		}
	}
	return false
}

// ParseConfig reads a Config in YAML or JSON. It is strict: a key it does not know
// is an error.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := yamlcheck.Check(text); err != nil {
		return c, err
	}
	text, err := asJSON(text)
	if err != nil {
		return c, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return c, c.check()
}

func (c Config) check() error {
	if len(c.Auth)+len(c.Headers) > 0 && c.Server == "" {
		return errors.New("auth and headers need a server: credentials go to the host that you name, not to one that the document names")
	}
	if c.Server != "" {
		if err := checkServer(c.Server); err != nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	for scheme, name := range c.Auth {
		if name == "" || strings.ContainsAny(name, "${}= ") {
			return fmt.Errorf("auth: %s needs the name of an environment variable, not its value", scheme)
		}
	}
	return nil
}

func checkServer(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("%q is not an address like https://api.example.org/v1", address)
	case u.User != nil:
		return errors.New("a password in an address ends up in records; use auth")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q has a query, and requests bring their own", address)
	}
	return nil
}

// Secrets returns the values of the environment that only the server should read.
func (c Config) Secrets() []string {
	var out []string
	for _, name := range c.Auth {
		value := os.Getenv(name)
		out = append(out, value)
		if _, password, ok := strings.Cut(value, ":"); ok { // of HTTP Basic
			out = append(out, password)
		}
	}
	for _, value := range c.Headers {
		os.Expand(value, func(v string) string {
			out = append(out, os.Getenv(v))
			return ""
		})
	}
	return secret.Values(out)
}

// chosen reports whether an operation is to become a tool.
func (c Config) chosen(id, method, path string, tags []string) bool {
	if len(c.Operations)+len(c.Tags)+len(c.Paths) == 0 {
		return true
	}
	any := func(patterns []string, texts ...string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return slices.ContainsFunc(texts, func(t string) bool { return glob(p, t) })
		})
	}
	return any(c.Operations, id) || any(c.Tags, tags...) || any(c.Paths, path, method+" "+path)
}

// glob matches text against a pattern in which * matches any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
