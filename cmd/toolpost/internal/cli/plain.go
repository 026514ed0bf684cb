package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// kindWords begin the message of a model's error, for the kinds whose cause may not explain itself.
var kindWords = map[llm.Kind]string{
	llm.Auth:          "the key was not accepted",
	llm.RateLimited:   "too many requests",
	llm.Overloaded:    "the server is busy",
	llm.Server:        "the server failed",
	llm.Network:       "no connection",
	llm.Timeout:       "no answer in time",
	llm.Incomplete:    "the answer broke off",
	llm.Malformed:     "the answer cannot be read",
	llm.Refused:       "the request was declined",
	llm.BrokenPromise: "the model did not do what the request demands",
	llm.Stalled:       "the answer stopped coming",
	llm.ByteLimit:     "byte limit", // the names of the limits are those of the settings
	llm.TextLimit:     "text limit",
	llm.ThinkingLimit: "thinking limit",
	llm.EventLimit:    "event limit",
	llm.TimeLimit:     "time limit",
}

// Plain returns the message of an error without the names of packages and kinds, which are for programs.
func Plain(err error) string {
	text := err.Error()
	var e *llm.Error
	if errors.As(err, &e) {
		text = strings.Replace(text, e.Error(), plain(e), 1)
	}
	for _, name := range []string{"agent: ", "journal: ", "builtin: ", "provider: "} {
		text = strings.TrimPrefix(text, name)
	}
	if rest, ok := strings.CutPrefix(text, "schema: at "); ok {
		text = "at " + rest
	}
	return text
}

// KindWords describes a kind of error.
func KindWords(k llm.Kind) string {
	if words := kindWords[k]; words != "" {
		return words
	}
	return strings.ReplaceAll(k.String(), "_", " ")
}

func plain(e *llm.Error) string {
	var parts []string
	words := kindWords[e.Kind]
	if errors.Is(e.Err, provider.ErrNoKey) { // no key was sent
		words = ""
	}
	if e.Status != 0 {
		words = fmt.Sprintf("%s (HTTP %d)", KindWords(e.Kind), e.Status)
	}
	if words != "" {
		parts = append(parts, words)
	}
	if e.Err != nil {
		parts = append(parts, Plain(e.Err))
	}
	if len(parts) == 0 {
		return KindWords(e.Kind)
	}
	return strings.Join(parts, ": ")
}
