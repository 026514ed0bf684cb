package dialect_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// bodyTool is the tool of the calls that TestNoBodyIsIgnored changes.
var bodyTool = []llm.ToolDef{{Name: "find_room", Schema: []byte(`{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"},"note":{"type":"string"}},"required":["town"]}`)}}

// bodyArgs are the arguments of these calls. Their values are nowhere else in the text.
var bodyArgs = []string{
	`{"town":"Qsiena","beds":77,"note":"Qone Qtwo"}`,
	`{"town":"Qsiena","note":"Qone, Qtwo: Qthree"}`,
	`{"note":"Qone(Qtwo)","town":"Qsiena"}`,
	`{"town":"Qsiena"}`,
	`{"beds":77,"town":"Qsiena"}`,
}

const added = "zqadded"

// pieceOf splits a text into words, tags and signs.
var pieceOf = regexp.MustCompile(`</?[^<>\s]*[^<>]*>|[\pL\pN_▁]+|\s+|.`)

// change is a changed text. extra is what was added to it.
type change struct{ text, extra, what string }

// changes returns the texts that differ from text in one piece outside of the values.
func changes(text string, values []string) (list []change) {
	inValue := make([]bool, len(text)+1)
	for _, v := range values {
		for at := 0; ; {
			i := strings.Index(text[at:], v)
			if i < 0 {
				break
			}
			for k := range len(v) {
				inValue[at+i+k] = true
			}
			at += i + len(v)
		}
	}
	for _, at := range pieceOf.FindAllStringIndex(text, -1) {
		if inValue[at[0]] || inValue[at[1]-1] {
			continue
		}
		before, piece, after := text[:at[0]], text[at[0]:at[1]], text[at[1]:]
		put := func(what, with, extra string) {
			list = append(list, change{before + with + after, extra, fmt.Sprintf("%s %q", what, piece)})
		}
		put("without", "", "")
		put("twice", piece+piece, "")
		put("word before", added+" "+piece, added+" ")
		put("element before", "<extra>"+added+"</extra>"+piece, "<extra>"+added+"</extra>")
		put("member before", `"extra": "`+added+`", `+piece, `"extra": "`+added+`", `)
		put("parameter before", `extra="`+added+`" `+piece, `extra="`+added+`" `)
		switch {
		case piece[0] == '<':
			put("attribute in", strings.TrimSuffix(piece, ">")+` extra="`+added+`">`, ` extra="`+added+`"`)
			put("other tag for", strings.Replace(strings.Replace(piece, "<", "<y", 1), "<y/", "</y", 1), "")
		case regexp.MustCompile(`^\w`).MatchString(piece):
			put("longer", piece+"_x", "")
			put("quoted", `"`+piece+`"`, "")
		default:
			for _, sign := range []string{":", "=", ",", ";", `"`, "'", "(", ")", "{", "}", "[", "]", "\n"} {
				if sign != piece {
					put("the sign "+sign+" for", sign, "")
				}
			}
		}
	}
	return list
}

// leaves returns the keys and the scalar values of arguments.
func leaves(v any, key string, add func(key, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			leaves(inner, k, add)
		}
	case []any:
		for _, inner := range v {
			leaves(inner, key, add)
		}
	case string:
		add(key, v)
	case nil:
		add(key, "")
	default:
		add(key, fmt.Sprint(v))
	}
}

// whichIn returns the only one of values that is a part of text.
func whichIn(text string, values []string) (found string) {
	for _, v := range values {
		if strings.Contains(text, v) {
			if found != "" {
				return ""
			}
			found = v
		}
	}
	return found
}

// ignored returns what is wrong with the sure calls of a changed text: a value that the text does not have, or a part
// that is lost.
func ignored(t *testing.T, name string, c change, values []string) string {
	p := dialect.Parser{Tools: bodyTool, Dialect: name}
	var said strings.Builder
	var calls []llm.Call
	for ev, err := range p.Parse(dialect.Whole(c.text)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			said.WriteString(ev.Text)
		case llm.ThinkingDelta:
			said.WriteString(ev.Text)
		case llm.InvalidCall:
			return ""
		case llm.Call:
			if ev.Provenance.Worst() >= llm.Guess {
				return ""
			}
			calls = append(calls, ev)
		}
	}
	if len(calls) == 0 {
		return ""
	}
	missing := slices.Clone(values)
	for _, call := range calls {
		said.WriteString(call.ID)
		said.Write(call.Args)
		var args any
		dec := json.NewDecoder(strings.NewReader(string(call.Args)))
		dec.UseNumber()
		if err := dec.Decode(&args); err != nil {
			t.Fatalf("%s: %s: %v", c.text, call.Args, err)
		}
		wrong := ""
		leaves(args, "", func(key, value string) {
			if c.extra != "" && strings.Contains(value, added) {
				value = strings.TrimSpace(strings.Replace(value, strings.TrimSpace(c.extra), "", 1))
				if value == added || value == "" {
					return
				}
			}
			if v := whichIn(value, values); v != "" && strings.Contains(c.text, value) && !strings.Contains(value, "<") {
				value = v // a sign next to a text belongs to it
			}
			i := slices.Index(missing, value)
			if i >= 0 {
				missing = slices.Delete(missing, i, i+1)
			}
			if j := slices.Index(values, value); j < 0 || strings.HasPrefix(key, "Q") {
				wrong = fmt.Sprintf("%s: %q is in no part of the text", call.Args, value)
			}
		})
		if wrong != "" {
			return wrong
		}
	}
	switch {
	case len(missing) > 0 && !strings.Contains(said.String(), missing[0]):
		return fmt.Sprintf("%s: %q is lost", calls[0].Args, missing)
	case c.extra != "" && !strings.Contains(said.String(), added):
		return fmt.Sprintf("%s: %q is lost", calls[0].Args, added)
	}
	return ""
}

// A call of which a part cannot be used is doubtful or invalid. No value is invented.
func TestNoBodyIsIgnored(t *testing.T) {
	every := 23
	if os.Getenv("TOOLPOST_LONG") != "" {
		every = 1
	}
	count := 0
	for _, d := range dialect.Builtin().All() {
		for _, args := range bodyArgs {
			text, err := dialect.Builtin().Render(d.Name, llm.Call{Name: "find_room", Args: json.RawMessage(args)})
			if err != nil {
				continue
			}
			var values []string
			var v any
			dec := json.NewDecoder(strings.NewReader(args))
			dec.UseNumber()
			dec.Decode(&v)
			leaves(v, "", func(_, value string) { values = append(values, value) })
			for i, c := range changes(text, values) {
				if i%every != 0 {
					continue
				}
				count++
				if problem := ignored(t, d.Name, c, values); problem != "" {
					t.Errorf("%s, %s: %q\n%s", d.Name, c.what, c.text, problem)
				}
			}
		}
	}
	t.Logf("%d changes", count)
}
