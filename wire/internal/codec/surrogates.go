package codec

import (
	"bytes"

	"github.com/toolpost/toolpost/internal/wire/loss"
)

// Texts of package llm are UTF-8, which cannot encode half of a surrogate pair, like "\ud83d" alone in JSON. U+FFFD
// replaces it, with a warning. Bytes that a relay or an opaque value copies keep it.

// surrogatesField is the extra field of a request that has such halves. Its value counts the U+FFFD in the request.
const surrogatesField = loss.Restated + "halves"

// replacements counts U+FFFD in a document, literal or as an escape, which may be inside a JSON string.
func replacements(v []byte) int {
	return bytes.Count(v, []byte(replacement)) + bytes.Count(bytes.ToLower(v), []byte(`\ufffd`))
}

const replacement = "\ufffd"
