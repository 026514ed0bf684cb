package emulate

import (
	"encoding/json"
	"iter"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// dropNulls returns a Reader that removes nulls from the calls of these tools. A
// strict schema of OpenAI makes every property required and the optional ones
// nullable, so the model sends null for a parameter that it would have left out.
// The nulls are removed while the arguments stream.
func dropNulls(tools map[string]*schema.Shape) Reader {
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			open := map[string]*nullFilter{}
			for ev, err := range raw {
				switch e := ev.(type) {
				case llm.CallStart:
					if shape, ok := tools[e.Name]; ok {
						open[e.ID] = newNullFilter(shape)
					}
				case llm.CallDelta:
					if f := open[e.ID]; f != nil {
						if e.Args = f.next(e.Args); e.Args == "" {
							continue
						}
						ev = e
					}
				case llm.Call:
					if shape, ok := tools[e.Name]; ok {
						e.Args = json.RawMessage(newNullFilter(shape).next(string(e.Args)))
						ev = e
					}
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// DropNulls returns a Reader that removes nulls from an answer whose text is one
// JSON value. A strict schema of OpenAI demands them for optional properties.
func DropNulls(shape *schema.Shape) Reader {
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			f := newNullFilter(shape)
			for ev, err := range raw {
				if d, ok := ev.(llm.TextDelta); ok && !d.About().Refusal {
					d.Text = f.next(d.Text)
					ev = d
				}
				_, last := ev.(llm.Finish)
				if rest := f.rest(last || err != nil); rest != "" && !yield(llm.TextDelta{Text: rest}, nil) {
					return
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// nullFilter takes nulls out of one JSON value that comes in pieces. What it
// has returned does not depend on how the value was cut.
type nullFilter struct {
	stack []nullLevel
	shape *schema.Shape // of the value that comes next

	text  js.Tracker
	held  []byte // a member of an object whose value has not begun
	key   []byte // its key, with quotes
	colon bool
	null  int // letters of a null that is being dropped
}

// nullLevel is an object or array that is open.
type nullLevel struct {
	array bool
	shape *schema.Shape
	n     int // members passed on, or items begun
}

func newNullFilter(shape *schema.Shape) *nullFilter { return &nullFilter{shape: shape} }

// next takes the next piece and returns the bytes that are certain.
func (f *nullFilter) next(piece string) string {
	out := make([]byte, 0, len(piece)+len(f.held))
	for i := range len(piece) {
		out = f.byte(out, piece[i])
	}
	return string(out)
}

// rest returns the held bytes if nothing follows: the value was truncated.
func (f *nullFilter) rest(last bool) string {
	if !last {
		return ""
	}
	rest := string(f.held)
	f.held = nil
	return rest
}

// top returns the innermost open container, nil outside of all.
func (f *nullFilter) top() *nullLevel {
	if len(f.stack) == 0 {
		return nil
	}
	return &f.stack[len(f.stack)-1]
}

func (f *nullFilter) byte(out []byte, c byte) []byte {
	switch {
	case f.null > 0: // after the n of a null that goes: u, l, l
		f.null = (f.null + 1) % 4
		return out
	case f.held != nil && (f.text.InString() || !(f.colon && !js.IsSpace(c)) && c != '}'):
		return f.member(out, c)
	case f.held != nil && c == '}':
		out = append(out, trimComma(f.held)...)
		f.held = nil
	case f.held != nil:
		if c == 'n' && f.droppable() {
			f.null, f.held, f.key, f.colon = 1, []byte{}, nil, false
			return out
		}
		out = f.release(out)
	}
	return f.value(out, c)
}

// member holds a byte of a member before its value.
func (f *nullFilter) member(out []byte, c byte) []byte {
	f.held = append(f.held, c)
	switch inString := f.text.Next(c); {
	case inString && !f.colon:
		f.key = append(f.key, c)
	case !inString && c == ':':
		f.colon = true
	}
	return out
}

// name returns the key of the member that is held.
func (f *nullFilter) name() string {
	var s string
	if json.Unmarshal(f.key, &s) != nil {
		return ""
	}
	return s
}

// droppable reports whether the held member may be left out, but not be null.
func (f *nullFilter) droppable() bool {
	shape, name := f.top().shape, f.name()
	return shape != nil && shape.Declares(name) && !shape.Required(name) && !shape.Property(name).Types().Has(schema.Null)
}

// release passes on the held member, because its value is not null.
func (f *nullFilter) release(out []byte) []byte {
	level := f.top()
	f.shape = level.shape.Property(f.name())
	member := trimComma(f.held)
	if level.n > 0 {
		out = append(out, ',')
	}
	level.n++
	f.held, f.key, f.colon = nil, nil, false
	return append(out, member...)
}

// trimComma takes the comma off that stood before a member.
func trimComma(b []byte) []byte {
	for i, c := range b {
		if c == ',' {
			return b[i+1:]
		}
		if !js.IsSpace(c) {
			break
		}
	}
	return b
}

// value passes on a byte of a value.
func (f *nullFilter) value(out []byte, c byte) []byte {
	if f.text.Next(c) {
		return append(out, c)
	}
	level := f.top()
	switch c {
	case '{':
		f.stack = append(f.stack, nullLevel{shape: f.shape})
		f.held = []byte{}
	case '[':
		f.stack = append(f.stack, nullLevel{array: true, shape: f.shape})
		f.shape = f.shape.Item(0)
	case '}', ']':
		f.stack = f.stack[:max(0, len(f.stack)-1)]
	case ',':
		if level != nil && level.array {
			level.n++
			f.shape = level.shape.Item(level.n)
		} else if level != nil {
			f.held = []byte{','}
			return out
		}
	}
	return append(out, c)
}

// unwrapArguments returns a Reader that gives arguments the form of the tool's
// own schema, for tools whose schema is not an object. The pieces of such
// arguments are held until the call is complete.
func unwrapArguments(tools map[string]schema.Narrowed) Reader {
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			held := map[string]bool{}
			for ev, err := range raw {
				switch e := ev.(type) {
				case llm.CallStart:
					_, held[e.ID] = tools[e.Name]
				case llm.CallDelta:
					if held[e.ID] {
						continue
					}
				case llm.Call:
					if n, ok := tools[e.Name]; ok {
						if args, bad := n.Unwrap(e.Args); bad == nil {
							e.Args = args
						}
						if held[e.ID] && !yield(llm.CallDelta{ID: e.ID, Args: string(e.Args)}, nil) {
							return
						}
						ev = e
					}
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// UnwrapOutput returns a Reader for an answer that had to be put into an object,
// and may have nulls for optional properties.
func UnwrapOutput(n schema.Narrowed, shape *schema.Shape) Reader {
	return wholeText(func(s string) string {
		v, err := n.Unwrap(json.RawMessage(s))
		if err != nil {
			return s
		}
		return newNullFilter(shape).next(string(v))
	})
}
