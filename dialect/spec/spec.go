// Package spec is the specification of a dialect: everything that Toolpost
// knows about one way of writing calls, as one value, called a row. The row says
// how calls are read, how they are written, how their results are shown, and by
// what signs in a chat template the dialect is recognised.
//
// Package dialect reads and writes calls by these rows; only a program with a dialect
// of its own needs this package.
package spec

import "github.com/toolpost/toolpost/llm"

// Dialect is one way of writing calls as text. A row holds only what differs
// between dialects; the engine holds the code that reads them. The first
// spelling in a list is the canonical one, the others were seen in answers of
// models. A marker has at least two bytes and does not begin with white space;
// white space between a marker and a name or arguments is skipped. A marker that
// begins with a letter counts at the beginning of a line only.
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
	// Head is what the message headers of a Header dialect are made of.
	Head Head
	// NameKey and ArgsKey are the keys of a JSON call as this dialect writes
	// them. Every dialect is read with all known keys.
	NameKey, ArgsKey string
	// List says that JSON calls are in a list, Keyed that the name is the
	// only key of a call and its value the arguments.
	List, Keyed bool
	// KindFirst says that a word like "function" is before the separator
	// and the name after it, IDFirst that the id comes before the name.
	KindFirst, IDFirst bool
	// PlainArgs says that arguments may be plain text.
	PlainArgs bool
	// NameAlone says that a name and the end of the call, without arguments,
	// are a call even if the caller does not tell which tools were offered.
	NameAlone bool
	// Method is a suffix of every name, like ".call".
	Method string
	// ArgsFunc is the name of a function that models call, in a Markdown code
	// fence, with the arguments of the tool.
	ArgsFunc string
	// Quotes are the delimiters of strings (BraceCall). Text tells what stands
	// between them.
	Quotes []string
	// Code are the markers of Wrap after which plain source code may stand, for
	// the tool that runs code. NamedCode says that such code may also stand
	// after the name of that tool.
	Code      []string
	NamedCode bool
	// Cites is the element of citations that text may hold, like "co" for
	// <co>…</co: 0:[1]>.
	Cites string
	// Echoes says that models repeat the body of a call after its end.
	Echoes bool

	// Inline are markers that begin with a letter and may stand within a line,
	// at the beginning of a word.
	Inline []string
	// BeforeName are markers that count only right before a name.
	BeforeName []string
	// AtStart are markers that count only at the start of an answer: the rests
	// of markers whose beginning the prompt held.
	AtStart []string
	// Opening.Open is the line with which an answer to the user begins where
	// the prompt held the marker before it. It is text unless the dialect is
	// expected or Opening.Close follows.
	Opening Pair

	// Think delimits thinking. Prefilled says that the prompt usually holds
	// the opener already, so an answer begins inside thinking.
	// Unthought says that an answer without thinking begins with the closer.
	Think     []Pair
	Prefilled bool
	Unthought bool
	// ThinkLabel is a word after the opener of thinking that is not part of the
	// thinking.
	ThinkLabel string
	// Drop are markers that are left out of the text: ends of messages, wrappers
	// around the visible answer. One that ordinary markup may hold, like
	// <answer>, counts only next to thinking or if the dialect is expected. End
	// are such markers that always count.
	Drop, End []string
	// Role are markers that begin a message. A word between one and the marker
	// of the message's content names the recipient, and is not part of the text.
	Role []string

	// Bare says that calls may be in text without any marker. They count
	// only when the name was offered, or, if the caller does not tell what was
	// offered, when name and arguments are both there.
	Bare bool
	// Text tells how the text of an untyped value becomes JSON.
	Text Text

	// Write is how a model writes the dialect. A dialect without it is read
	// only.
	Write Writing
	// Results is how its models are shown the results of calls. The zero value
	// is the form of emulated dialects.
	Results Results
	// Tells are the signs of the dialect in chat templates.
	Tells []Tell
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

// forms is the number of forms.
const forms = len(formNames)

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
	Call Pair // like `<invoke name="%s">` and `</invoke>`
	// Also are other tags that models write in place of Call. They count only
	// with the equals sign: <tool=%s> is one, <tool> is ordinary markup. One
	// with an attribute, like <tool name="%s">, is a call only if the name was
	// offered.
	Also  []Pair
	Param Pair   // like `<parameter name="%s">` and `</parameter>`
	Value Pair   // of dialects that write key and value as two elements
	ID    string // the attribute of Call that holds the id
	// Spaces are the namespaces that models put before the names of these
	// elements, and of the one around all calls.
	Spaces []string
	// Once says that a parameter which is there twice makes the call invalid.
	// In other dialects the last one counts, as a guess.
	Once bool
}

// Head is the header of a message: who speaks to whom, on which channel. It
// begins with a marker of Call and decides whether the message is thinking,
// text or a call.
type Head struct {
	End     string   // what ends the header, like "<|message|>"
	To      string   // the text before the recipient, like "to="
	Channel string   // the text before the channel
	Skip    []string // markers in a header that say nothing
	// Thinkers are the recipients, ThinkChannels the channels of thinking.
	Thinkers, ThinkChannels []string
	// Users are the recipients of text in which nothing is a call, Speakers
	// those of other text. Every other recipient is a tool.
	Users, Speakers []string
}

// Text tells how the text of an untyped value becomes JSON.
type Text uint8

// The ways to read untyped text. A schema, where there is one, comes first;
// these tell what happens around and without it.
const (
	Literal Text = iota // a JSON literal if it is one, else a string
	// Trimmed is as Literal, without white space around it. Text of several lines keeps its indentation, and the newline
	// at its end if it does not begin on a line of its own.
	Trimmed
	OneLine  // as Literal, without one newline at each end
	Verbatim // always a string unless the schema says otherwise
	Plain    // as Verbatim, without white space around it
)

// Writing is how a dialect is written, in the spelling its models were taught.
// In Call, $name, $id and $args mean the values of the call.
type Writing struct {
	Think Pair   // around thinking
	Text  Pair   // around text
	Intro Pair   // around text that calls follow, where it differs from Text
	Lead  string // between text and the calls that follow it
	Next  string // between thinking, text and runs of calls
	Open  string // before a run of calls
	Call  string // one call
	Sep   string // between two calls of a run
	Close string // after a run of calls
	End   string // after the turn
	// Whole says that the answer is one JSON value: text is quoted and stands
	// alone, between Text.Open, which is JSON up to a colon, and Text.Close.
	Whole bool
	ID    IDForm

	Body  Body // the notation of the arguments
	Tight bool // JSON without spaces after , and :
	// Param is one parameter of a ParamsBody: $key, $value, $type, $string
	// ("true" for strings, else "false") and $attr (name="key" with a space
	// before it, or nothing for the items of a list).
	Param string
	// Node is one object or array whose entries are $value; empty means that
	// they are written as JSON within Param.
	Node string
	// Item is the key of an array's items in a Node; "=" repeats the key of
	// the array instead.
	Item string
	// Types are the words for $type of a string, number, boolean, null, object
	// and array; nil takes these.
	Types []string
	Delim string // around a string of a BareBody
	CData bool   // strings with < or & are in a CDATA section
	// Entities says that a string without < is read with the entities of XML in
	// it, so one that holds them is escaped.
	Entities bool
	// OwnLines says that a newline after the tag of a parameter and one before
	// its end tag are not part of a string, so a string that begins or ends with
	// a newline has its own lines.
	OwnLines bool
}

// Body is the notation of the arguments.
type Body uint8

// The notations.
const (
	JSONBody   Body = iota // {"city": "Paris"}
	PythonBody             // city="Paris"
	ParamsBody             // one element per parameter
	BareBody               // {city:«Paris»,days:3}
	YAMLBody               // one line per parameter: city: "Paris"
)

// IDForm is how a dialect writes the id of a call.
type IDForm uint8

// The forms of ids.
const (
	NoID      IDForm = iota
	NameIndex        // functions.NAME:0, counted over the conversation
	Alnum9           // nine letters and digits
	Alnum10          // ten small letters and digits
	Counter          // 0, 1, 2
	OneBased         // 1, 2, 3
)

// Results is how the models of a dialect are shown the results of calls. In
// each string, $name, $id and $failed are about the call, $text is the result
// and $json the result as a JSON string.
type Results struct {
	Role  llm.Role
	Open  string // before all results
	Each  string // one result
	Sep   string // between two results
	Close string // after all results
	ID    IDForm
	Guard []string // further words that a result must not contain
	Stop  []string // what a model writes when it begins to invent a result
}

// Tell is a sign in a chat template that its model writes a dialect.
type Tell struct {
	// Order says when the sign is looked for: first the signs of order 0 of all
	// dialects, then those of order 1, and so on. Give low numbers to signs that
	// only one family uses, higher ones to markers that several families share
	// (All then also names what tells them apart), and the highest to forms
	// without markers.
	Order int
	All   []string // the template holds all of them
}
