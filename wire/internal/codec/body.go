package codec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// body is the JSON of a body that is being written. Its Opt methods omit empty members.
type body struct{ js.Writer }

func (w *body) OptString(key, s string) {
	if s != "" {
		w.StringField(key, s)
	}
}

func (w *body) OptInt(key string, n int) {
	if n != 0 {
		w.IntField(key, n)
	}
}

func (w *body) OptFloat(key string, f *float64) {
	if f != nil {
		w.Key(key)
		w.Float(*f)
	}
}

func (w *body) OptRaw(key string, v json.RawMessage) {
	if len(v) > 0 {
		w.RawField(key, v)
	}
}

func (w *body) OptStrings(key string, list []string) {
	if len(list) > 0 {
		w.StringsField(key, list)
	}
}

func (w *body) StringsField(key string, list []string) {
	w.ArrayField(key)
	for _, s := range list {
		w.Text(s)
	}
	w.EndArray()
}

// ListField writes tokens as a member.
func (w *body) ListField(key string, tokens []json.RawMessage) {
	w.ArrayField(key)
	for _, t := range tokens {
		w.Raw(t)
	}
	w.EndArray()
}

// Location writes the members of a place.
func (w *body) Location(l *llm.Location) {
	w.OptString("city", l.City)
	w.OptString("region", l.Region)
	w.OptString("country", l.Country)
	w.OptString("timezone", l.Timezone)
}

// Counts writes an object of counters with those of others, unless all are 0.
func (w *body) Counts(key string, more []byte, known ...Count) {
	some := len(more) > 0
	for _, c := range known {
		some = some || c.N != 0
	}
	if !some {
		return
	}
	start := w.ObjectField(key)
	for _, c := range known {
		w.OptInt(c.Key, c.N)
	}
	w.EndRest(start, more)
}

// EndRest closes the object that began at start, after the members of more that
// it does not have yet.
func (w *body) EndRest(start int, more []byte) {
	many := w.manyKeys(start, len(more)/64)
	for key, val := range js.Members(more) {
		if name := string(key); !w.has(start, name, many) {
			w.AnyKey(name)
			w.Raw(val)
		}
	}
	w.End()
}

// manyKeys returns the keys of the object that began at start, and is open still, if it is to be asked about many: of a few,
// nil, it is read for each.
func (w *body) manyKeys(start, asked int) map[string]bool {
	if asked <= 8 {
		return nil
	}
	return keysOf(w.Buf[start:])
}

func (w *body) has(start int, key string, many map[string]bool) bool {
	if many != nil {
		return many[key]
	}
	return HasKey(w.Buf[start:], key)
}

// DropEmpty takes back a message that began at mark and of which nothing could
// be carried, and reports whether it did: vendors refuse messages without content.
func (w *body) DropEmpty(mark int, content string) bool {
	empty := bytes.HasSuffix(w.Buf, []byte(content))
	if empty {
		w.Buf = w.Buf[:mark]
	}
	return empty
}

// OpenFrame and CloseFrame put an event of a stream around an object.
func (w *body) OpenFrame(name string) int {
	if name != "" {
		w.Buf = append(append(append(w.Buf, "event: "...), name...), '\n')
	}
	w.Buf = append(w.Buf, "data: "...)
	return w.Object()
}

func (w *body) CloseFrame() {
	w.End()
	w.Buf = append(w.Buf, "\n\n"...)
}

// RawFrame writes an event whose data is there already.
func (w *body) RawFrame(name string, data []byte) {
	if name != "" {
		w.Buf = append(append(append(w.Buf, "event: "...), strings.Map(OneLine, name)...), '\n')
	}
	w.Buf = append(w.Buf, "data: "...)
	w.Raw(data)
	w.FrameEnd()
}

// FrameEnd ends a frame whose object is closed already.
func (w *body) FrameEnd() { w.Buf = append(w.Buf, "\n\n"...) }

type Count struct {
	Key string
	N   int
}

// HasKey reports whether the object that is still open holds the key.
func HasKey(open []byte, key string) bool {
	for k := range js.Members(append(slices.Clip(open), '}')) {
		if string(k) == key {
			return true
		}
	}
	return false
}

// keysOf returns the keys of an object, which may be open still.
func keysOf(open []byte) map[string]bool {
	keys := make(map[string]bool)
	for k := range js.Members(append(slices.Clip(open), '}')) {
		keys[string(k)] = true
	}
	return keys
}
