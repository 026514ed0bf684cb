// Package write writes calls and their results in any dialect.
package write

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Turn writes parts as a model of the dialect writes them. With sections, values
// that hold markup are written as CDATA sections. It reports in raw whether a
// value may hold markup that is not escaped: the caller must then read the text
// back to see whether the value ends where it should.
func Turn(how spec.Writing, parts []llm.Part, sections bool) (text string, raw bool, err error) {
	how.CData = how.CData || sections
	w := writer{Writing: how, markers: markersOf(how)}
	if err := w.turn(parts); err != nil {
		return "", false, err
	}
	return w.out.String(), w.raw, nil
}

// writer writes one turn.
type writer struct {
	spec.Writing
	markers []string
	raw     bool // a value may hold markup that is not escaped
	out     strings.Builder
	calls   int // written so far
	blocks  int // written so far: thinking, text, or a run of calls
}

func (w *writer) turn(parts []llm.Part) error {
	for i := 0; i < len(parts); i++ {
		switch p := parts[i].(type) {
		case llm.Text:
			if err := w.say(p, followedByCall(parts[i+1:])); err != nil {
				return err
			}
		case llm.Thinking:
			if p.Text != "" {
				w.block()
				w.put(w.Think.Open, p.Text, w.Think.Close)
			}
		case llm.Call:
			n := run(parts[i:])
			if err := w.run(parts[i : i+n]); err != nil {
				return err
			}
			i += n - 1
		default:
			return fmt.Errorf("a model does not write %T", p)
		}
	}
	w.put(w.End)
	return nil
}

func followedByCall(parts []llm.Part) bool {
	for _, p := range parts {
		if _, ok := p.(llm.Call); ok {
			return true
		}
	}
	return false
}

// run counts the calls at the start of parts.
func run(parts []llm.Part) int {
	for n, p := range parts {
		if _, ok := p.(llm.Call); !ok {
			return n
		}
	}
	return len(parts)
}

func (w *writer) put(pieces ...string) {
	for _, s := range pieces {
		w.out.WriteString(s)
	}
}

// block starts another part of the turn.
func (w *writer) block() {
	if w.blocks > 0 {
		w.put(w.Next)
	}
	w.blocks++
}

func (w *writer) say(t llm.Text, beforeCall bool) error {
	if t.Text == "" {
		return nil
	}
	if w.Whole && (beforeCall || w.calls > 0) {
		return errors.New("an answer is either text or calls")
	}
	w.block()
	around := w.Text
	if beforeCall && w.Intro != (spec.Pair{}) {
		around = w.Intro
	}
	text := t.Text
	if w.Whole {
		text = quote(text)
	}
	w.put(around.Open, text, around.Close)
	if beforeCall {
		w.put(w.Lead)
	}
	return nil
}

// run writes calls that stand together.
func (w *writer) run(parts []llm.Part) error {
	w.block()
	w.put(w.Open)
	for i, p := range parts {
		if i > 0 {
			w.put(w.Sep)
		}
		if err := w.one(p.(llm.Call)); err != nil {
			return err
		}
	}
	w.put(w.Close)
	return nil
}

func (w *writer) one(c llm.Call) error {
	if c.Hosted {
		return fmt.Errorf("call of %q: the provider runs it", c.Name)
	}
	if !plain(c.Name) {
		return fmt.Errorf("call of %q: the name would be read as markup", c.Name)
	}
	args, err := w.arguments(c.Args)
	if err != nil {
		return fmt.Errorf("call of %q: %w", c.Name, err)
	}
	fill := strings.NewReplacer("$name", c.Name, "$id", writtenID(w.ID, c.ID, c.Name, w.calls), "$args", args)
	w.put(fill.Replace(w.Call))
	w.calls++
	return nil
}

// plain reports whether a name or key can be in any dialect without being
// taken for markup.
func plain(name string) bool {
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/@$", r) {
			return false
		}
	}
	return name != ""
}

// member is one entry of a JSON object, in the order it was written.
type member struct {
	key   string
	value json.RawMessage
}

var errNotObject = errors.New("the arguments are not a JSON object")

// members reads an object and keeps order, numbers and escapes unchanged.
func members(raw json.RawMessage) ([]member, error) {
	raw = js.Trim(raw)
	if js.Kind(raw) != '{' || !json.Valid(raw) {
		return nil, errNotObject
	}
	var out []member
	for key, value := range js.Members(raw) {
		out = append(out, member{string(key), slices.Clip(value)}) // so appending to it copies
	}
	return out, nil
}

// arrayItems reads an array that is known to be valid.
func arrayItems(raw json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	_ = json.Unmarshal(raw, &out) // it came out of a decoder
	return out
}

// str reads a string that is known to be valid.
func str(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // it came out of a decoder
	return s
}

// quote returns s as JSON, without the escapes that only HTML needs.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonKind is the type of a JSON value, told by its first byte.
type jsonKind uint8

const (
	isString jsonKind = iota
	isNumber
	isBool
	isNull
	isObject
	isArray
)

func jsonKindOf(raw json.RawMessage) jsonKind {
	switch raw[0] {
	case '"':
		return isString
	case 't', 'f':
		return isBool
	case 'n':
		return isNull
	case '{':
		return isObject
	case '[':
		return isArray
	}
	return isNumber
}
