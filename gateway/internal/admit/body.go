package admit

import (
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
)

// Weighed are the body fields that affect decisions of the gateway: rights, cost, and the form of the answer.
var Weighed = []string{
	"model", "messages", "input", "contents", "tools", "mcp_servers", "web_search_options", "max_tokens", "max_completion_tokens",
	"max_output_tokens", "n", "stream", "stream_options", "previous_response_id", "store",
}

// CheckRepeated rejects a body with a repeated field, because servers differ in which value they use. The upstream must
// read the same request that was checked.
func CheckRepeated(body []byte) error {
	if name := js.Repeated(js.Trim(body)); name != nil {
		return exchange.Invalid("the request has the field %.60q twice, or in two spellings", name)
	}
	return nil
}

// CheckSpelling rejects a field whose name equals one of names except for case.
func CheckSpelling(key []byte, names []string) error {
	if oneSpelling(key) {
		return nil
	}
	for _, name := range names {
		if string(key) != name && strings.EqualFold(string(key), name) {
			return exchange.Invalid("the field %.60q of the request must be written %q", key, name)
		}
	}
	return nil
}

// oneSpelling reports whether a name has neither capitals nor letters that fold to others. Such a name is not another
// spelling of a weighed field.
func oneSpelling(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}
