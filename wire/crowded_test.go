package wire_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Nobody can interrupt the reading of one event, so what it holds is bounded by
// number, too: ten million empty parts fit in 30 MB.
func TestCrowdedAnswers(t *testing.T) {
	many := func(n int) string { return `{"x":[0` + strings.Repeat(",{}", n) + `]}` }
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Ollama} {
		codec := wire.Codec{Format: format}
		event := "data: " + many(300_000) + "\n\n"
		if format == wire.Ollama {
			event = many(300_000) + "\n"
		}
		var err error
		for _, e := range codec.DecodeStream(strings.NewReader(event)) {
			err = e
		}
		crowded(t, format+", an event", err)
		_, err = codec.DecodeResponse([]byte(many(1_100_000)))
		crowded(t, format+", a whole answer", err)
	}
}

func crowded(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || llm.KindOf(err) != llm.Malformed || !strings.Contains(err.Error(), "values") {
		t.Errorf("%s: %v", what, err)
	}
}
