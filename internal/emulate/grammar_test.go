package emulate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate/internal/questions"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// schemas are ones that hosts, models or both have trouble with.
var schemas = map[string]string{
	"nothing":            ``,
	"no arguments":       `{"type":"object","properties":{}}`,
	"all types":          `{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"z":{"type":"null"},"a":{"type":"array","items":{"type":"string"}}},"required":["s","i","n","b","z","a"]}`,
	"words of Python":    `{"type":"dict","properties":{"x":{"type":"float"},"y":{"type":"tuple","items":{"type":"integer"}},"z":{"type":"any"}},"required":["x","y","z"]}`,
	"ranges":             `{"type":"object","properties":{"a":{"type":"integer","minimum":17,"maximum":2043},"b":{"type":"integer","exclusiveMinimum":-3,"maximum":99},"c":{"type":"number","minimum":0,"maximum":1},"d":{"type":"integer","minimum":1},"e":{"type":"number","exclusiveMinimum":0},"f":{"type":"integer","maximum":-5}},"required":["a","b","c","d","e","f"]}`,
	"multiples":          `{"type":"object","properties":{"a":{"type":"integer","multipleOf":5},"b":{"type":"number","multipleOf":0.25,"minimum":1,"maximum":2}},"required":["a","b"]}`,
	"lengths":            `{"type":"object","properties":{"a":{"type":"string","minLength":3,"maxLength":5},"b":{"type":"array","items":{"type":"integer","minimum":0,"maximum":9},"minItems":2,"maxItems":3},"c":{"type":"array","items":{"type":"string"},"maxItems":0}},"required":["a","b","c"]}`,
	"values":             `{"type":"object","properties":{"a":{"enum":["x","y\"z",1,null,{"k":[1,"a, b: c"]}]},"b":{"const":"only"},"c":{"type":"string","enum":["p","q",3]}},"required":["a","b","c"]}`,
	"references":         `{"type":"object","properties":{"a":{"$ref":"#/$defs/p"},"b":{"allOf":[{"$ref":"#/$defs/p"},{"required":["y"]}]}},"required":["a","b"],"$defs":{"p":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"string"}},"required":["x"]}}}`,
	"recursion":          `{"type":"object","properties":{"t":{"$ref":"#/$defs/tree"}},"required":["t"],"$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["v","kids"]}}}`,
	"alternatives":       `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]},"b":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"},"n":{"type":"integer"}},"required":["k","n"]},{"type":"object","properties":{"k":{"const":"y"}},"required":["k"]}]},"c":{"type":["integer","null"]}},"required":["a","b","c"]}`,
	"patterns":           `{"type":"object","properties":{"a":{"type":"string","pattern":"^[A-Z]{3}-\\d{2,4}$"},"b":{"type":"string","pattern":"^\\w+@\\w+\\.(com|org)$"},"c":{"type":"string","pattern":"x.z"},"d":{"type":"string","pattern":"^[^a-z]*$"}},"required":["a","b","c","d"]}`,
	"formats":            `{"type":"object","properties":{"a":{"type":"string","format":"date"},"b":{"type":"string","format":"date-time"},"c":{"type":"string","format":"uuid"},"d":{"type":"string","format":"email"},"e":{"type":"string","format":"time"}},"required":["a","b","c","d","e"]}`,
	"free names":         `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"integer"}},"f":{"type":"object"}},"required":["m","f"]}`,
	"tuple":              `{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}],"items":false}},"required":["p"]}`,
	"optional":           `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}},"required":["b"]}`,
	"only optional":      `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"}}}`,
	"hard names":         `{"type":"object","properties":{"a\"b":{"type":"integer"},"c\\d":{"type":"integer"},"é ü":{"type":"integer"}},"required":["a\"b","c\\d","é ü"]}`,
	"undeclared":         `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","ghost"]}`,
	"nested without any": `{"type":"object","properties":{"o":{"type":"object","properties":{"p":{"type":"string"},"q":{"type":"integer"}}}},"required":["o"]}`,
}

// everyBounds returns the bounds that are used.
func everyBounds() map[string]bounds {
	said := []llm.Message{llm.User("between 20 and 0.5, or 1.25 of -7"), llm.User("only a c")}
	return map[string]bounds{
		"none":       {},
		"small":      {text: 40, items: 3, whole: 1_000_000_000},
		"no options": {text: 40, items: 3, whole: 1_000_000_000, evidence: testDecider.Conversation(nil).Evidence(llm.ToolDef{})},
		"evidence":   {text: 40, items: 3, whole: 1_000_000_000, evidence: testDecider.Conversation(said).Evidence(llm.ToolDef{})},
	}
}

// Whatever a grammar lets a model write is JSON that the tool's own schema
// allows: that is what makes a demanded call valid every time.
func TestGrammarKeepsToTheSchema(t *testing.T) {
	for name, text := range schemas {
		compiled, err := schema.Compile(schema.Normalize(json.RawMessage(text)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for how, b := range everyBounds() {
			s, _, err := b.bound(json.RawMessage(text))
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
				continue
			}
			if _, err := schema.Compile(s); err != nil {
				t.Errorf("%s, %s: the bounded schema %s: %v", name, how, s, err)
			}
			rules, err := grammar(s, "")
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
				continue
			}
			checkSamples(t, name+", "+how, readGrammar(t, rules), compiled, 50)
		}
	}
}

// unheld are the keywords that no host holds numbers to unless they are
// narrowed. Samples may break them, and nothing else.
var unheld = []string{"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}

func checkSamples(t *testing.T, name string, g *gbnf, compiled *schema.Compiled, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		sample := g.write(r)
		faults := slices.DeleteFunc(compiled.Validate(json.RawMessage(sample)), func(f schema.Fault) bool {
			// A grammar cannot say that a free name must not come twice.
			return strings.HasSuffix(name, ", none") && slices.Contains(unheld, f.Keyword) || f.Keyword == "json" && strings.Contains(f.Message, "occurs twice")
		})
		if len(faults) > 0 {
			t.Errorf("%s: %s: %v", name, sample, faults[0])
			return
		}
	}
}

// The same for every tool of a public set of questions.
func TestGrammarOfEveryTool(t *testing.T) {
	tools, failed := 0, 0
	for _, set := range []string{"simple_python", "multiple", "live_multiple", "live_simple"} {
		for i, q := range questions.BFCL(t, set) {
			if i%4 != 0 {
				continue
			}
			for _, d := range q.Tools {
				compiled, err := schema.Compile(d.Schema)
				if err != nil || strings.Contains(string(d.Schema), `"enum":[]`) || strings.Contains(string(d.Schema), `"type":"array","enum"`) {
					continue // the set has some that are no schemas, and some that nothing fits
				}
				tools++
				b := bounds{text: 60, items: 5, whole: 1_000_000_000, evidence: testDecider.Conversation([]llm.Message{llm.User(q.Text)}).Evidence(d)}
				s, _, err := b.bound(d.Schema)
				if err != nil {
					failed++
					t.Logf("%s %s: %v", q.ID, d.Name, err)
					continue
				}
				rules, err := grammar(s, "")
				if err != nil {
					t.Errorf("%s %s: %v", q.ID, d.Name, err)
					continue
				}
				checkSamples(t, q.ID+" "+d.Name, readGrammar(t, rules), compiled, 3)
			}
		}
	}
	t.Logf("%d tools, %d that cannot be bounded", tools, failed)
	if failed > 0 {
		t.Errorf("%d schemas cannot be bounded", failed)
	}
}

func TestBetween(t *testing.T) {
	for _, c := range [][2]int64{{0, 0}, {0, 9}, {7, 7}, {3, 17}, {10, 99}, {95, 105}, {1, 1000}, {998, 1203}} {
		rules := "root ::= (" + strings.Join(between(c[0], c[1]), " | ") + ")\n"
		g := readGrammar(t, rules)
		r := rand.New(rand.NewPCG(3, 4))
		seen := map[string]bool{}
		for range 20000 {
			seen[g.write(r)] = true
		}
		for v := c[0]; v <= c[1]; v++ {
			delete(seen, string(js.Marshal(v)))
		}
		if len(seen) > 0 {
			t.Errorf("%d to %d also allows %v", c[0], c[1], seen)
		}
	}
}

// A cut answer is cut off, whatever the server says, in whatever pieces it
// came; a whole one gets its frame.
func TestWholeJSON(t *testing.T) {
	for _, c := range []struct {
		name, text string
		reason     llm.Reason
		want       string
		end        llm.Reason
	}{
		{"whole", `{"a": "}\"", "b": [1]}`, llm.Stop, `<{"a": "}\"", "b": [1]}>`, llm.Stop},
		{"cut, and the server says so", `{"a": "x`, llm.Length, `<{"a": "x`, llm.Length},
		{"cut, and the server does not say so", `{"a": "}`, llm.Stop, `<{"a": "}`, llm.Length},
		{"nothing", ``, llm.Stop, ``, llm.Stop},
		{"a string", ` "a{" `, llm.Stop, `< "a{" >`, llm.Stop},
		{"a string that is cut", `"a`, llm.Stop, `<"a`, llm.Length},
		{"a number", `-1.5e3`, llm.Stop, `<-1.5e3>`, llm.Stop},
		{"a word that is cut", `tru`, llm.Stop, `<tru`, llm.Length},
	} {
		for size := 1; size <= max(len(c.text), 1); size++ {
			raw := func(yield func(llm.Event, error) bool) {
				for i := 0; i < len(c.text); i += size {
					if !yield(llm.TextDelta{Text: c.text[i:min(i+size, len(c.text))]}, nil) {
						return
					}
				}
				yield(llm.Finish{Reason: c.reason}, nil)
			}
			var b llm.Builder
			for ev, err := range wholeJSON("<", ">")(raw) {
				if err != nil {
					t.Fatal(err)
				}
				b.Add(ev)
			}
			r := b.Response()
			if r.Message.Text() != c.want || r.Finish.Reason != c.end {
				t.Errorf("%s, cut by %d: %q, %s", c.name, size, r.Message.Text(), r.Finish.Reason)
			}
		}
	}
}
