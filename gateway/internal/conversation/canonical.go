package conversation

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/provider"
)

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
	betas := provider.Betas(h)
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
