package compaction

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// Range is a part of a conversation: the messages of an earlier one from From up to,
// and not including, To, or a new message.
type Range struct {
	From    int          `json:"from,omitempty"`
	To      int          `json:"to,omitempty"`
	Message *llm.Message `json:"message,omitempty"`
}

// Assemble puts a conversation together from parts of a known one.
func Assemble(list []Range, known []llm.Message) ([]llm.Message, error) {
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

// Ranges returns a conversation as parts of a known one, nil if the two are equal.
func Ranges(msgs, known []llm.Message) (*[]Range, error) {
	at := make(map[string][]int)
	for i, m := range known {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		at[string(b)] = append(at[string(b)], i)
	}
	list := []Range{}
	next := 0 // where the message after the last one stands
	for _, m := range msgs {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		places := at[string(b)]
		switch i, ok := slices.BinarySearch(places, next); {
		case len(places) == 0:
			list = append(list, Range{Message: &m})
		case ok && len(list) > 0 && list[len(list)-1].Message == nil:
			list[len(list)-1].To++
			next++
		default:
			place := places[min(i, len(places)-1)]
			list = append(list, Range{From: place, To: place + 1})
			next = place + 1
		}
	}
	if len(list) == 1 && list[0].Message == nil && list[0].From == 0 && list[0].To == len(known) {
		return nil, nil
	}
	return &list, nil
}

// LeftOut returns the messages that are not among the parts, or were replaced.
func LeftOut(list []Range, msgs []llm.Message) []llm.Message {
	stays := make([]bool, len(msgs))
	for _, r := range list {
		for i := max(r.From, 0); r.Message == nil && i < min(r.To, len(msgs)); i++ {
			stays[i] = true
		}
	}
	var out []llm.Message
	for i, m := range msgs {
		if !stays[i] {
			out = append(out, m)
		}
	}
	return out
}
