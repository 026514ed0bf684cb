package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// For every failure, each reader who can help gets advice, in a whole sentence.
func TestEverybodyIsAdvised(t *testing.T) {
	failures := map[string]error{"another error": errors.New("it broke"), "an unknown code": &tool.Error{Code: "new"}}
	for kind := llm.Unknown; kind <= llm.Stalled; kind++ {
		failures[kind.String()] = fmt.Errorf("agent: %w", &llm.Error{Kind: kind})
	}
	for _, code := range []tool.Code{tool.Validation, tool.Permission, tool.NotFound, tool.Timeout, tool.RateLimit, tool.ModelRefusal, tool.Execution, tool.Network, tool.Cancelled} {
		failures[string(code)] = tool.Errorf(code, "it broke")
	}
	for name, err := range failures {
		for _, to := range []tool.Audience{tool.TheModel, tool.ThePerson, tool.TheTerminal} {
			text := tool.Advice(err, to)
			if name == "an unknown code" && to == tool.TheModel {
				continue
			}
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: audience %d is told %q", name, to, text)
			}
			if strings.Contains(text, "toolpost") && to != tool.TheTerminal {
				t.Errorf("%s: audience %d is told about a command it may not have: %q", name, to, text)
			}
		}
	}
	if tool.Advice(nil, tool.ThePerson) != "" {
		t.Error("advice without a failure")
	}
}

func TestAdvice(t *testing.T) {
	auth := &llm.Error{Kind: llm.Auth, Err: errors.New("no key")}
	own := tool.Errorf(tool.Network, "left alone")
	own.Fix = "Do not call this tool for now."
	for _, c := range []struct {
		err  error
		to   tool.Audience
		want string
	}{
		{own, tool.TheModel, "Do not call this tool for now."},
		{auth, tool.ThePerson, "Check the key of the provider."},
		{auth, tool.TheTerminal, "'toolpost doctor' shows which keys are set."},
		{&tool.Error{Code: tool.Permission, Err: auth}, tool.TheTerminal, "'toolpost doctor' shows which keys are set."},
		{tool.Errorf(tool.Permission, "no"), tool.TheTerminal, "Check the key with 'toolpost doctor', or choose another model."},
		{&llm.Error{Kind: llm.Invalid}, tool.TheTerminal, "Change what the message names, or choose another model with -m."},
		{&llm.Error{Kind: llm.TooLong}, tool.ThePerson, "Begin a new conversation, or take a model with a larger context."},
	} {
		if got := tool.Advice(c.err, c.to); got != c.want {
			t.Errorf("%v for %d: got %q", c.err, c.to, got)
		}
	}
}
