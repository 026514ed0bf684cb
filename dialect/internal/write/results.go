package write

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// plainResult is how results are shown to models that were never taught a form
// of their own, and to those that emulate a dialect.
var plainResult = spec.Results{
	Role: llm.RoleUser, Each: "<tool_result name=\"$name\" id=\"$id\"$failed>\n$text\n</tool_result>", Sep: "\n", Stop: []string{"<tool_result"},
}

// Shown returns how results are shown in a dialect; one without a form of
// its own, or none at all, has that of the emulated dialects.
func Shown(d spec.Dialect) spec.Results {
	if d.Results.Each == "" {
		return plainResult
	}
	return d.Results
}

// Results writes the results of calls as the models of a dialect are shown
// them, and returns the role of the message that holds them. See
// dialect.WrapResults.
func Results(d spec.Dialect, results []llm.Result) (role llm.Role, text string) {
	w := Shown(d)
	guards := Guards(d)
	var b strings.Builder
	b.WriteString(w.Open)
	for i, r := range results {
		if i > 0 {
			b.WriteString(w.Sep)
		}
		body := breakMarkers(resultText(r), guards)
		failed := ""
		if r.Failed {
			failed = ` error="true"`
		}
		id := r.CallID
		if w.ID != spec.NoID {
			id = writtenID(w.ID, r.CallID, r.Name, i)
		}
		b.WriteString(strings.NewReplacer("$name", word(r.Name), "$id", word(id), "$failed", failed,
			"$text", body, "$json", quote(body)).Replace(w.Each))
	}
	b.WriteString(w.Close)
	return w.Role, b.String()
}

// resultText returns the text of a result with its media named.
func resultText(r llm.Result) string {
	var lines []string
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			lines = append(lines, p.Text)
		case llm.Media:
			lines = append(lines, fmt.Sprintf("[%s %s]", p.Kind, strings.TrimSpace(p.Name+" "+p.MIME)))
		}
	}
	return strings.Join(lines, "\n")
}

// word makes a name or id safe as an attribute: everything that is markup
// becomes an underscore.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if plain(string(r)) {
			return r
		}
		return '_'
	}, s)
}

// Guards returns what a result must not contain: the markers around results, and
// the tokens that end a turn of the dialect. The markers lack their last bracket,
// so they are also found with a space before it.
func Guards(d spec.Dialect) []string {
	w := Shown(d)
	out := append([]string(nil), w.Guard...)
	for _, m := range markersOf(spec.Writing{Open: w.Open, Call: w.Each, Close: w.Close}) {
		out = append(out, strings.TrimRight(m, ">] "))
	}
	for _, m := range d.Drop {
		if strings.HasPrefix(m, "<|") || strings.HasPrefix(m, "<｜") {
			out = append(out, m)
		}
	}
	return out
}

// breakMarkers puts a backslash after the first letter of every guard in s, whatever
// its case.
func breakMarkers(s string, guards []string) string {
	for _, g := range guards {
		_, size := utf8.DecodeRuneInString(g)
		low, want := lower(s), lower(g)
		var b strings.Builder
		for {
			i := strings.Index(low, want)
			if i < 0 {
				break
			}
			b.WriteString(s[:i+size] + `\`)
			s, low = s[i+size:], low[i+size:]
		}
		b.WriteString(s)
		s = b.String()
	}
	return s
}

// lower is strings.ToLower for ASCII only, so all offsets stay the same.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
