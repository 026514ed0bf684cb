package admit

import (
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
)

// Weighed are the names of members that the gateway decides by: what may be asked, how much it may
// cost, and how it is answered.
var Weighed = []string{
	"model", "messages", "input", "contents", "tools", "mcp_servers", "web_search_options", "max_tokens", "max_completion_tokens",
	"max_output_tokens", "n", "stream", "stream_options", "previous_response_id", "store",
}

// CheckRepeated says why a body may be read in more than one way, nil if it may not: an upstream must not
// be asked something else than what was checked.
func CheckRepeated(body []byte) error {
	if name := js.Repeated(js.Trim(body)); name != nil {
		return exchange.Invalid("the request has the member %.60q twice, or in two spellings", name)
	}
	return nil
}

// CheckSpelling refuses a member that is one of names in another spelling.
func CheckSpelling(key []byte, names []string) error {
	if oneSpelling(key) {
		return nil
	}
	for _, name := range names {
		if string(key) != name && strings.EqualFold(string(key), name) {
			return exchange.Invalid("the member %.60q of the request has to be written %q", key, name)
		}
	}
	return nil
}

// oneSpelling reports whether a name can be no other spelling of one that is weighed: it has neither
// capitals nor letters that fold to others.
func oneSpelling(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}
