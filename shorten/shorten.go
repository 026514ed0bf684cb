package shorten

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Mode is how much of a result is shown.
type Mode uint8

// The modes.
const (
	Detailed Mode = iota // all of it
	Concise              // what names things and what the task asks about
	Minimal              // what it is, and how much of it there is
)

var modeNames = [...]string{"detailed", "concise", "minimal"}

// String returns the name of the mode, as ParseMode reads it.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", m)
}

// ParseMode returns the mode of a name.
func ParseMode(name string) (Mode, error) {
	for i, n := range modeNames {
		if n == name {
			return Mode(i), nil
		}
	}
	return Detailed, fmt.Errorf("no view of results is called %.40q: say concise, detailed or minimal", name)
}

// Options say what a view is for. The zero value shows all.
type Options struct {
	Mode Mode
	// Tokens bounds the view, as [llm.EstimateText] counts. 0 means a third of the
	// first 900 tokens and a fifth of the rest in Concise, at least 150 and at most
	// 2,000, and lists of bare ids of up to 2,000 besides; in Minimal a sixteenth, at
	// least 40 and at most 200.
	Tokens int
	// Task is what the result is for: the words of the user, the arguments of the
	// call. Lines and items that have its words are kept before others.
	Task string
	// Schema is that of the result, if there is one. What it requires is kept before
	// the rest.
	Schema json.RawMessage
	// Params are the names of all parameters that the tools of the conversation
	// take. With them, an opaque id is left out that none of these is the name of and
	// that nothing else in the result refers to. Nil keeps all ids.
	Params []string
}

// View is what is shown of a result.
type View struct {
	Text string
	// Whole says that no value was left out: at most space, repetitions and null.
	Whole bool
	// Shown of Of units ("items", "lines") are in the text, some of them in part.
	Shown, Of int
	Unit      string
}

// longestTree bounds the results that are read as JSON or YAML; longer ones are
// shown by lines.
const longestTree = 4 << 20

// small is how many tokens a result has of which a third is shown in Concise; of what
// is beyond, a fifth.
const small = 900

// budget is how many tokens a view of a text of so many tokens may have.
func (o Options) budget(whole int) int {
	switch {
	case o.Tokens > 0:
		return o.Tokens
	case o.Mode == Minimal:
		return min(max(whole/16, 40), 200)
	default:
		if whole > small {
			return min(small/3+(whole-small)/5, 2000)
		}
		return max(whole/3, 150)
	}
}

// Result returns a view of a result. One that is short enough is returned as it is.
func Result(text string, o Options) View {
	whole := llm.EstimateText(text)
	if o.Mode == Detailed && o.Tokens == 0 || whole <= o.budget(whole) {
		return View{Text: text, Whole: true}
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	budget := o.budget(whole)
	root, ok := read(text)
	switch {
	case !ok:
		return showText(text, o, budget)
	case textual(root):
		v := showText(textOf(root), o, budget)
		if root.cut {
			v.Text += "\n" + breaksOff
		}
		return v
	}
	return showTree(root, o, whole, budget)
}

// breaksOff ends the view of a result whose JSON has no end, so that nobody takes it
// for the whole.
const breaksOff = "[The result breaks off here, in the middle of a value]"

// textual reports whether a result is text in a wrapping of JSON.
func textual(n *node) bool {
	if n.kind == '[' && len(n.kids) > 0 && n.texts {
		return true
	}
	return n.kind == '"'
}

// textOf returns the text of such a result.
func textOf(n *node) string {
	if n.kind == '"' {
		return n.text
	}
	parts := make([]string, len(n.kids))
	for i, k := range n.kids {
		parts[i] = k.text
	}
	return strings.Join(parts, "\n")
}

// note says how much is shown. It is empty for a whole view.
func (v View) note() string {
	if v.Whole {
		return ""
	}
	if v.Shown >= v.Of {
		return "\n[Long values are cut]"
	}
	return fmt.Sprintf("\n[Showing %d of %d %s]", v.Shown, v.Of, v.Unit)
}
