package dialect

import "github.com/toolpost/toolpost/dialect/spec"

// The specification of a dialect. The types are in package spec, which
// documents their fields: go doc github.com/toolpost/toolpost/dialect/spec.Dialect.
type (
	// Dialect is one way of writing calls as text, as a row of the table or as
	// a value of your own (see [List.With]). Its fields, with the meaning of
	// each, are those of [spec.Dialect]:
	//
	//   - Name, Title and Models tell what it is; Form tells what a call looks like.
	//   - Wrap, Call and Think are the markers around all calls, around one call
	//     and around thinking; NameKey and ArgsKey the keys of a JSON call; Sep,
	//     Tags, Head and Quotes what the other forms need.
	//   - Write tells how the dialect is written, Results how tool results are
	//     shown to its models, Tells what gives it away in a chat template.
	//   - The remaining fields are for habits of single model families.
	//
	// Name, Form and the markers or keys of that form are enough to read it.
	Dialect = spec.Dialect
	// Pair is an opening and a closing marker.
	Pair = spec.Pair
	// Form is the shape of a call's body.
	Form = spec.Form
	// Tags are the elements of a dialect whose calls are elements.
	Tags = spec.Tags
	// Head is what message headers are made of.
	Head = spec.Head
	// Text tells how the text of an untyped value becomes JSON.
	Text = spec.Text
	// Writing is how a dialect is written.
	Writing = spec.Writing
	// Body is the notation of the arguments in a Writing.
	Body = spec.Body
	// IDForm is how a dialect writes the id of a call.
	IDForm = spec.IDForm
	// Results is how the models of a dialect are shown results.
	Results = spec.Results
	// Tell is a sign of a dialect in a chat template.
	Tell = spec.Tell
	// Template is a form of chat template, with its tokens.
	Template = spec.Template
)

// Templates returns the chat templates that Toolpost knows, with all their
// tokens.
func Templates() []Template { return spec.Templates() }

// The forms of a call's body.
const (
	JSONCall  = spec.JSONCall  // {"name": …, "arguments": {…}}, alone, in a list, or several
	NameJSON  = spec.NameJSON  // the name, a separator, a JSON object
	TagCall   = spec.TagCall   // elements with a tag for the call and one for each parameter
	PyCall    = spec.PyCall    // name(key=value, …), alone, in a list, or one a line
	BraceCall = spec.BraceCall // call:name{key:value, …} with their own string quotes
	Header    = spec.Header    // a message header names the recipient
	LineCall  = spec.LineCall  // lines that begin with words: Action: …
)

// The ways to read untyped text.
const (
	Literal  = spec.Literal  // a JSON literal if it is one, else a string
	Trimmed  = spec.Trimmed  // as Literal, without white space around it
	OneLine  = spec.OneLine  // as Literal, without one newline at each end
	Verbatim = spec.Verbatim // always a string unless the schema says otherwise
	Plain    = spec.Plain    // as Verbatim, without white space around it
)

// The notations of arguments.
const (
	JSONBody   = spec.JSONBody   // {"city": "Paris"}
	PythonBody = spec.PythonBody // city="Paris"
	ParamsBody = spec.ParamsBody // one element per parameter
	BareBody   = spec.BareBody   // {city:«Paris»,days:3}
)

// The forms of ids.
const (
	NoID      = spec.NoID
	NameIndex = spec.NameIndex // functions.NAME:0, counted over the conversation
	Alnum9    = spec.Alnum9    // nine letters and digits
	Alnum10   = spec.Alnum10   // ten small letters and digits
	Counter   = spec.Counter   // 0, 1, 2
	OneBased  = spec.OneBased  // 1, 2, 3
)
