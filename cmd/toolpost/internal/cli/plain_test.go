package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

func TestErrorsForPeopleHaveNoNamesOfPackagesOrKinds(t *testing.T) {
	cause := errors.New("the stream ended before the answer did")
	for want, err := range map[string]error{
		"no such run":            errors.New("agent: no such run"),
		"tool 1 has no name":     errors.New("builtin: tool 1 has no name"),
		"at /type: no such type": errors.New("schema: at /type: no such type"),
		"plain":                  errors.New("plain"),
		"the answer broke off: the stream ended before the answer did":     &llm.Error{Op: "wire.chat.DecodeStream", Kind: llm.Incomplete, Err: cause},
		"an address needs a model":                                         &llm.Error{Op: "provider.Open", Kind: llm.Invalid, Err: errors.New("an address needs a model")},
		"the server failed (HTTP 500): out of memory\nTry again.":          fmt.Errorf("%w\nTry again.", &llm.Error{Op: "openai.Stream", Kind: llm.Server, Status: 500, Err: errors.New("out of memory")}),
		"run 7: not found (HTTP 404): the answer cannot be read: not JSON": fmt.Errorf("run 7: %w", &llm.Error{Op: "a", Kind: llm.NotFound, Status: 404, Err: &llm.Error{Op: "b", Kind: llm.Malformed, Err: errors.New("not JSON")}}),
		"no key: set OPENAI_API_KEY":                                       &llm.Error{Op: "openai", Kind: llm.Auth, Err: fmt.Errorf("%w: set OPENAI_API_KEY", provider.ErrNoKey)},
		"too long":                                                         &llm.Error{Op: "openai.Stream", Kind: llm.TooLong},
	} {
		if got := Plain(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPlainText: an error that is only known as text has no names of packages, functions and kinds.
func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"openai-compatible: server (HTTP 500) [server_error]: no room":                     "the server failed: no room",
		"wire.chat.DecodeStream: incomplete: the stream ended without its end":             "the answer broke off: the stream ended without its end",
		"provider.Open: invalid: there is no model \"x\"":                                  "there is no model \"x\"",
		"ollama: network: wire.ollama.DecodeStream: incomplete: the connection was closed": "no connection: the answer broke off: the connection was closed",
		"openai: rate limited (HTTP 429) [rate_limit_exceeded]: slow down":                 "too many requests: slow down",
		"no such file: a.txt":                      "no such file: a.txt",
		"the file server.log: invalid text inside": "the file server.log: invalid text inside",
		"": "",
	} {
		if got := PlainText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
