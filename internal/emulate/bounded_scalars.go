package emulate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// knownFormats are the formats that hosts hold strings to; they bound them too.
var knownFormats = []string{"date", "time", "date-time", "uuid"}

// str bounds a string.
func (b *bounds) str(s object, path string) json.RawMessage {
	if b.evidence != nil {
		if said := b.evidence.Text(nameAt(path), s.raw()); said != nil {
			return said
		}
	}
	out := object{{"type", js.Marshal("string")}}
	if pattern := s.get("pattern"); pattern != nil {
		out = append(out, field{"pattern", pattern})
	}
	if format := js.Decode[string](s.get("format")); slices.Contains(knownFormats, format) && !s.has("maxLength") {
		return append(out, field{"format", js.Marshal(format)}).raw()
	}
	least := js.Decode[int](s.get("minLength"))
	most := b.text
	if own := s.get("maxLength"); own != nil {
		most = js.Decode[int](own)
		if b.text > 0 {
			most = min(most, max(b.text, least))
		}
	}
	if least > 0 {
		out = append(out, field{"minLength", js.Marshal(least)})
	}
	if most > 0 || s.has("maxLength") {
		out = append(out, field{"maxLength", js.Marshal(max(most, least))})
	}
	return out.raw()
}

// nameAt returns the name of the parameter that a path leads to or into.
func nameAt(path string) string {
	_, name, _ := strings.Cut(path[max(0, strings.LastIndex(path, "/properties/")):], "/properties/")
	name, _, _ = strings.Cut(name, "/")
	return name
}

// numberRange is what a schema says about a number.
type numberRange struct {
	low, high       float64 // infinite where nothing is said
	openLow, atHigh bool    // exclusive
	multiple        float64 // 0 if nothing is said
}

func rangeOf(s object) numberRange {
	r := numberRange{low: math.Inf(-1), high: math.Inf(1)}
	read := func(key string, into *float64) bool {
		v, ok := js.Decode[any](s.get(key)).(float64)
		if ok {
			*into = v
		}
		return ok
	}
	read("minimum", &r.low)
	read("maximum", &r.high)
	r.openLow = js.Decode[bool](s.get("exclusiveMinimum")) // draft-04 has a flag here
	r.atHigh = js.Decode[bool](s.get("exclusiveMaximum"))
	var edge float64
	if read("exclusiveMinimum", &edge) && edge >= r.low {
		r.low, r.openLow = edge, true
	}
	if read("exclusiveMaximum", &edge) && edge <= r.high {
		r.high, r.atHigh = edge, true
	}
	read("multipleOf", &r.multiple)
	return r
}

func (r numberRange) allows(v float64) bool {
	if v < r.low || v > r.high || r.openLow && v == r.low || r.atHigh && v == r.high {
		return false
	}
	return r.multiple <= 0 || math.Abs(v/r.multiple-math.Round(v/r.multiple)) < 1e-9
}

// takes reports whether a value is a number of the type and in the range.
func (r numberRange) takes(typ string, value json.RawMessage) bool {
	return isOf(value, typ) && r.allows(js.Decode[float64](value))
}

// bounded reports whether anything is said about the number.
func (r numberRange) bounded() bool {
	return !math.IsInf(r.low, 0) || !math.IsInf(r.high, 0) || r.multiple > 0
}

// number bounds a number: to those the conversation speaks of where any fits,
// else to its range.
func (b *bounds) number(typ string, s object, path string) (json.RawMessage, error) {
	r := rangeOf(s)
	if b.evidence != nil {
		allowed := func(number string) bool { return r.takes(typ, json.RawMessage(number)) }
		if numbers := b.evidence.Numbers(nameAt(path), typ, s.raw(), strings.HasSuffix(path, "/items"), allowed); len(numbers) > 0 {
			return object{{"enum", array(numbers)}}.raw(), nil
		}
	}
	if typ == "number" && (!r.bounded() || b.text == 0) {
		return b.anyNumber(s, path), nil
	}
	low, high := r.wholes(b.whole)
	if r.multiple > 0 || low > high || typ == "number" && high-low < 2 {
		grid := r.grid(typ)
		if len(grid) == 0 {
			return nil, fmt.Errorf("no number at %q fits its bounds", path)
		}
		return object{{"enum", array(grid)}}.raw(), nil
	}
	out := object{{"type", js.Marshal("integer")}}
	if b.whole > 0 || !math.IsInf(r.low, 0) {
		out = append(out, field{"minimum", js.Marshal(low)})
	}
	if b.whole > 0 || !math.IsInf(r.high, 0) {
		out = append(out, field{"maximum", js.Marshal(high)})
	}
	return out.raw(), nil
}

// anyNumber keeps what a schema says about a number, which hosts may ignore.
func (b *bounds) anyNumber(s object, path string) json.RawMessage {
	out := object{{"type", js.Marshal("number")}}
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if v := s.get(key); v != nil {
			out = append(out, field{key, v})
			b.lose(path, key, "many hosts do not hold numbers to it")
		}
	}
	return out.raw()
}

// widest is how far whole numbers go where nothing else bounds them.
const widest = int64(1) << 53

// wholes returns the whole numbers in the range.
func (r numberRange) wholes(limit int64) (low, high int64) {
	if limit == 0 {
		limit = widest
	}
	low, high = -limit, limit
	if !math.IsInf(r.low, 0) {
		low = int64(math.Ceil(max(r.low, -float64(widest))))
		if r.openLow && float64(low) == r.low {
			low++
		}
		high = max(high, low)
	}
	if !math.IsInf(r.high, 0) {
		high = int64(math.Floor(min(r.high, float64(widest))))
		if r.atHigh && float64(high) == r.high {
			high--
		}
		if math.IsInf(r.low, 0) {
			low = min(low, high)
		}
	}
	return low, high
}

// steps is how finely a range without whole numbers is offered.
const steps = 20

// grid returns numbers of the range, where its edges or a step are known.
func (r numberRange) grid(typ string) []json.RawMessage {
	low, high, step := r.low, r.high, r.multiple
	switch {
	case math.IsInf(low, 0) && math.IsInf(high, 0):
		low, high = 0, step*5*steps
	case math.IsInf(low, 0):
		low = min(0, high-max(step, 1)*steps)
	case math.IsInf(high, 0):
		high = max(0, low+max(step, 1)*steps)
	}
	if step <= 0 {
		step = (high - low) / steps
	}
	var out []json.RawMessage
	for i := 0; i <= 5*steps && step > 0; i++ {
		v := math.Ceil(low/step)*step + float64(i)*step
		if v > high+step/2 {
			break
		}
		v = math.Round(v*1e9) / 1e9
		if r.allows(v) && (typ != "integer" || v == math.Trunc(v)) {
			out = append(out, js.Marshal(v))
		}
	}
	return out
}
