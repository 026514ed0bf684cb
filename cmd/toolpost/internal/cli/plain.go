package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

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

// programWords matches what the text of a model's error holds for programs: who reports it, its kind, status and code.
var programWords = sync.OnceValue(func() *regexp.Regexp {
	var kinds []string
	for k := llm.Unknown; k <= llm.Stalled; k++ {
		kinds = append(kinds, regexp.QuoteMeta(strings.ReplaceAll(k.String(), "_", " ")))
	}
	return regexp.MustCompile(`(?:^|\b)[A-Za-z][\w.+-]*: (` + strings.Join(kinds, "|") + `)(?: \(HTTP \d+\))?(?: \[[^\]]*\])?(: |$)`)
})

// PlainText returns the text of an error as [Plain] does, for errors that are only known as text.
func PlainText(text string) string {
	names := make(map[string]llm.Kind)
	for k := llm.Unknown; k <= llm.Stalled; k++ {
		names[strings.ReplaceAll(k.String(), "_", " ")] = k
	}
	for range 3 { // an error in an error
		m := programWords().FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		words := kindWords[names[text[m[2]:m[3]]]]
		if words != "" {
			words += text[m[4]:m[5]]
		}
		text = text[:m[0]] + words + text[m[1]:]
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
	switch {
	case e.Kind == llm.Unsupported && e.Err != nil && strings.Contains(strings.ToLower(e.Err.Error()), "image"):
		words = "this model does not take images"
	case e.Status != 0:
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
