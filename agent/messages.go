package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// messageRange is a part of a conversation: the messages of an earlier one from From up to,
// and not including, To, or a new message.
type messageRange struct {
	From    int          `json:"from,omitempty"`
	To      int          `json:"to,omitempty"`
	Message *llm.Message `json:"message,omitempty"`
}

// assemble puts a conversation together from parts of a known one.
func assemble(list []messageRange, known []llm.Message) ([]llm.Message, error) {
	out := []llm.Message{}
	for _, p := range list {
		switch {
		case p.Message != nil:
			out = append(out, *p.Message)
		case p.From < 0 || p.To > len(known) || p.From > p.To:
			return nil, errors.New("agent: the record names messages that are not there")
		default:
			out = append(out, known[p.From:p.To]...)
		}
	}
	return out, nil
}

// pieces writes a conversation as parts of a known one, nil if it is that one.
func ranges(msgs, known []llm.Message) (*[]messageRange, error) {
	at := make(map[string][]int)
	for i, m := range known {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		at[string(b)] = append(at[string(b)], i)
	}
	list := []messageRange{}
	next := 0 // where the message after the last one stands
	for _, m := range msgs {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		places := at[string(b)]
		switch i, ok := slices.BinarySearch(places, next); {
		case len(places) == 0:
			list = append(list, messageRange{Message: &m})
		case ok && len(list) > 0 && list[len(list)-1].Message == nil:
			list[len(list)-1].To++
			next++
		default:
			place := places[min(i, len(places)-1)]
			list = append(list, messageRange{From: place, To: place + 1})
			next = place + 1
		}
	}
	if len(list) == 1 && list[0].Message == nil && list[0].From == 0 && list[0].To == len(known) {
		return nil, nil
	}
	return &list, nil
}

// markOwn returns parts with their text marked as written by the library.
func markOwn(parts []llm.Part) []llm.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if t, ok := p.(llm.Text); ok {
			t.Ours = true
			out[i] = t
		}
	}
	return out
}

// isOwn reports whether the library wrote a message.
func isOwn(m llm.Message) bool {
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); !ok || !t.Ours {
			return false
		}
	}
	return len(m.Parts) > 0
}

// pick returns some messages of a conversation.
func pick(msgs []llm.Message, at []int) []llm.Message {
	out := make([]llm.Message, len(at))
	for i, j := range at {
		out[i] = msgs[j]
	}
	return out
}

// eachResult visits the results of a conversation, except those in the last spare messages
// of results.
func eachResult(msgs []llm.Message, spare int, visit func(llm.Result)) {
	groups := 0
	for _, m := range msgs {
		if m.Role == llm.RoleTool {
			groups++
		}
	}
	for _, m := range msgs {
		if m.Role != llm.RoleTool {
			continue
		}
		if groups--; groups < spare {
			return
		}
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				visit(r)
			}
		}
	}
}

// shortened returns a copy of a conversation with its results cut to the characters that keep
// returns, if it returns true. Secrets are redacted before.
func shortened(msgs []llm.Message, c redactor, keep func(llm.Result) (int, bool)) []llm.Message {
	if msgs == nil {
		return nil
	}
	out := slices.Clone(msgs)
	for i, m := range out {
		if m.Role != llm.RoleTool {
			continue
		}
		parts := slices.Clone(m.Parts)
		for j, p := range parts {
			if r, ok := p.(llm.Result); ok {
				if n, ok := keep(r); ok {
					parts[j] = cutResult(r, c, n)
				}
			}
		}
		out[i].Parts = parts
	}
	return out
}

// cutResult returns a result with the first keep characters of its text.
func cutResult(r llm.Result, c redactor, keep int) llm.Result {
	if utf8.RuneCountInString(r.Text()) <= keep {
		return r
	}
	text := []rune(c.redact(r.Text()).String())
	keep = min(keep, len(text))
	r.Parts = []llm.Part{llm.Text{Text: fmt.Sprintf("%s\n[result shortened: %d characters -> %d kept, because the conversation had grown too long]",
		string(text[:keep]), len(text), keep)}}
	return r
}
