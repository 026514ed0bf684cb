package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolpost/toolpost/internal/clip"
)

// Fault is one way in which a value breaks a schema.
type Fault struct {
	// Path is the JSON pointer of the value; empty is the whole.
	Path string `json:"path"`
	// Keyword is the schema keyword that was broken; "json" if the text could
	// not be read at all, "decode" if the Go type of the value refused it.
	Keyword string `json:"keyword"`
	// Expected is the schema's demand, Received the shape of the value: its type and
	// size, never its content.
	Expected string `json:"expected,omitempty"`
	Received string `json:"received,omitempty"`
	// Message is one sentence that a model can act on.
	Message string `json:"message"`
}

// Error returns the message.
func (f Fault) Error() string { return f.Message }

func unreadable(err error) Fault {
	return Fault{Keyword: "json", Expected: "valid JSON", Message: "This cannot be read as JSON: " + err.Error() + "."}
}

// maxFaults bounds the reported faults: a wrong list of a million items must not
// become a million sentences.
const maxFaults = 50

// reporter turns the library's tree of errors into faults.
type reporter struct {
	raw Schema
	v   any // the whole instance
}

func (c *Compiled) faults(v any, err error) []Fault {
	var tree *jsonschema.ValidationError
	if !errors.As(err, &tree) {
		return []Fault{{Keyword: "schema", Message: err.Error()}}
	}
	out := reporter{c.raw, v}.flatten(tree)
	slices.SortStableFunc(out, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Message, b.Message))
	})
	out = slices.Compact(out)
	if len(out) > maxFaults {
		rest := len(out) - maxFaults
		out = append(out[:maxFaults:maxFaults], Fault{Keyword: "more", Message: fmt.Sprintf("There are %d more faults.", rest)})
	}
	return out
}

// flatten returns one fault per fault below e.
func (r reporter) flatten(e *jsonschema.ValidationError) []Fault {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return r.alternatives("anyOf", e)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return r.alternatives("oneOf", e)
		}
	case *kind.PropertyNames:
		says := "has a name that is not allowed, " + name(k.Property)
		if len(e.Causes) > 0 {
			inner := reporter{r.raw, k.Property}.flatten(&jsonschema.ValidationError{ErrorKind: e.Causes[0].ErrorKind, Causes: e.Causes[0].Causes})
			if len(inner) > 0 {
				says += ": a name must be " + inner[0].Expected
			}
		}
		return []Fault{r.fault(e, "propertyNames", "allowed names", says)}
	}
	if len(e.Causes) == 0 || isContains(e.ErrorKind) {
		return r.leaf(e)
	}
	var out []Fault
	for _, cause := range e.Causes {
		out = append(out, r.flatten(cause)...)
	}
	return out
}

// isContains reports whether the causes of k are items that need not fit.
func isContains(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Contains, *kind.MinContains:
		return true
	}
	return false
}

// alternatives reports a value that fits none of several schemas as if the intended
// one were the only one, where that can be told; else as one fault.
func (r reporter) alternatives(keyword string, e *jsonschema.ValidationError) []Fault {
	here := string(location(e.InstanceLocation))
	var types []string         // what the branches want where not even the type fits
	var others, near [][]Fault // branches whose discriminator says no; the rest
	for _, cause := range e.Causes {
		faults := r.flatten(cause)
		switch {
		case len(faults) == 1 && faults[0].Path == here && faults[0].Keyword == "type":
			types = append(types, faults[0].Expected)
		case slices.ContainsFunc(faults, func(f Fault) bool { return f.Path != here && (f.Keyword == "const" || f.Keyword == "enum") }):
			others = append(others, faults)
		default:
			near = append(near, faults)
		}
	}
	if len(near) == 0 && len(others) > 1 {
		if meant := byDiscriminator(others); meant != nil {
			return meant
		}
	}
	switch {
	case len(near) == 1:
		return near[0]
	case len(near)+len(others) == 0:
		slices.Sort(types)
		want := strings.Join(slices.Compact(types), " or ")
		return []Fault{r.fault(e, "type", want, "must be "+want)}
	}
	n := len(e.Causes)
	f := r.fault(e, keyword, fmt.Sprintf("one of %d alternatives", n), fmt.Sprintf("fits none of %d alternatives", n))
	if best := fewest(append(near, others...)); best != nil {
		f.Message = strings.TrimSuffix(f.Message, ".") + "; the closest one says: " + best[0].Message
	}
	return []Fault{f}
}

// byDiscriminator looks for the field whose constant tells alternatives apart: it
// refuses all of them, and what they want is reported, or all but one, which was
// meant. It returns nil if there is none.
func byDiscriminator(branches [][]Fault) []Fault {
	refused := make(map[string][]int) // path to the branches whose constant does not fit
	for i, faults := range branches {
		for _, f := range faults {
			if at := refused[f.Path]; f.Keyword == "const" && (len(at) == 0 || at[len(at)-1] != i) {
				refused[f.Path] = append(at, i)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(refused)) {
		switch in := refused[path]; len(in) {
		case len(branches):
			return []Fault{anyConstant(path, branches)}
		case len(branches) - 1:
			for i := range branches {
				if !slices.Contains(in, i) {
					return branches[i]
				}
			}
		}
	}
	return nil
}

// anyConstant is one fault for a field that has none of the constants which the
// alternatives demand.
func anyConstant(path string, branches [][]Fault) Fault {
	var out Fault
	var want []string
	for _, faults := range branches {
		for _, f := range faults {
			if f.Path == path && f.Keyword == "const" && !slices.Contains(want, f.Expected) {
				want = append(want, f.Expected)
				out = f
			}
		}
	}
	one := out.Expected
	out.Expected = strings.Join(want, " or ")
	out.Message = strings.Replace(out.Message, "must be "+one, "must be "+out.Expected, 1)
	return out
}

// fewest returns the branch with the fewest faults.
func fewest(branches [][]Fault) []Fault {
	return slices.MinFunc(branches, func(a, b []Fault) int { return cmp.Compare(len(a), len(b)) })
}

// leaf returns the faults of an error without causes.
func (r reporter) leaf(e *jsonschema.ValidationError) []Fault {
	var out []Fault
	missing := func(keyword, because string, names []string) {
		for _, n := range names {
			out = append(out, r.fault(e, keyword, "the property "+name(n), because+name(n)))
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		missing("required", "lacks the required property ", k.Missing)
	case *kind.Dependency:
		missing("dependencies", "has "+name(k.Prop)+" and therefore needs ", k.Missing)
	case *kind.DependentRequired:
		missing("dependentRequired", "has "+name(k.Prop)+" and therefore needs ", k.Missing)
	case *kind.AdditionalProperties:
		for _, extra := range k.Properties {
			f := r.fault(e, "additionalProperties", "no other properties", "has the property "+name(extra)+", which does not exist; leave it out")
			f.Message += didYouMean(extra, r.unused(e.InstanceLocation))
			out = append(out, f)
		}
	default:
		keyword, expected, says := constraint(k)
		f := r.fault(e, keyword, expected, says)
		f.Message += hint(k, lookup(r.v, e.InstanceLocation))
		out = append(out, f)
	}
	return out
}

// unused returns the declared properties that the object at path lacks.
func (r reporter) unused(path []string) []string {
	object, ok := lookup(r.v, path).(map[string]any)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ShapeOf(r.raw).at(path).Properties()), func(name string) bool {
		_, there := object[name]
		return there
	})
}

// hint returns how to correct the fault, where that can be told.
func hint(k jsonschema.ErrorKind, got any) string {
	s, ok := got.(string)
	if !ok {
		return ""
	}
	switch k := k.(type) {
	case *kind.Format:
		if like := formatExamples[k.Want]; like != "" {
			return " Write it like " + like + "."
		}
	case *kind.Enum:
		var words []string
		for _, v := range k.Want {
			if w, ok := v.(string); ok {
				words = append(words, w)
			}
		}
		return didYouMean(s, words)
	case *kind.Type:
		var want Types
		for _, word := range k.Want {
			t, _ := typeWord(word)
			want |= t
		}
		if _, ok := want.Typed(s); ok && want&String == 0 {
			return " Write it without quotes."
		}
	}
	return ""
}

// formatExamples show how the values of a format are written.
var formatExamples = map[string]string{
	"date-time": "2026-01-31T09:30:00Z", "date": "2026-01-31", "time": "09:30:00Z", "duration": "P3DT4H",
	"email": "name@example.com", "uri": "https://example.com/page", "uuid": "123e4567-e89b-12d3-a456-426614174000",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "hostname": "www.example.com",
}

// fault makes the sentence: the place, the error, the received value.
func (r reporter) fault(e *jsonschema.ValidationError, keyword, expected, says string) Fault {
	path := string(location(e.InstanceLocation))
	f := Fault{Path: path, Keyword: keyword, Expected: expected, Received: shapeOf(lookup(r.v, e.InstanceLocation))}
	subject := "The top level "
	if path != "" {
		subject = "The value at " + clip.Bytes(path, 200) + " "
	}
	f.Message = subject + says
	if joint := received[keyword]; joint != "" && f.Received != "" {
		f.Message += joint + f.Received
	}
	f.Message += "."
	return f
}

// received is the end of the sentence about a keyword, with the received value. It is
// empty where that would tell nothing.
var received = map[string]string{
	"type": ", not ", "enum": ", not ", "const": ", not ",
	"minLength": "; it is ", "maxLength": "; it is ", "minItems": "; it is ", "maxItems": "; it is ",
	"minProperties": "; it is ", "maxProperties": "; it is ",
}

// at follows a path of names and indices.
func (s *Shape) at(path []string) *Shape {
	for _, step := range path {
		next := s.Property(step)
		if i, err := strconv.Atoi(step); err == nil && next == nil {
			next = s.Item(i)
		}
		s = next
	}
	return s
}

func location(path []string) pointer {
	var p pointer
	for _, name := range path {
		p = p.at(name)
	}
	return p
}

// lookup returns the value at a path, or absent.
func lookup(v any, path []string) any {
	for _, name := range path {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[name]
			if !ok {
				return absent{}
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return absent{}
			}
			v = in[i]
		default:
			return absent{}
		}
	}
	return v
}

type absent struct{}
