package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/provider"
)

// canonical returns JSON in the one form that all ways to write it have: members sorted, no white
// space, texts and numbers as short as they can be. What is no JSON stays as it is.
func canonical(text []byte, without ...string) []byte {
	return rewritten(text, func(v any) {
		if object, ok := v.(map[string]any); ok {
			for _, name := range without {
				delete(object, name)
			}
		}
	})
}

// canonicalRequest is canonical for the body of a request, without how its answer is delivered, and without members that are null:
// they say what is said without them.
func canonicalRequest(body []byte) []byte {
	return rewritten(body, func(v any) {
		dropNulls(v)
		if object, ok := v.(map[string]any); ok {
			delete(object, "stream")
			delete(object, "stream_options")
		}
	})
}

// ownWords are members whose objects are schemas, or what a tool was given or said: a null in them means something.
var ownWords = map[string]bool{
	"parameters": true, "parametersJsonSchema": true, "input_schema": true, "inputSchema": true, "schema": true, "responseSchema": true, "responseJsonSchema": true,
	"format": true, "input": true, "args": true, "arguments": true, "response": true, "json": true,
}

// dropNulls drops the members of requests that are null.
func dropNulls(v any) {
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			dropNulls(each)
		}
	case map[string]any:
		for name, value := range v {
			_, object := value.(map[string]any)
			switch {
			case value == nil:
				delete(v, name)
			case !object || !ownWords[name]:
				dropNulls(value)
			}
		}
	}
}

// rewritten writes JSON in one form, after a change.
func rewritten(text []byte, change func(any)) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	change(v)
	out, err := json.Marshal(plainNumbers(v))
	if err != nil {
		return text // which cannot be: it was JSON
	}
	return out
}

// plainNumbers writes the numbers in a value in one way.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(string(v))
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	}
	return v
}

// plainNumber writes a number as its digits and a power of ten, so that 1, 1.0 and 10e-1 are the same.
// Nothing is rounded.
func plainNumber(s string) json.Number {
	digits, minus := strings.CutPrefix(s, "-")
	power := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.Atoi(digits[i+1:])
		if err != nil || n > 1<<30 || n < -1<<30 {
			return json.Number(s)
		}
		digits, power = digits[:i], n
	}
	whole, rest, _ := strings.Cut(digits, ".")
	digits, power = strings.TrimLeft(whole+rest, "0"), power-len(rest)
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	power += len(digits) - len(short)
	if minus {
		short = "-" + short
	}
	if power == 0 {
		return json.Number(short)
	}
	return json.Number(short + "e" + strconv.Itoa(power))
}

// canonicalBetas are the features that a request asks for in headers, in the one form that all ways to write them have: sorted, each
// once, without white space. The upstream gets them as the client wrote them.
func canonicalBetas(h http.Header) http.Header {
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
