package dialect

import "slices"

// Dialect is one way of writing calls as text. A row holds only what differs
// between dialects; how its parts are read is the engine's business. The
// first spelling in a list is the canonical one, the others were seen in the
// wild.
type Dialect struct {
	Name   string // stable, like "hermes_json"
	Title  string // for people
	Models string // the families that write it
	Form   Form   // what a call looks like inside its markers

	// Wrap are the markers around all calls of an answer, Call those around
	// one call. Either may be absent.
	Wrap, Call []Pair
	// Sep stands between the name and the arguments (NameJSON), IDSep between
	// the name and the id of the call.
	Sep, IDSep []string
	// Tags are the elements of a Tags dialect.
	Tags Tags
	// NameKey and ArgsKey are the keys of a JSON call as this dialect writes
	// them. Every dialect is read with all known keys.
	NameKey, ArgsKey string
	// List says that JSON calls stand in a list, Keyed that the name is the
	// only key of a call and its value the arguments.
	List, Keyed bool
	// KindFirst says that a word like "function" stands before the separator
	// and the name after it, IDFirst that the id comes before the name.
	KindFirst, IDFirst bool
	// PlainArgs says that arguments may be plain text.
	PlainArgs bool
	// Code are the markers of Wrap behind which there may be code as it is, for
	// the tool that runs code. NamedCode says that it may stand behind the name
	// of that tool.
	Code      []string
	NamedCode bool
	// Cites says that text may hold tags of citations, like <co>…</co: 0:[1]>.
	Cites bool
	// Echoes says that models repeat the body of a call after its end.
	Echoes bool

	// Think delimits thinking. Prefilled says that the prompt usually holds
	// the opener already, so that an answer begins inside thinking.
	// Unthought says that an answer without thinking begins with the closer.
	Think     []Pair
	Prefilled bool
	Unthought bool
	// Drop are markers without meaning for us: ends of turns and messages,
	// wrappers around the visible answer.
	Drop []string
	// Role are markers that begin a message. A word between one and the marker
	// of the message's content says whom it is for, and is no text.
	Role []string

	// Bare says that calls may stand in text without any marker. They count
	// only when the name was offered, or, if the caller does not say what was
	// offered, when name and arguments are both there.
	Bare bool
	// Text says how the text of an untyped value becomes JSON.
	Text Text
}

// Pair is an opening and a closing marker. An empty Close means that nothing
// closes it; an empty Open that the opener is never written.
type Pair struct{ Open, Close string }

// Form is the shape of a call's body.
type Form uint8

// The forms. Each is one reader in the engine.
const (
	JSONCall  Form = iota // {"name": …, "arguments": {…}}, alone, in a list, or several
	NameJSON              // the name, a separator, a JSON object
	TagCall               // elements with a tag for the call and one for each parameter
	PyCall                // name(key=value, …), alone, in a list, or one a line
	BraceCall             // call:name{key:value, …} with their own string quotes
	Header                // a message header names the recipient: harmony, muse_glimmer
	LineCall              // lines that begin with words: Action: …, ✿FUNCTION✿: …
)

var formNames = [...]string{"json", "name-json", "tags", "python", "braces", "header", "lines"}

// String returns a short name of the form.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "unknown"
}

// Tags are the elements of a dialect whose calls are elements. A "%s" is the
// place of the name; the canonical spelling is used for writing, reading
// accepts any quoting.
type Tags struct {
	Call  Pair   // like `<invoke name="%s">` and `</invoke>`
	Param Pair   // like `<parameter name="%s">` and `</parameter>`
	Value Pair   // of dialects that write key and value as two elements
	ID    string // the attribute of Call that holds the id
	// Spaces are the namespaces that models put before the names of these
	// elements, and of the one around all calls.
	Spaces []string
}

// Text says how the text of an untyped value becomes JSON.
type Text uint8

// The ways to read untyped text. A schema, where there is one, comes first;
// these say what happens around and without it.
const (
	Literal  Text = iota // a JSON literal if it is one, else a string
	Trimmed              // as Literal, without white space around it
	OneLine              // as Literal, without one newline at each end
	Verbatim             // always a string unless the schema says otherwise
	Plain                // as Verbatim, without white space around it
)

// All returns the dialects in the order of the table, which is the order in
// which ties are decided. The rows must not be changed.
func All() []Dialect { return slices.Clone(table) }

// Lookup returns the dialect called name.
func Lookup(name string) (Dialect, bool) {
	for i := range table {
		if table[i].Name == name {
			return table[i], true
		}
	}
	return Dialect{}, false
}
