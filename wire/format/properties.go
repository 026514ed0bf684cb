package format

import (
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
)

// ModelInPath reports whether the path of a request contains the model's name.
func (p Properties) ModelInPath() bool { return strings.Contains(p.Path, names.ModelMark) }

// StreamInPath reports whether the path of a request says that a stream is
// asked for.
func (p Properties) StreamInPath() bool { return p.StreamPath != "" && p.StreamPath != p.Path }

// Properties describe a format for the users of its codec: what it can express, and how its hosts expect requests.
// Other packages read properties instead of comparing names of formats. The zero value is a format that can do the
// least.
type Properties struct {
	// Name is what the format is called in wire.Codec.Format.
	Name string
	// Path is the path of requests, below the root of the API's version; {model} is the placeholder for the model's
	// name. StreamPath is the path of requests for a stream; empty means Path.
	Path, StreamPath string
	// StreamType is the media type of a stream.
	StreamType string
	// LogProbs is the form of log probabilities in answers, as llm.LogProbs
	// names it. Empty means that answers have none.
	LogProbs string
	// KeepAlive is written to a stream while the model is silent, to keep clients from timing out. Empty means that the
	// format has no such message.
	KeepAlive string
	// NoComments says that clients of the vendor do not pass over comments in a stream of events.
	NoComments bool
	// Features are what a request of this format can ask for.
	Features []Feature
	// Models is where hosts list their models.
	Models ModelList
	// Imitated means that many hosts implement only a part of the format. The row of a host lists what it lacks.
	Imitated bool
	// HostFields means that hosts accept more fields than the format has, such as a grammar. Other hosts drop or refuse
	// such fields.
	HostFields bool
	// OutputField is how package catalog calls the field that holds an answer
	// to a schema.
	OutputField string
	// CacheMarks says where a request can mark up to which part the vendor caches the prompt.
	CacheMarks CacheMarks
	// NeedsLimit means that a request must have a limit of output tokens.
	NeedsLimit bool
	// UserFirst says that a conversation has to begin with the user.
	UserFirst bool
	// DeclaredCalls says that every tool that was called in the conversation
	// has to be offered in the request.
	DeclaredCalls bool
	// LetterFirst says that names of tools begin with a letter or "_".
	LetterFirst bool
	// StreamedArgs says that the arguments of a call are streamed in pieces.
	// Elsewhere a call that was cut off by the limit is not sent at all.
	StreamedArgs bool
	// TextArgs means that documents, too, have arguments as text, where truncation is visible. Other formats have
	// objects.
	TextArgs bool
	// OptionalCallIDs says that clients need not send back the ids of calls.
	OptionalCallIDs bool
	// AnswerIDs says that answers have an id, which begins with IDPrefix.
	AnswerIDs bool
	IDPrefix  string
	// Count is where hosts count the tokens of a request that is not answered.
	Count TokenCount
	// Previous is the field of a request that names the stored answer from which it continues. Empty means that every
	// request holds its whole conversation.
	Previous string
	// EndUser are the fields of a request that name the client's user, the most precise first. A dot leads into an object.
	EndUser []string
	// Items means that a turn of the model is a list of items, each with separate text.
	Items bool
	// Files is whose files the ids in a request are: formats with the same name have the same. Empty means those of the format alone.
	Files string
	// Signature is the member of an opaque state that signs thinking. Empty
	// means that thinking is not signed, or not by one member.
	Signature string
	// Thinking are the demands on a request whose model thinks.
	Thinking ThinkingRules
	// Bounds are the limits of the format's maker, by model family; "" is for families without an entry. Other hosts of
	// the format may accept more.
	Bounds map[string]RequestBounds
	// Errors are the codes that the format has for kinds of errors.
	Errors map[llm.Kind]string
	// ErrorForms are errors that the vendor sends otherwise than with that code and the usual
	// status. The first that fits counts.
	ErrorForms []ErrorForm
	// MoreErrors are further error codes of the vendor. A code in neither list is not passed on.
	MoreErrors []string
	// SearchModels says that the vendor searches the web only for models that are made
	// to, which have the word in their name.
	SearchModels bool
	// SystemFirst means that instructions precede all messages, except for models that accept them between messages.
	SystemFirst bool
	// EmptyLoads means that a request without messages only loads the model.
	EmptyLoads bool
}

// ErrorForm is how a vendor sends an error of a kind.
type ErrorForm struct {
	Kind   llm.Kind
	Status int    // that the error has; 0 fits errors that have none
	As     int    // the status that is sent; 0 means the error's, or the usual one of the kind
	Code   string // "" means that of the kind
	Words  string // that clients look for in the message
}

// TokenCount is how hosts of a format count the tokens of a request. The zero value says that they
// do not.
type TokenCount struct {
	Path   string // below the root of the API's version; {model} is the placeholder for the model's name
	Member string // of the answer that has the number
}

// ModelList is how hosts of a format list their models. The zero value says
// that they do not.
type ModelList struct {
	Path string // below the root of the API's version
	List string // member of the answer that holds the models
	ID   string // member of a model that is its name
}

// Names returns the names of the models in the body of a host's list, and nil
// if it is none.
func (l ModelList) Names(body []byte) []string {
	body = js.Trim(body)
	if !json.Valid(body) {
		return nil
	}
	var names []string
	for m := range js.Elements(js.Get(body, l.List)) {
		if name := js.Text(js.Get(m, l.ID)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// ThinkingRules are the demands on a request whose model thinks.
type ThinkingRules struct {
	// EffortSince is the version since which the models of the format's maker
	// take an effort. Older ones take a number of tokens. Zero means that all
	// take an effort.
	EffortSince catalog.Version
	// MinTokens is the least number of tokens to think, and says that
	// Request.MaxTokens counts them too. 0 means that there is none.
	MinTokens int
	// MinTopP bounds Request.TopP, and says that only the default
	// temperature is allowed. 0 means that sampling is free.
	MinTopP float64
	// NoTopK forbids Request.TopK.
	NoTopK bool
	// Families are those whose sampling is bound; nil means all.
	Families []string
	// EffortOnly is the version since which the models of the format's maker
	// refuse a number of tokens. Zero means that none does.
	EffortOnly catalog.Version
	// Dynamic says that a number of tokens below 0 leaves it to the model.
	Dynamic bool
	// OneMeasure says that a request may have a number of tokens or an effort,
	// and not both.
	OneMeasure bool
	// EffortsKnown says that only models of which the catalogue knows the words
	// take an effort; the others are told to think or not to.
	EffortsKnown bool
	// BeginTurn says that with a number of tokens to think a turn that holds
	// calls has to begin with thinking of the maker's own.
	BeginTurn bool
	// Unsigned replaces the missing signature of the first call of an answer. Models since UnsignedSince require a
	// signature in the current turn.
	Unsigned      string
	UnsignedSince catalog.Version
	// Efforts are the words for how much to think; nil means that any is passed on. What a model takes of them says the
	// catalogue.
	Efforts []string
	// Summaries are the words for how thinking is shown, where there is a choice.
	Summaries []string
	// Keep are the fields of a request that have the host give its thinking away
	// in a form that can be handed back. What the caller says of them counts.
	Keep map[string]json.RawMessage
	// KeptBy are the fields with which the host keeps the conversation itself:
	// with one of them Keep is not needed.
	KeptBy []string
}

// NewID returns a random id for an answer.
func (p Properties) NewID() string { return p.IDPrefix + rand.Text() }

// IsOwnID reports whether an id has the form of NewID. The ids of vendors are longer, or have small letters.
func (p Properties) IsOwnID(id string) bool {
	text, has := strings.CutPrefix(id, p.IDPrefix)
	return has && len(text) == len(rand.Text()) && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// CacheMarks are the places of a request that can have a mark for the vendor's prompt cache.
type CacheMarks uint8

// The places, in growing number.
const (
	MarksByHost     CacheMarks = iota + 1 // only hosts whose row lists the member take them
	MarksInMessages                       // in instructions and messages
	MarksAnywhere                         // there and in tools
)
