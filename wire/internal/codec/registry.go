package codec

import (
	"maps"
	"net/http"
	"sync"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// Words is the vocabulary of a format outside its requests.
type Words struct {
	// Reasons are the finish reasons of the format's servers, and Finish those that our servers write.
	Reasons map[string]llm.Reason
	Finish  map[llm.Reason]string
	// interrupted are the finish reasons of answers that are not complete although no limit was reached.
	Interrupted []string
	// codes are error codes that are read and never written.
	Codes map[string]llm.Kind
}

// Registry is the list of all formats, and what their vocabularies say together: hosts of one format use words of another.
type Registry struct {
	Formats []Format
	codes   func() map[string]llm.Kind
	broken  map[string]bool
}

// NewRegistry returns the registry of formats.
func NewRegistry(formats ...Format) *Registry {
	r := &Registry{Formats: formats, broken: make(map[string]bool)}
	for _, f := range formats {
		for _, word := range f.Words().Interrupted {
			r.broken[word] = true
		}
	}
	r.codes = sync.OnceValue(func() map[string]llm.Kind {
		codes := make(map[string]llm.Kind)
		for _, f := range formats {
			maps.Copy(codes, f.Words().Codes)
		}
		for _, f := range formats {
			for kind, code := range f.Properties().Errors {
				if _, ok := codes[code]; !ok {
					codes[code] = kind
				}
			}
		}
		return codes
	})
	return r
}

// Find returns the format of that name.
func (r *Registry) Find(name string) (Format, bool) {
	for _, f := range r.Formats {
		if f.Properties().Name == name {
			return f, true
		}
	}
	return nil, false
}

// Kind returns the meaning of an error code.
func (r *Registry) Kind(code string) (kind llm.Kind, known bool) {
	kind, known = r.codes()[code]
	return kind, known
}

// Interrupted reports whether a finish reason says that the answer is not complete.
func (r *Registry) Interrupted(word string) bool { return r.broken[word] }

// Describe returns a tool that the vendor of one format defines as other models are told of it, and a warning about that.
func (r *Registry) Describe(t llm.ToolDef) (told llm.ToolDef, said llm.Warning, is bool) {
	for _, f := range r.Formats {
		if d, ok := f.(ToolDefiner); ok {
			if told, said, is = d.Described(t); is {
				return told, said, true
			}
		}
	}
	return t, llm.Warning{}, false
}

// FinishWord returns the vendor's finish reason of an answer: the one it came with, if that still says the same.
func (w *Words) FinishWord(f llm.Finish) string {
	if r, ok := w.Reasons[f.Raw]; ok && r == f.Reason {
		return f.Raw
	}
	if word, ok := w.Finish[f.Reason]; ok {
		return word
	}
	return w.Finish[llm.Stop]
}

// UsageOnRequest is a format whose servers send usage in streams only to clients that ask for it.
type UsageOnRequest interface {
	AskUsage(body []byte) (asking []byte, added bool)
	WithoutUsage(events []byte) []byte
}

// ToolDefiner is a format whose vendor defines tools that the client runs: its models know them by type, others are told
// their description and schema.
type ToolDefiner interface {
	Defines(t llm.ToolDef) bool
	Told(t llm.ToolDef) llm.ToolDef
	Described(t llm.ToolDef) (out llm.ToolDef, said llm.Warning, is bool)
}

// ServerDescriber is a format whose vendor's HTTP API a server can imitate.
type ServerDescriber interface{ Server() *serverapi.ServerAPI }

// FrameDetector is a format whose streams are binary frames.
type FrameDetector interface {
	DetectsFrame(f eventstream.Frame) bool
}

// hostAware is a format whose properties depend on the host beyond what [Properties] covers.
type hostAware interface {
	AtHost(p format.Properties, q format.Quirks) format.Properties
}

// ErrorHeaders is a format whose vendor names the kind of an error in headers.
type ErrorHeaders interface {
	ErrorHeader(all *Registry, err *llm.Error) http.Header
}
