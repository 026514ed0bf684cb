package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// AskedBefore returns the hash of the messages since the last message of the model. They are the question that the next
// answer replies to.
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

// addAsked adds the content of a message to a hash.
func addAsked(h hash.Hash, m llm.Message) {
	h.Write([]byte(m.Text()))
	for _, p := range m.Parts {
		if r, ok := p.(llm.Result); ok {
			h.Write([]byte("\x00" + r.CallID + "\x00" + r.Text()))
		}
	}
	h.Write([]byte{0})
}

// heldKey returns the key of a held turn.
func heldKey(asked, calls [sha256.Size]byte) state.Hash { return state.HashOf(asked[:], calls[:]) }

// callsOf returns the ids of calls, and a hash of their names and canonical arguments.
func callsOf(calls []llm.Call) (hash [sha256.Size]byte, ids []string) {
	h := sha256.New()
	for _, c := range calls {
		args := canonical(c.Args)
		fmt.Fprintf(h, "%q %q\n", c.Name, args)
		ids = append(ids, c.ID)
	}
	return [sha256.Size]byte(h.Sum(nil)), ids
}

// SaidBefore returns the hash of all messages except those of the model.
func SaidBefore(messages []llm.Message) [sha256.Size]byte {
	return AskedBefore(slices.DeleteFunc(slices.Clone(messages), func(m llm.Message) bool { return m.Role == llm.RoleAssistant }))
}

// saidBeforeEach returns SaidBefore of every prefix of a conversation, by its length.
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

// linkKey returns the key of the link of a call.
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

// questionBefore is AskedBefore for an answer. Messages of the model at the end of the request are part of the answer.
func questionBefore(messages []llm.Message) [sha256.Size]byte {
	for len(messages) > 0 && messages[len(messages)-1].Role == llm.RoleAssistant {
		messages = messages[:len(messages)-1]
	}
	return AskedBefore(messages)
}

// turnKey returns the key of an answer: its signer and its first call. A random id is unique, so it is enough, because
// clients shorten old results and drop turns. With any other id, the key includes the question. With a counted or
// missing id, it includes the name and arguments of the call instead of the id.
func turnKey(signer string, asked [sha256.Size]byte, first llm.Call) state.Hash {
	switch {
	case first.ID == "" || isCountedID(first.ID):
		return state.HashOf([]byte("turn"), []byte(signer), asked[:], nil, []byte(first.Name), plainArgs(first.Args))
	case isRandomID(first.ID):
		return state.HashOf([]byte("turn"), []byte(signer), nil, []byte(first.ID))
	}
	return state.HashOf([]byte("turn"), []byte(signer), asked[:], []byte(first.ID))
}

// minRandomRun is the least number of consecutive letters and digits in a random id: the last group of a UUID.
const minRandomRun = 12

// isRandomID reports whether an id looks random, like those of vendors and the gateway. Some servers make ids from tool
// names. Such names contain no digits in a long run of letters, and are not in capitals.
func isRandomID(id string) bool {
	for run := range strings.FieldsFuncSeq(id, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(run) >= minRandomRun && (strings.ContainsAny(run, "0123456789") || run == strings.ToUpper(run)) {
			return true
		}
	}
	return false
}

// requestWords returns what identifies a request for a model with a body. Keys of one team with different tools get
// different answers.
func (m *Scope) requestWords(model string, body []byte) [][]byte {
	var tools []string
	if m.Rights != nil {
		tools = m.Rights.Key.Tools
	}
	return [][]byte{[]byte(m.Codec.Format), []byte(model), fmt.Appendf(nil, "%q", tools), body}
}

// betaWords returns what identifies the beta features of a request, or nil if it has none.
func betaWords(h http.Header) []byte {
	betas := CanonicalBetas(h)
	if len(betas) == 0 {
		return nil
	}
	return fmt.Appendf(nil, "%q", betas)
}

// requestOf returns the place of the link from an answer id to its request.
func requestOf(owner, id string) state.Place {
	return state.Place{Kind: state.Request, Owner: owner, Hash: state.HashOf([]byte("answer"), []byte(id))}
}

// canonical returns JSON in a form in which equal values have equal text, without some fields of the outermost object.
// Invalid JSON is returned unchanged. The form is part of stored keys, so it must not change.
func canonical(text []byte, without ...string) []byte {
	return keyForm(text, &js.Form{Mode: js.ByValue, Omit: func(depth int, name, _ []byte) bool {
		return depth == 0 && slices.Contains(without, string(name))
	}})
}

// canonicalRequest is canonical for the body of a request, without the fields for the delivery of the answer. It also
// omits null fields, which mean the same as absent ones.
func canonicalRequest(body []byte) []byte {
	return keyForm(body, &js.Form{
		Mode: js.ByValue,
		Omit: func(depth int, name, value []byte) bool {
			return string(value) == "null" || depth == 0 && (string(name) == "stream" || string(name) == "stream_options")
		},
		Opaque: func(name []byte) bool { return nullMatters[string(name)] },
	})
}

// nullMatters are fields with schemas, arguments or results of tools. A null inside them has a meaning.
var nullMatters = map[string]bool{
	"parameters": true, "parametersJsonSchema": true, "input_schema": true, "inputSchema": true, "schema": true, "responseSchema": true, "responseJsonSchema": true,
	"format": true, "input": true, "args": true, "arguments": true, "response": true, "json": true,
}

func keyForm(text []byte, form *js.Form) []byte {
	out, err := form.Append(nil, text)
	if err != nil {
		return text
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, out) // kept for keys of earlier versions
	return escaped.Bytes()
}

// CanonicalBetas returns the beta features in the headers of a request in a canonical form: sorted, unique, without
// white space. The upstream gets the headers as the client wrote them.
func CanonicalBetas(h http.Header) http.Header {
	betas := requestctx.Betas(h)
	for header, values := range betas {
		names := strings.Split(strings.Join(values, ","), ",")
		for i := range names {
			names[i] = strings.TrimSpace(names[i])
		}
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
		if betas[header] = []string{strings.Join(names, ",")}; len(names) == 0 {
			delete(betas, header)
		}
	}
	return betas
}
