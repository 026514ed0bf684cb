// Package outgoing holds what declared tools and the operations of OpenAPI
// documents share in making a request of a call.
package outgoing

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/toolpost/toolpost/tool"
)

// Arguments decodes a call's arguments and keeps the spelling of numbers.
func Arguments(raw json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var args map[string]any
	if err := dec.Decode(&args); err != nil && !errors.Is(err, io.EOF) {
		return nil, tool.Errorf(tool.Validation, "the arguments cannot be read: %v", err)
	}
	return args, nil
}

// Plain writes a value in the form for a program or an address: text without
// quotes, the empty text for null, JSON for lists and objects.
func Plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, _ := json.Marshal(v) // it came from JSON
	return string(b)
}

// SetHeaders sets headers whose values name variables of the environment. A
// variable that is not set is an error here, where it is easier to find than at
// the server.
func SetHeaders(req *http.Request, headers map[string]string) error {
	for name, value := range headers {
		var missing string
		req.Header.Set(name, os.Expand(value, func(v string) string {
			s, ok := os.LookupEnv(v)
			if !ok {
				missing = v
			}
			return s
		}))
		if missing != "" {
			return tool.Errorf(tool.Permission, "the header %s needs the environment variable %s, which is not set", name, missing)
		}
	}
	return nil
}
