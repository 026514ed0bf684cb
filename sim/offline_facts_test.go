package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/sim"
)

// rewrites are the forms in which a vendor's servers get a schema.
func rewrites(t *testing.T, s string) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{"as written": json.RawMessage(s)}
	for _, v := range schema.Vendors() {
		for _, strict := range []bool{false, true} {
			n, err := schema.Narrow(schema.Schema(s), v, strict)
			if err != nil {
				t.Fatalf("%s: %v", s, err)
			}
			deep := func(l schema.Loss) bool { return l.Keyword == "required" || l.Keyword == "properties" }
			if n.Wrapped == "" && !slices.ContainsFunc(n.Losses, deep) { // else the model cannot know
				out[fmt.Sprintf("%s strict=%v", v, n.Strict)] = json.RawMessage(n.Schema)
			}
		}
	}
	return out
}

// TestOfflineLeavesOptionalFieldsAlone: strict modes make every field required.
// A field that may be null is optional; no text of the question belongs in it.
func TestOfflineLeavesOptionalFieldsAlone(t *testing.T) {
	for _, c := range []struct{ why, say, schema, want string }{
		{"an optional text", `Book the table "Vulcan" tonight please`, `{"type":"object","properties":{"table":{"type":"string"},"remark":{"type":"string"}},"required":["table"]}`, `{"table":"Vulcan"}`},
		{"an optional enumeration", `Book the table "Vulcan"`, `{"type":"object","properties":{"table":{"type":"string"},"zone":{"type":"string","enum":["inside"]}},"required":["table"]}`, `{"table":"Vulcan"}`},
		{"an optional flag and number", `Book the table "Vulcan"`, `{"type":"object","properties":{"table":{"type":"string"},"vip":{"type":"boolean"},"seats":{"type":"integer"}},"required":["table"]}`, `{"table":"Vulcan"}`},
		{"an optional list", `Book the table "Vulcan"`, `{"type":"object","properties":{"table":{"type":"string"},"dishes":{"type":"array","items":{"type":"string"}}},"required":["table"]}`, `{"table":"Vulcan"}`},
		{"an optional object with a required field", `Book the table "Vulcan" for Ada`, `{"type":"object","properties":{"table":{"type":"string"},"contact":{"type":"object","properties":{"street":{"type":"string"},"verified":{"type":"boolean"}},"required":["street","verified"]}},"required":["table"]}`, `{"table":"Vulcan"}`},
		{"an optional text with a default", `Book the table "Vulcan"`, `{"type":"object","properties":{"table":{"type":"string"},"zone":{"type":"string","default":"inside"}},"required":["table"]}`, `{"table":"Vulcan"}`},
	} {
		for name, rewritten := range rewrites(t, c.schema) {
			tools := []llm.ToolDef{{Name: "book_table", Description: "Book a table", Schema: rewritten}}
			if got := taken(t, c.schema, ask(t, &llm.Request{Messages: []llm.Message{llm.User(c.say)}, Tools: tools})); got != "call_1 book_table "+c.want {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", c.why, name, got, c.want)
			}
		}
	}
}

// taken returns a call with the arguments that a program sees: without the nulls
// of a strict mode.
func taken(t *testing.T, original, line string) string {
	t.Helper()
	parts := strings.SplitN(line, " ", 3)
	if len(parts) < 3 || !strings.HasPrefix(line, "call_") {
		return line
	}
	args := schema.MustCompile(schema.Schema(original)).StripNulls(json.RawMessage(parts[2]))
	return parts[0] + " " + parts[1] + " " + string(args)
}

// TestOfflineDoesEachThingOnce: the text of a result does not turn one request into two.
func TestOfflineDoesEachThingOnce(t *testing.T) {
	pay := function("pay_invoice", "Pay an invoice", `{"type":"object","properties":{"invoice":{"type":"string"},"note":{"type":"string"}},"required":["invoice","note"],"additionalProperties":false}`)
	write := function("write_file", "Write a text file", `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`)
	for _, c := range []struct {
		say    string
		tool   llm.ToolDef
		result string
		want   []string
	}{
		{`Pay invoice "2026-17" with a note`, pay, `Invoice "2026-17" is paid. note "thanks", receipt "R-9"`, []string{`{"invoice":"2026-17"`}},
		{`Create the file a.txt and write "hello" into it`, write, `Wrote b.txt, 5 bytes, content "other"`, []string{`{"content":"hello","path":"a.txt"}`}},
		{`Write "hello" to a.txt`, write, `Wrote "hello" to c.txt`, []string{`{"content":"hello","path":"a.txt"}`}},
		{`Write "hello" to a.txt and write "bye" to b.txt`, write, `Wrote "more" to c.txt`, []string{`{"content":"hello","path":"a.txt"}`, `{"content":"bye","path":"b.txt"}`}},
	} {
		for name, rewritten := range rewrites(t, string(c.tool.Schema)) {
			def := c.tool
			def.Schema = rewritten
			messages := []llm.Message{llm.User(c.say)}
			var called []string
			for range 5 {
				r, err := llm.Generate(t.Context(), sim.Offline{}, &llm.Request{Messages: messages, Tools: []llm.ToolDef{def}})
				if err != nil {
					t.Fatal(err)
				}
				messages = append(messages, r.Message)
				var results []llm.Result
				for _, call := range r.Message.Calls() {
					called = append(called, string(call.Args))
					results = append(results, llm.Result{CallID: call.ID, Parts: []llm.Part{llm.Text{Text: c.result}}})
				}
				if len(results) == 0 {
					break
				}
				messages = append(messages, llm.Results(results...))
			}
			if len(called) != len(c.want) {
				t.Errorf("%s, %s: called %q", c.say, name, called)
				continue
			}
			for i, want := range c.want {
				if !strings.HasPrefix(called[i], want) {
					t.Errorf("%s, %s: called %q, want %q", c.say, name, called, c.want)
				}
			}
		}
	}
}

// told is a random schema and a question that gives some of its fields a value.
type told struct {
	*rand.Rand
	names  []string
	next   int
	said   []string        // "name value" of the values in the question
	values map[string]bool // the values in it
}

// fieldNames are words without another meaning to the model.
var fieldNames = strings.Fields("zorb quill brant fleck gorse hatch jibe knurl lathe mirth nonce ogive plumb quoin riven scree tithe umber vetch wharf xebec yarrow zenith abaft bight")

func (r *told) name() string {
	r.next++
	return r.names[(r.next-1)%len(r.names)]
}

// object returns the schema of an object. If give, its required fields, and some
// of the others, are in the question.
func (r *told) object(depth int, give bool) map[string]any {
	props, required := map[string]any{}, []string{}
	for range 1 + r.IntN(4) {
		name := r.name()
		needed := r.IntN(2) == 0
		if needed {
			required = append(required, name)
		}
		props[name] = r.field(name, depth, give && (needed || r.IntN(3) == 0))
	}
	return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}

func (r *told) field(name string, depth int, give bool) map[string]any {
	say := func(v string) {
		if give {
			r.said = append(r.said, name+" "+v)
			r.values[strings.Trim(v, `"`)] = true
		}
	}
	switch k := r.IntN(6); {
	case k == 0 && depth < 2:
		return r.object(depth+1, give)
	case k == 1:
		n := fmt.Sprint(100 + r.IntN(900))
		say(n)
		return map[string]any{"type": []string{"integer", "number"}[r.IntN(2)]}
	case k == 2:
		choices := []string{"red" + name, "blue" + name, "green" + name}
		say(choices[r.IntN(3)])
		return map[string]any{"type": "string", "enum": choices[:1+r.IntN(3)]}
	case k == 3:
		say("")
		return map[string]any{"type": "boolean"}
	}
	say(fmt.Sprintf(`"Val%d"`, r.IntN(1_000_000)))
	return map[string]any{"type": "string", "description": "Any words"}
}

// TestOfflineInventsNothing: over random schemas, in every vendor's rewriting,
// the model calls with the same arguments, valid by the original. Every value
// occurs in the question or is the only one the schema allows.
func TestOfflineInventsNothing(t *testing.T) {
	calls := 0
	for seed := range uint64(120) {
		r := &told{Rand: rand.New(rand.NewPCG(seed, 16)), names: slices.Clone(fieldNames), values: map[string]bool{}}
		r.Shuffle(len(r.names), func(i, j int) { r.names[i], r.names[j] = r.names[j], r.names[i] })
		raw, err := json.Marshal(r.object(0, seed%4 != 0))
		if err != nil {
			t.Fatal(err)
		}
		question := "Please frobnicate the thing: " + strings.Join(r.said, ", ")
		compiled := schema.MustCompile(raw)
		first := ""
		all := rewrites(t, string(raw))
		for _, name := range slices.Sorted(keys(all)) {
			def := llm.ToolDef{Name: "frobnicate", Description: "Frobnicate a thing", Schema: all[name]}
			resp, err := llm.Generate(t.Context(), sim.Offline{}, &llm.Request{Messages: []llm.Message{llm.User(question)}, Tools: []llm.ToolDef{def}})
			if err != nil {
				t.Fatal(err)
			}
			got := "no call"
			for _, c := range resp.Message.Calls() {
				calls++
				args := compiled.StripNulls(c.Args)
				got = canonical(t, args)
				if faults := compiled.Validate(args); len(faults) > 0 {
					t.Errorf("seed %d, %s: %s\n%s\n%s: %v", seed, name, question, raw, args, faults)
				}
				r.invented(t, compiled, args, fmt.Sprintf("seed %d, %s: %s\n%s\n%s", seed, name, question, raw, args))
			}
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("seed %d, %s: %s\n%s\n%s, and %s", seed, name, question, raw, got, first)
			}
		}
		if t.Failed() {
			t.Fatal("the rest is left out")
		}
	}
	t.Logf("%d calls", calls)
	if calls < 400 {
		t.Errorf("only %d calls: the questions ask for nothing", calls)
	}
}

func keys(m map[string]json.RawMessage) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func canonical(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// invented fails if a value of args does not occur in the question.
func (r *told) invented(t *testing.T, c *schema.Compiled, args json.RawMessage, where string) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var walk func(v any, s *schema.Shape, name string)
	walk = func(v any, s *schema.Shape, name string) {
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 && len(s.Properties()) > 0 && name != "" {
				return
			}
			for k, x := range v {
				walk(x, s.Property(k), k)
			}
		case bool: // a required flag that the question does not mention is false
			if v && !strings.Contains(strings.Join(r.said, ","), name) {
				t.Errorf("%s\ninvents that %s is true", where, name)
			}
		default:
			text := fmt.Sprint(v)
			if !r.values[text] && text != "red"+name {
				t.Errorf("%s\ninvents %s", where, text)
			}
			if r.values[text] && !slices.ContainsFunc(r.said, func(s string) bool { return s == name+" "+text || s == name+` "`+text+`"` }) {
				t.Errorf("%s\ngives %s the value %s of another field", where, name, text)
			}
		}
	}
	walk(v, schema.ShapeOf(c.Schema()), "")
}
