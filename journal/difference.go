package journal

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
)

// Difference is the first thing in which a replay is not the recorded run.
type Difference struct {
	What string `json:"what"`           // "request 2", "call call_7 of read_file"
	Seq  int64  `json:"seq,omitempty"`  // of the entry it was compared with; 0 if there is none
	Path string `json:"path,omitempty"` // a JSON pointer to the first difference
	Was  string `json:"was,omitempty"`  // on record; empty means nothing
	Is   string `json:"is,omitempty"`   // now; empty means nothing
}

// Error returns the difference in one line.
func (d *Difference) Error() string {
	where := d.What
	if d.Path != "" {
		where += " at " + d.Path
	}
	return "journal: the replay differs in " + where + ": was " + orNothing(d.Was) + ", is " + orNothing(d.Is)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// compare fills in the first place where two JSON values differ.
func (d *Difference) compare(was, is json.RawMessage) *Difference {
	x, errX := decodeAny(was)
	y, errY := decodeAny(is)
	if errX != nil || errY != nil {
		d.Was, d.Is = brief(was), brief(is)
		return d
	}
	path, x, y := firstDifference(x, y)
	d.Path += path
	d.Was, d.Is = briefValue(x), briefValue(y)
	return d
}

func decodeAny(raw json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// absent represents a missing member or element.
type absent struct{}

// firstDifference descends to the first difference, keys in their order, and
// returns its pointer and the two values.
func firstDifference(x, y any) (string, any, any) {
	switch a := x.(type) {
	case map[string]any:
		b, ok := y.(map[string]any)
		if !ok {
			break
		}
		both := maps.Clone(a)
		maps.Copy(both, b)
		for _, k := range slices.Sorted(maps.Keys(both)) {
			if v, w := memberOf(a, k), memberOf(b, k); !reflect.DeepEqual(v, w) {
				path, v, w := firstDifference(v, w)
				return "/" + pointerEscapes.Replace(k) + path, v, w
			}
		}
	case []any:
		b, ok := y.([]any)
		if !ok {
			break
		}
		for i := range max(len(a), len(b)) {
			if v, w := element(a, i), element(b, i); !reflect.DeepEqual(v, w) {
				path, v, w := firstDifference(v, w)
				return "/" + strconv.Itoa(i) + path, v, w
			}
		}
	}
	return "", x, y
}

func memberOf(m map[string]any, k string) any {
	if v, ok := m[k]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func briefValue(v any) string {
	if _, none := v.(absent); none {
		return ""
	}
	b, _ := encode(v)
	return brief(b)
}

// brief shortens a value for a message.
func brief(b []byte) string { return clip.Bytes(string(b), 200) }
