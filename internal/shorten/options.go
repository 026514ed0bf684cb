package shorten

import (
	"encoding/json"
	"fmt"
)

// Mode is how much of a result is shown.
type Mode uint8

var modeNames = [...]string{"detailed", "concise", "minimal"}

// The modes.
const (
	Detailed Mode = iota // all of it
	Concise              // what names things and what the task asks about
	Minimal              // what it is, and how much of it there is
)

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

// Options control a view. The zero value shows all.
type Options struct {
	Mode Mode
	// Tokens bounds the view with its notes, as [llm.EstimateText] counts; less than 40
	// is taken for 40. 0 means a third of the first 900 tokens and a fifth of the rest in
	// Concise, at least 150 and at most 2,000, and lists of bare ids of up to 2,000
	// besides; in Minimal a sixteenth, at least 40 and at most 200. A view by lines then
	// has a fifth more, and notes of up to 30 tokens are not counted.
	Tokens int
	// Task is what the result is for: the words of the user, the arguments of the
	// call. Lines and items that have its words are kept before others.
	Task string
	// Schema is that of the result, if there is one. What it requires is kept before
	// the rest.
	Schema json.RawMessage
	// Params are the names of all parameters that the tools of the conversation
	// take. With them, an opaque id is left out if none of these has its name, or a name
	// that is known to mean the same, and nothing else in the result refers to it. Nil
	// keeps all ids.
	Params []string
}

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

// View is the shown part of a result.
type View struct {
	Text string
	// Whole says that no value was left out: at most space, lines of signs, repetitions,
	// null, and tags of a document without their attributes.
	Whole bool
	// Shown of Of units are in the text, some of them in part. The units are "items"
	// of the outermost lists, "entries" of an object without lists, or "lines" that
	// are not empty. All are 0 if the result is shown unchanged.
	Shown, Of int
	Unit      string
}

// small is how many tokens a result has of which a third is shown in Concise; of the
// tokens beyond, a fifth.
const small = 900
