package codec

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// ObjectSpec describes an object of requests whose members are read individually: its path in the value that keeps
// unknown members, and the known members. The reader replaces a star in the path.
type ObjectSpec struct {
	Path      string
	Known     []string
	SnakeCase bool // members may be written with underscores, too
}

// SchemaMembers are the members of an output schema in both OpenAI formats.
var SchemaMembers = []string{"name", "description", "schema", "strict"}

// KeepUnread keeps the unknown members of an object of a request or an answer. Each star in the object's path is
// replaced by one of the words.
func (d *Decoder) KeepUnread(x *llm.Extra, v []byte, o *ObjectSpec, stars ...string) {
	if js.Kind(v) != '{' {
		return
	}
	for key, val := range js.Members(v) {
		name := key
		if o.SnakeCase {
			name = CamelCase(key)
		}
		if slices.ContainsFunc(o.Known, func(k string) bool { return k == string(name) }) {
			continue
		}
		at := o.Path
		for _, word := range stars {
			at = strings.Replace(at, "*", word, 1)
		}
		d.ExtraField(x, at+loss.NestedMark+loss.PointerEscape.Replace(string(key)), val)
	}
}

// nest puts the extra fields of objects inside of the value that began at start, and has ended, where they came from:
// those of one object at once, since there may be many.
func (e *Encoder) nest(start int, fields map[string]json.RawMessage) {
	pointers := slices.DeleteFunc(js.Keys(fields), func(key string) bool { return !strings.HasPrefix(key, loss.NestedMark) })
	for len(pointers) > 0 {
		parent, n := pointers[0][:strings.LastIndexByte(pointers[0], '/')+1], 1
		for n < len(pointers) && strings.HasPrefix(pointers[n], parent) && strings.LastIndexByte(pointers[n], '/') == len(parent)-1 {
			n++
		}
		if !e.insert(start, parent, pointers[:n], fields) {
			for _, pointer := range pointers[:n] {
				e.Lost(llm.Ignored, loss.Dotted(pointer), loss.NotSent)
			}
		}
		pointers = pointers[n:]
	}
}

// insert adds members to an object inside of the value that began at start, unless it has those. It reports false if there
// is no such object.
func (e *Encoder) insert(start int, parent string, pointers []string, fields map[string]json.RawMessage) bool {
	v := js.Trim(e.Buf[start:])
	for word := range strings.SplitSeq(strings.Trim(parent, "/"), "/") {
		if parent != loss.NestedMark {
			v = Child(v, loss.PointerUnescape.Replace(word))
		}
	}
	if js.Kind(v) != '{' {
		return false
	}
	there := keysOf(v)
	var members []byte
	for _, pointer := range pointers {
		name := loss.PointerUnescape.Replace(pointer[len(parent):])
		if there[name] {
			continue
		}
		if len(members) > 0 || len(there) > 0 {
			members = append(members, ',')
		}
		members = append(append(js.AppendQuoted(members, name), ':'), fields[pointer]...)
	}
	end := cap(e.Buf) - cap(v) + len(v) - 1 // v is a part of the buffer
	e.Buf = slices.Insert(e.Buf, end, members...)
	return true
}

// Child returns a member of an object or an element of a list, and nil if there is none.
func Child(v []byte, word string) []byte {
	if js.Kind(v) == '{' {
		return js.Get(v, word)
	}
	n, err := strconv.Atoi(word)
	if err != nil || js.Kind(v) != '[' {
		return nil
	}
	for el := range js.Elements(v) {
		if n--; n < 0 {
			return el
		}
	}
	return nil
}

// NoteForeign notes what a request holds that only another format knows, and that was passed over where something became
// something else, like the parts of a result its text.
func (e *Encoder) NoteForeign(req *llm.Request) {
	for _, t := range req.Tools {
		e.ForeignExtra(t.Extra)
	}
	for _, m := range req.Messages {
		e.ForeignExtra(m.Extra)
		e.ForeignParts(m.Parts)
	}
}
