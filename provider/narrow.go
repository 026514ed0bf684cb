package provider

import (
	"iter"
	"sync"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// narrowKey is what a narrowed schema depends on, beside the schema.
type narrowKey struct {
	vendor schema.Vendor
	strict bool
}

// maxNarrowed bounds the cache of narrowed schemas. When it is full it starts
// again: programs have few tools, and a server whose clients bring their own
// must not grow.
const maxNarrowed = 1024

// narrowings remembers narrowed schemas: the same tools come with every turn.
type narrowings struct {
	mu   sync.Mutex
	n    int                                // that are kept
	seen map[narrowKey]map[string]*narrowed // by the text of the schema
}

type narrowed struct {
	schema.Narrowed
	err  error
	same bool // it says what it was narrowed from: only the order of its members is another
}

// get returns a narrowed schema, which nobody may change.
func (n *narrowings) get(s schema.Schema, vendor schema.Vendor, strict bool) *narrowed {
	key := narrowKey{vendor, strict}
	n.mu.Lock()
	got := n.seen[key][string(s)]
	n.mu.Unlock()
	if got == nil {
		got = new(narrowed)
		got.Narrowed, got.err = schema.Narrow(s, vendor, strict)
		got.same = got.err == nil && got.Wrapped == "" && !got.Strict && schemaForm.Equal(s, got.Schema)
		n.keep(key, s, got)
	}
	return got
}

func (n *narrowings) keep(key narrowKey, s schema.Schema, got *narrowed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil || n.n >= maxNarrowed {
		n.seen, n.n = map[narrowKey]map[string]*narrowed{}, 0
	}
	if n.seen[key] == nil {
		n.seen[key] = map[string]*narrowed{}
	}
	n.seen[key][string(s)] = got
	n.n++
}

// schemas is whose rules the vendor has.
func (v *Vendor) schemas() schema.Vendor {
	if v.Schemas != "" {
		return v.Schemas
	}
	return schema.OpenAI
}

// narrowTools rewrites the schemas of tools into what the vendor accepts, and
// asks it to hold the model to them wherever it can.
func (m *Model) narrowTools(j *job) error {
	room := &strictRoom{vendor: &m.vendor}
	for i := range j.req.Tools {
		t := &j.req.Tools[i]
		m.describeExamples(j, t)
		if t.Kind != llm.FunctionTool || j.codec.Defines(*t) {
			continue
		}
		own := t.Schema
		n := m.narrowTool(j, t, room)
		if n.err != nil {
			return &llm.Error{Op: m.vendor.Name, Kind: llm.Invalid, Err: n.err}
		}
		if n.Wrapped != "" {
			if j.unwrap == nil {
				j.unwrap = map[string]schema.Narrowed{}
			}
			j.unwrap[t.Name] = n.Narrowed
		} else if n.Strict && m.vendor.schemas() == schema.OpenAI {
			if j.nullable == nil {
				j.nullable = map[string]*schema.Shape{}
			}
			j.nullable[t.Name] = schema.ShapeOf(own)
		}
	}
	return nil
}

// strict reports whether the vendor holds this model to the schemas of tools.
func (m *Model) strict() bool {
	return m.vendor.Strict && !m.vendor.Quirks.NoStrict && m.info.JSONSchema.Support == catalog.Yes
}

// strictRoom is what a vendor still takes of strict tools in one request.
type strictRoom struct {
	vendor          *Vendor
	tools, optional int
}

// take reports whether one more tool can be strict, and counts it.
func (r *strictRoom) take(s schema.Schema) bool {
	shape, optional := schema.ShapeOf(s), 0
	for _, name := range shape.Properties() {
		if !shape.Required(name) {
			optional++
		}
	}
	v := r.vendor
	if v.MaxStrict > 0 && r.tools+1 > v.MaxStrict || v.MaxOptional > 0 && r.optional+optional > v.MaxOptional {
		return false
	}
	r.tools, r.optional = r.tools+1, r.optional+optional
	return true
}

func (m *Model) narrowTool(j *job, t *llm.ToolDef, room *strictRoom) *narrowed {
	want := m.strict() && (t.Strict == nil && !j.asIs && !schema.AnyObject(t.Schema) || t.Strict != nil && *t.Strict)
	if want && !room.take(t.Schema) {
		want = false
		j.warnTool(t.Name, llm.Degraded, "strict", "%s: %s takes no more strict tools in one request; its arguments are checked when it is called", t.Name, m.vendor.Name)
	}
	n := m.client.narrowed.get(t.Schema, m.vendor.schemas(), want)
	if n.err != nil {
		return n
	}
	if t.Strict != nil && *t.Strict && !m.strict() {
		j.warnTool(t.Name, llm.Ignored, "strict", "%s does not hold models to the schemas of tools; the arguments of %s are checked when it is called", m.vendor.Name, t.Name)
	}
	for _, loss := range n.Losses {
		if loss.Keyword == "strict" {
			j.warnTool(t.Name, llm.Degraded, "strict", "%s: %s", t.Name, loss.Why)
		} else {
			j.warnTool(t.Name, llm.Degraded, "schema", "%s%s: %s: %s", t.Name, loss.Path, loss.Keyword, loss.Why)
		}
	}
	if !j.asIs || !n.same { // a client's own words are as good
		t.Schema = n.Schema
	}
	t.Strict = nil
	if n.Strict {
		strict := true
		t.Strict = &strict
	}
	return n
}

// unwrapArgs gives arguments the form of the tool's own schema, for tools whose
// schema is not that of an object. Their pieces come when they are whole.
func unwrapArgs(tools map[string]schema.Narrowed) reader {
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
