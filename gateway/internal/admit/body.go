package admit

import (
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
)

// Weighed are the body fields that affect decisions of the gateway: cost, and the form of the answer. Fields that only need
// a right are vendorFields, in any spelling.
var Weighed = SpellingsOf(
	"model", "messages", "input", "contents", "tools", "max_tokens", "max_completion_tokens",
	"max_output_tokens", "n", "stream", "stream_options", "previous_response_id", "store",
)

// CheckRepeated rejects a body with a repeated field, because servers differ in which value they use. The upstream must
// read the same request that was checked.
func CheckRepeated(body []byte) error {
	if name := js.Repeated(js.Trim(body)); name != nil {
		return exchange.Invalid("the request has the field %.60q twice, or in two spellings", name)
	}
	return nil
}

// Spellings are field names by their folded form.
type Spellings map[string]string

// SpellingsOf returns the spellings of fields.
func SpellingsOf(names ...string) Spellings {
	out := make(Spellings, len(names))
	for _, n := range names {
		out[string(new(room).folded([]byte(n)))] = n
	}
	return out
}

// Check rejects a field that some server reads as one of the names although it is written differently.
func (s Spellings) Check(key []byte) error {
	if written := s[string(new(room).folded(key))]; written != "" && string(key) != written {
		return exchange.Invalid("the field %.60q of the request must be written %q", key, written)
	}
	return nil
}

func (s Spellings) has(key []byte) bool { return s[string(new(room).folded(key))] != "" }

// room holds a folded name of the length of the longest known name.
type room [40]byte

// folded returns a name by which fields are compared, as [js.FoldField] does.
func (r *room) folded(key []byte) []byte { return js.FoldField(r[:], key) }
