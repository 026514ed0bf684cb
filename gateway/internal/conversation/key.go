package conversation

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// AskedBefore returns the hash of what a message of the model answers: all that was said since the
// one before it.
func AskedBefore(messages []llm.Message) [sha256.Size]byte {
	first := len(messages)
	for first > 0 && messages[first-1].Role != llm.RoleAssistant {
		first--
	}
	h := sha256.New()
	for _, m := range messages[first:] {
		addAsked(h, m)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// addAsked adds what a message asks to a hash.
func addAsked(h hash.Hash, m llm.Message) {
	h.Write([]byte(m.Text()))
	for _, p := range m.Parts {
		if r, ok := p.(llm.Result); ok {
			h.Write([]byte("\x00" + r.CallID + "\x00" + r.Text()))
		}
	}
	h.Write([]byte{0})
}

// heldKey is what a turn is found by.
func heldKey(asked, calls [sha256.Size]byte) state.Hash { return state.HashOf(asked[:], calls[:]) }

// callsOf returns the hash of calls, however their arguments are written, and their ids.
func callsOf(calls []llm.Call) (hash [sha256.Size]byte, ids []string) {
	h := sha256.New()
	for _, c := range calls {
		args := canonical(c.Args)
		fmt.Fprintf(h, "%q %q\n", c.Name, args)
		ids = append(ids, c.ID)
	}
	return [sha256.Size]byte(h.Sum(nil)), ids
}

// SaidBefore returns the hash of all that was said to a model.
func SaidBefore(messages []llm.Message) [sha256.Size]byte {
	return AskedBefore(slices.DeleteFunc(slices.Clone(messages), func(m llm.Message) bool { return m.Role == llm.RoleAssistant }))
}

// saidBeforeEach returns saidBefore of every beginning of a conversation, by its length.
func saidBeforeEach(messages []llm.Message) [][sha256.Size]byte {
	h := sha256.New()
	out := make([][sha256.Size]byte, 0, len(messages)+1)
	for _, m := range messages {
		out = append(out, [sha256.Size]byte(h.Sum(nil)))
		if m.Role != llm.RoleAssistant {
			addAsked(h, m)
		}
	}
	return append(out, [sha256.Size]byte(h.Sum(nil)))
}

// linkKey is what the link of a call is found by.
func linkKey(c llm.Call) state.Hash {
	if isRandomID(c.ID) {
		return state.HashOf([]byte("call"), []byte(c.ID))
	}
	return state.HashOf([]byte("call"), []byte(c.ID), []byte(c.Name), canonical(c.Args))
}

// isCountedID reports whether an id is only a number, as codecs give to calls without one. Such ids repeat in many
// conversations.
func isCountedID(id string) bool {
	digits, ok := strings.CutPrefix(id, "call_")
	digits = strings.TrimPrefix(digits, "text_")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// questionBefore is askedBefore for an answer: a message of the model that the request ends with is part of the answer.
func questionBefore(messages []llm.Message) [sha256.Size]byte {
	for len(messages) > 0 && messages[len(messages)-1].Role == llm.RoleAssistant {
		messages = messages[:len(messages)-1]
	}
	return AskedBefore(messages)
}

// turnKey is what an answer is found by: who signed it, and its first call. An id that nobody gives twice is enough: clients shorten old
// results, and drop turns. Of other ids, what the answer answers counts, and of those that say nothing, because they are only a number,
// name and arguments, too.
func turnKey(signer string, asked [sha256.Size]byte, first llm.Call) state.Hash {
	switch {
	case first.ID == "" || isCountedID(first.ID):
		return state.HashOf([]byte("turn"), []byte(signer), asked[:], nil, []byte(first.Name), plainArgs(first.Args))
	case isRandomID(first.ID):
		return state.HashOf([]byte("turn"), []byte(signer), nil, []byte(first.ID))
	}
	return state.HashOf([]byte("turn"), []byte(signer), asked[:], []byte(first.ID))
}

// minRandomRun is how many letters and digits in a row an id has at least that was drawn at random: the last group of a UUID.
const minRandomRun = 12

// isRandomID reports whether an id looks like one that was drawn at random, as vendors and the gateway do it: names of tools, which some servers
// make ids of, have no digits inside a long run, and are not written in capitals.
func isRandomID(id string) bool {
	for run := range strings.FieldsFuncSeq(id, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(run) >= minRandomRun && (strings.ContainsAny(run, "0123456789") || run == strings.ToUpper(run)) {
			return true
		}
	}
	return false
}

// requestOf is where it is kept which request has the answer of an id.
func requestOf(owner, id string) state.Place {
	return state.Place{Kind: state.Request, Owner: owner, Hash: state.HashOf([]byte("answer"), []byte(id))}
}
