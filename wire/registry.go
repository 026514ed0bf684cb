package wire

import (
	"maps"
	"net/http"
	"sync"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/llm"
)

// words is the vocabulary of a format outside its requests.
type words struct {
	// reasons are the finish reasons that the format's servers send, and finish those that a server of ours writes.
	reasons map[string]llm.Reason
	finish  map[llm.Reason]string
	// interrupted are the finish reasons of answers that are not complete although no limit was reached.
	interrupted []string
	// codes are error codes that are read and never written.
	codes map[string]llm.Kind
}

// registry is the list of all formats, and what their vocabularies say together: hosts of one format use words of another.
type registry struct {
	formats []format
	codes   func() map[string]llm.Kind
	broken  map[string]bool
}

// newRegistry returns the registry of formats.
func newRegistry(formats ...format) *registry {
	r := &registry{formats: formats, broken: make(map[string]bool)}
	for _, f := range formats {
		for _, word := range f.words().interrupted {
			r.broken[word] = true
		}
	}
	r.codes = sync.OnceValue(func() map[string]llm.Kind {
		codes := make(map[string]llm.Kind)
		for _, f := range formats {
			maps.Copy(codes, f.words().codes)
		}
		for _, f := range formats {
			for kind, code := range f.properties().Errors {
				if _, ok := codes[code]; !ok {
					codes[code] = kind
				}
			}
		}
		return codes
	})
	return r
}

// find returns the format of that name.
func (r *registry) find(name string) (format, bool) {
	for _, f := range r.formats {
		if f.properties().Name == name {
			return f, true
		}
	}
	return nil, false
}

// kind returns the meaning of an error code.
func (r *registry) kind(code string) (kind llm.Kind, known bool) {
	kind, known = r.codes()[code]
	return kind, known
}

// interrupted reports whether a finish reason says that the answer is not complete.
func (r *registry) interrupted(word string) bool { return r.broken[word] }

// describe returns a tool that the vendor of one format defines as other models are told of it, and a warning about that.
func (r *registry) describe(t llm.ToolDef) (told llm.ToolDef, said llm.Warning, is bool) {
	for _, f := range r.formats {
		if d, ok := f.(toolDefiner); ok {
			if told, said, is = d.described(t); is {
				return told, said, true
			}
		}
	}
	return t, llm.Warning{}, false
}

// finishWord returns the vendor's finish reason of an answer: the one it came with, if that still says the same.
func (w *words) finishWord(f llm.Finish) string {
	if r, ok := w.reasons[f.Raw]; ok && r == f.Reason {
		return f.Raw
	}
	if word, ok := w.finish[f.Reason]; ok {
		return word
	}
	return w.finish[llm.Stop]
}

// usageOnRequest is a format whose servers send usage in streams only to clients that ask for it.
type usageOnRequest interface {
	askUsage(body []byte) (asking []byte, added bool)
	withoutUsage(events []byte) []byte
}

// toolDefiner is a format whose vendor defines tools that the client runs: its models know them by type, others are told
// their description and schema.
type toolDefiner interface {
	defines(t llm.ToolDef) bool
	told(t llm.ToolDef) llm.ToolDef
	described(t llm.ToolDef) (out llm.ToolDef, said llm.Warning, is bool)
}

// frameDetector is a format whose streams are binary frames.
type frameDetector interface {
	detectsFrame(f eventstream.Frame) bool
}

// hostAware is a format whose properties depend on the host beyond what [Properties] covers.
type hostAware interface {
	atHost(p Properties, q Quirks) Properties
}

// errorHeaders is a format whose vendor names the kind of an error in headers.
type errorHeaders interface {
	errorHeader(all *registry, err *llm.Error) http.Header
}
