package emulate_test

import (
	"errors"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/smallmodel"
	"github.com/toolpost/toolpost/llm"
)

func init() { emulate.SetTestDecider(smallmodel.Wording{}) }

// A gate that nobody can decide for is an error.
func TestGateOnNeedsADecider(t *testing.T) {
	_, err := emulate.Emulation{Gate: emulate.GateOn, Host: emulate.OutputHost}.Plan(&llm.Request{Messages: []llm.Message{llm.User("Hi")}})
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Invalid {
		t.Errorf("%v", err)
	}
}
