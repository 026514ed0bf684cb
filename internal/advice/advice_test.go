package advice_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/advice"
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
		for _, to := range []advice.Audience{advice.ThePerson, advice.TheTerminal} {
			text := advice.For(err, to)
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: audience %d is told %q", name, to, text)
			}
			if strings.Contains(text, "toolpost") && to != advice.TheTerminal {
				t.Errorf("%s: audience %d is told about a command it may not have: %q", name, to, text)
			}
		}
	}
	if advice.For(nil, advice.ThePerson) != "" {
		t.Error("advice without a failure")
	}
}

func TestAdvice(t *testing.T) {
	auth := &llm.Error{Kind: llm.Auth, Err: errors.New("no key")}
	for _, c := range []struct {
		err  error
		to   advice.Audience
		want string
	}{
		{auth, advice.ThePerson, "Check the key of the provider."},
		{auth, advice.TheTerminal, "'toolpost doctor' shows which keys are set."},
		{&tool.Error{Code: tool.Permission, Err: auth}, advice.TheTerminal, "'toolpost doctor' shows which keys are set."},
		{tool.Errorf(tool.Permission, "no"), advice.TheTerminal, "Check the key with 'toolpost doctor', or choose another model."},
		{&llm.Error{Kind: llm.Invalid}, advice.TheTerminal, "Change what the message names, or choose another model with -m."},
		{&llm.Error{Kind: llm.TooLong}, advice.ThePerson, "Begin a new conversation, or take a model with a larger context."},
	} {
		if got := advice.For(c.err, c.to); got != c.want {
			t.Errorf("%v for %d: got %q", c.err, c.to, got)
		}
	}
}
