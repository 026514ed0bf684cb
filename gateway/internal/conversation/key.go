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

// Purpose is what an entry is stored for. All entries are stored under keys of a purpose. Stores outlive a version, so
// the words of a key do not change (TestStoredKeys).
type Purpose struct {
	kind state.Kind
	word string // precedes the words of a key
}

// The purposes, with the words of their keys.
var (
	forSignature   = Purpose{state.Signature, "turn"} // the signer, the question, and the first call of the answer
	forTurn        = Purpose{kind: state.Turn}        // the question, and the client's calls in the answer
	forCall        = Purpose{state.Turn, "call"}      // a call of the client; leads to its turn
	forName        = Purpose{state.Request, "name"}   // the Idempotency-Key
	forContent     = Purpose{state.Request, "words"}  // the content of a request without a name
	forAnswer      = Purpose{state.Request, "answer"} // the id of an answer; leads to its request
	forCache       = Purpose{kind: state.Cached}      // the content of a request, and the upstreams of its route
	ForWaitingCall = Purpose{kind: state.Waiting}     // the route, the tool, and the arguments
)

// Key returns the key of an entry of an owner. No owner finds entries of another.
func (p Purpose) Key(owner string, words ...[]byte) state.Place {
	if p.word != "" {
		words = append([][]byte{[]byte(p.word)}, words...)
	}
	return state.Place{Kind: p.kind, Owner: owner, Hash: state.HashOf(words...)}
}

// History is the messages of a request. A point in it is identified by what the client had sent before.
type History struct {
	messages []llm.Message
	sent     []state.Hash // before each message; nil until it is needed
}

// NewHistory returns the history of a request.
func NewHistory(messages []llm.Message) *History { return &History{messages: messages} }

// question returns the hash of the question that message i replies to: the client's messages since the last answer of the model.
// Messages of the model just before i are part of the reply. With the number of messages, i is the next answer.
func (h *History) question(i int) state.Hash {
	for i > 0 && h.messages[i-1].Role == llm.RoleAssistant {
		i--
	}
	first := i
	for first > 0 && h.messages[first-1].Role != llm.RoleAssistant {
		first--
	}
	sum := sha256.New()
	for _, m := range h.messages[first:i] {
		addSent(sum, m)
	}
	return state.Hash(sum.Sum(nil))
}

// sentBefore returns the hash of all that the client had sent before message i.
func (h *History) sentBefore(i int) state.Hash {
	if h.sent == nil {
		sum := sha256.New()
		for _, m := range h.messages {
			h.sent = append(h.sent, state.Hash(sum.Sum(nil)))
			if m.Role != llm.RoleAssistant {
				addSent(sum, m)
			}
		}
		h.sent = append(h.sent, state.Hash(sum.Sum(nil)))
	}
	return h.sent[i]
}

// addSent adds a message of the client to a hash.
func addSent(sum hash.Hash, m llm.Message) {
	sum.Write([]byte(m.Text()))
	for _, p := range m.Parts {
		if r, ok := p.(llm.Result); ok {
			sum.Write([]byte("\x00" + r.CallID + "\x00" + r.Text()))
		}
	}
	sum.Write([]byte{0})
}

// callsOf returns the ids of calls, and a hash of their names and canonical arguments.
func callsOf(calls []llm.Call) (hash state.Hash, ids []string) {
	sum := sha256.New()
	for _, c := range calls {
		fmt.Fprintf(sum, "%q %q\n", c.Name, canonical(c.Args))
		ids = append(ids, c.ID)
	}
	return state.Hash(sum.Sum(nil)), ids
}

// callKey returns the key of the link from a call to its turn.
func (m *Scope) callKey(c llm.Call) state.Place {
	if isRandomID(c.ID) {
		return forCall.Key(m.Owner, []byte(c.ID))
	}
	return forCall.Key(m.Owner, []byte(c.ID), []byte(c.Name), canonical(c.Args))
}

// signatureKey returns the key of a signed answer. A random id is unique, so it is enough, because clients shorten old
// results and drop turns. With any other id, the key includes the question. With a counted or missing id, it includes
// the name and arguments of the call instead of the id.
func (m *Scope) signatureKey(signer string, question state.Hash, first llm.Call) state.Place {
	switch {
	case first.ID == "" || isCountedID(first.ID):
		return forSignature.Key(m.Owner, []byte(signer), question[:], nil, []byte(first.Name), plainArgs(first.Args))
	case isRandomID(first.ID):
		return forSignature.Key(m.Owner, []byte(signer), nil, []byte(first.ID))
	}
	return forSignature.Key(m.Owner, []byte(signer), question[:], []byte(first.ID))
}

// isCountedID reports whether an id is only a number, as codecs give to calls without one. Such ids repeat in many
// conversations.
func isCountedID(id string) bool {
	digits, ok := strings.CutPrefix(id, "call_")
	digits = strings.TrimPrefix(digits, "text_")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
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
