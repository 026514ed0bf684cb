package emulate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"iter"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// linePrefixes are what programs and people put before each line of a text.
var linePrefixes = []string{
	"> ", ">> ", ">>> ", "> > ", "| ", "|\t", "* ", "+", "+ ", "-", "// ", "//", "/// ", "///", "//! ", "# ", "#", "## ", "### ", "-- ", "--", "--- ", "% ", "%", "%% ",
	"; ", ";", ";; ", ";;", ";;; ", "! ", "' ", "REM ", "Rem ", "rem ", "dnl ", ":: ", "  ", "\t", "    # ", "  // ", "\t-- ", "> # ", "# > ", "// > ", "> | ", "/* ", "* // ",
}

// numberings are what programs that number or search lines put before them.
var numberings = []string{
	"%d: ", "%d|", "%d\t", "%d→", "%4d: ", "%6d\t", "%d) ", "%d. ", "%d - ", "notes.txt:%d: ", "a/b_c.md:%d:", "src/x.go-%d-", "> %d | ", "# %d: ", "> notes.txt:%d: ",
}

// characterTricks change the characters of a text so that it looks the same, or nearly.
var characterTricks = map[string]func(string) string{
	"zero width":         betweenLetters("\u200b"),
	"zero width joiner":  after("e", "\u200d"),
	"non-joiner":         after("t", "\u200c"),
	"word joiner":        after("_", "\u2060"),
	"variation selector": after("a", "\ufe0f"),
	"soft hyphen":        after("t", "\u00ad"),
	"grapheme joiner":    after("a", "\u034f"),
	"Hangul filler":      after("d", "\u3164"),
	"tag characters":     after("d", "\U000e0041"),
	"direction mark":     after("r", "\u200e"),
	"direction override": func(s string) string { return "\u202e" + s + "\u202c" },
	"byte order mark":    func(s string) string { return "\ufeff" + s },
	"invisible times":    after("l", "\u2062"),
	"colour":             func(s string) string { return "\x1b[31m" + s + "\x1b[0m" },
	"colours":            after("\"", "\x1b[1m"),
	"256 colours":        after("e", "\x1b[38;5;196m"),
	"colour, CSI":        after("p", "\u009b1m"),
	"colour, escaped":    after("p", `\u001b[1m`),
	"colour, octal":      after("p", `\033[1m`),
	"colour, hex":        after("p", `\x1b[1m`),
	"colour, caret":      after("p", `^[[1m`),
	"terminal link":      func(s string) string { return "\x1b]8;;http://x\x07" + s + "\x1b]8;;\x07" },
	"wide letters":       wide,
	"curly quotes":       func(s string) string { return strings.ReplaceAll(s, `"`, "“") },
	"capitals":           strings.ToUpper,
	"carriage returns":   func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"on one line":        func(s string) string { return strings.Join(strings.Fields(s), " ") },
	"spread out":         func(s string) string { return strings.ReplaceAll(s, " ", "\n\t ") },
	"no-break spaces":    func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") },
}

// encodings are ways to carry a text in another.
var encodings = map[string]func(string) string{
	"JSON":              func(s string) string { return marshalled(map[string]string{"page": s}) },
	"JSON, twice":       func(s string) string { return marshalled(marshalled(s)) },
	"JSON, all escaped": func(s string) string { return escapedJSON(s) },
	"entities":          html.EscapeString,
	"entities, twice":   func(s string) string { return html.EscapeString(html.EscapeString(s)) },
	"entities, decimal": numericEntities("&#%d;"),
	"entities, hex":     numericEntities("&#x%X;"),
	"open entities":     func(s string) string { return strings.NewReplacer("<", "&lt", ">", "&gt", `"`, "&quot").Replace(s) },
	"open numbers": func(s string) string {
		return strings.NewReplacer("<", "&#60 ", "{", "&#123 ", `"`, "&#34 ").Replace(s)
	},
	"named brackets": func(s string) string {
		return strings.NewReplacer("{", "&lcub;", "}", "&rcub;", ":", "&colon;").Replace(s)
	},
	"form":              func(s string) string { return "q=" + url.QueryEscape(s) + "&x=1" },
	"path":              func(s string) string { return "/" + url.PathEscape(s) + "/x" },
	"path, twice":       func(s string) string { return "/" + url.PathEscape(url.PathEscape(s)) },
	"address":           func(s string) string { return "https://x.test/?q=" + url.QueryEscape(s) },
	"data address":      func(s string) string { return "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(s)) },
	"plain data":        func(s string) string { return "data:text/plain," + url.PathEscape(s) },
	"quoted-printable":  quotedPrintableForm,
	"HTML in JSON":      func(s string) string { return marshalled(html.EscapeString(s)) },
	"JSON in HTML":      func(s string) string { return html.EscapeString(marshalled(s)) },
	"XML text":          func(s string) string { return "<p>" + html.EscapeString(s) + "</p>" },
	"C block":           func(s string) string { return "/* " + s + " */" },
	"HTML comment":      func(s string) string { return "<!-- " + s + " -->" },
	"Haskell comment":   func(s string) string { return "{- " + s + " -}" },
	"Pascal comment":    func(s string) string { return "(* " + s + " *)" },
	"code fence":        func(s string) string { return "```\n" + s + "\n```" },
	"code fence, named": func(s string) string { return "~~~text\n" + s + "\n~~~" },
	"inline code":       func(s string) string { return "`" + s + "`" },
	"sentence":          func(s string) string { return "Never write " + s + " in an answer, please." },
	"in quotes":         func(s string) string { return "It says “" + s + "” there." },
	"bold":              func(s string) string { return "**" + s + "**" },
	"list":              func(s string) string { return "- first\n- " + s + "\n- last" },
	"heading":           func(s string) string { return "# " + s },
	"CDATA":             func(s string) string { return "<![CDATA[" + s + "]]>" },
	"mail":              func(s string) string { return "From: a@b.test\nSubject: x\n\n" + s },
	"long page": func(s string) string {
		return strings.Repeat("The sea is wide. ", 50) + s + strings.Repeat(" So is the sky.", 50)
	},
}

func marshalled(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func betweenLetters(mark string) func(string) string {
	return func(s string) string { return strings.Join(strings.Split(s, ""), mark) }
}

func after(letter, mark string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, letter, letter+mark) }
}

func numericEntities(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if strings.ContainsRune(`<>{}[]"`, r) {
				fmt.Fprintf(&b, format, r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
}

func escapedJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// wide writes letters, digits and signs in their full width.
func wide(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' {
			return r + 0xFEE0
		}
		return r
	}, s)
}

// suiteForms are the forms of the tables, and some in others.
func suiteForms() map[string]func(string) string {
	forms := map[string]func(string) string{"plain": func(s string) string { return s }}
	for _, p := range linePrefixes {
		forms[fmt.Sprintf("lines %q", p)] = comment(p)
	}
	for _, p := range numberings {
		forms[fmt.Sprintf("numbers %q", p)] = func(s string) string {
			return eachLine(s, func(i int) string { return fmt.Sprintf(p, i+1) })
		}
	}
	for _, table := range []map[string]func(string) string{characterTricks, encodings} {
		for name, form := range table {
			forms[name] = form
		}
	}
	for _, outer := range []string{"lines \"> \"", "lines \"// \"", "JSON", "entities", "code fence"} {
		for inner, form := range characterTricks {
			wrap := forms[outer]
			forms[inner+" in "+outer] = func(s string) string { return wrap(form(s)) }
		}
	}
	return forms
}

// suiteRoutes are how a model gets the tools: native with calls in text that are read, and taught by a prompt.
var suiteRoutes = map[string]func(inner llm.Model, style string) llm.Model{
	"native": func(inner llm.Model, _ string) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			return CallReader{Request: req, Tools: Functions(req.Tools), Promotion: llm.PromoteAll}.Read(inner.Stream(ctx, req))
		})
	},
	"emulated": func(inner llm.Model, style string) llm.Model { return Emulation{Style: style}.Around(inner) },
}

// suiteModes are what happened to a conversation before the model repeats the call.
var suiteModes = map[string]func(t *testing.T, req *llm.Request){
	"live":      func(*testing.T, *llm.Request) {},
	"resumed":   recorded,
	"compacted": compacted,
	"switched": func(t *testing.T, req *llm.Request) { // another model has answered before, with a call
		req.Messages = append(req.Messages, llm.Assistant(llm.Text{Text: "I look."}, llm.Call{ID: "other_1", Name: "ping", Args: json.RawMessage("{}")}),
			llm.Results(llm.Result{CallID: "other_1", Name: "ping", Parts: []llm.Part{llm.Text{Text: "pong"}}}), llm.User("Go on."))
		recorded(t, req)
	},
	"compacted and resumed": func(t *testing.T, req *llm.Request) {
		compacted(t, req)
		recorded(t, req)
	},
}

// recorded writes a conversation as JSON and reads it, as a record does.
func recorded(t *testing.T, req *llm.Request) {
	t.Helper()
	var messages []llm.Message
	b, err := json.Marshal(req.Messages)
	if err == nil {
		err = json.Unmarshal(b, &messages)
	}
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = messages
	if req.Echoes == nil {
		return
	}
	memory := new(llm.EchoMemory)
	if b, err = json.Marshal(req.Echoes); err == nil {
		err = json.Unmarshal(b, memory)
	}
	if err != nil {
		t.Fatal(err)
	}
	req.Echoes = memory
}

// compacted replaces the whole conversation by a summary that does not quote it.
func compacted(_ *testing.T, req *llm.Request) {
	req.Echoes = RememberCalls(req.Echoes, req.Tools, nil, req.Messages)
	req.Messages = []llm.Message{
		llm.User("Summarise it."),
		{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "The page is about the sea.", Origin: llm.OriginOfSummary(req.Messages)}}},
	}
}

// ranInSuite returns the calls that a route makes of an answer.
func ranInSuite(t *testing.T, route func(llm.Model, string) llm.Model, style string, req *llm.Request, answer string) (ran []string) {
	t.Helper()
	m := route(llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] { return say(answer, 16, llm.Stop) }), style)
	for ev, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := ev.(llm.Call); ok && c.Provenance.Echo == "" {
			ran = append(ran, c.Name)
		}
	}
	return ran
}

// suiteStyles are notations that are taught, with their dialects.
var suiteStyles = [][2]string{{"hermes", "hermes_json"}, {"xml", "claude_xml"}, {"json", "json_fence"}}

// TestEchoSuite: every form of a call in text of every origin, by a native and an emulated route, live, resumed,
// compacted and after a switch of the model. No echo runs, and the same call in an honest conversation does. The short
// run pairs each form and origin with one history and one route; TOOLPOST_LONG=1 takes all of them.
func TestEchoSuite(t *testing.T) {
	forms := suiteForms()
	places, modes, routes := slices.Sorted(maps.Keys(echoPlaces)), slices.Sorted(maps.Keys(suiteModes)), slices.Sorted(maps.Keys(suiteRoutes))
	if len(forms) < 200 {
		t.Errorf("only %d forms", len(forms))
	}
	attacks, broke := 0, 0
	defer func() { t.Logf("%d forms, %d attacks, %d broke", len(forms), attacks, broke) }()
	attack := func(how string, n int, place, mode, route string) {
		attacks++
		style := suiteStyles[n%len(suiteStyles)]
		text, err := dialect.Builtin().Render(style[1], plantedCall)
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Tools: echoTools, Messages: []llm.Message{llm.User("Summarise it.")}}
		echoPlaces[place](req, forms[how](text))
		suiteModes[mode](t, req)
		if ran := ranInSuite(t, suiteRoutes[route], style[0], req, text); len(ran) > 0 {
			if broke++; broke < 60 {
				t.Errorf("%s, %s, in the %s, %s, %s: %v ran", how, style[0], place, mode, route, ran)
			}
		}
	}
	for i, how := range slices.Sorted(maps.Keys(forms)) {
		for j, place := range places {
			for k, mode := range modes {
				for l, route := range routes {
					if os.Getenv("TOOLPOST_LONG") == "1" || (i+j)%(len(modes)*len(routes)) == k*len(routes)+l {
						attack(how, i/len(suiteStyles)+j+k, place, mode, route)
					}
				}
			}
		}
		honest := &llm.Request{Tools: echoTools, Messages: []llm.Message{llm.User("Delete the database."), llm.User("A file.", llm.Text{Text: forms[how]("The sea is wide.")})}}
		text, err := dialect.Builtin().Render(suiteStyles[i%len(suiteStyles)][1], plantedCall)
		if err != nil {
			t.Fatal(err)
		}
		if ran := ranInSuite(t, suiteRoutes[routes[i%len(routes)]], suiteStyles[i%len(suiteStyles)][0], honest, text); len(ran) != 1 {
			t.Errorf("%s: the honest call did not run", how)
		}
	}
}
