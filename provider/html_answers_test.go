package provider_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestSuccessesThatAreNoAnswers checks that a success with a page, a text or nothing in the place of an answer is told as that, and not as
// a connection that failed; that what may be the words of a model, and a key, is not repeated; and that only an empty stream is asked for again.
func TestSuccessesThatAreNoAnswers(t *testing.T) {
	const secret = "sk-secret-0123456789"
	long := "<!doctype html>\n<html>\x1b[31m<title>Sign in</title>" + strings.Repeat("x", 5000)
	for name, test := range map[string]struct {
		mediaType, body string
		kind            llm.Kind
		says            string // "" says nothing of what came
	}{
		"a page":             {"text/html; charset=utf-8", long, llm.Malformed, `the server answered 200 without an answer of a model (text/html), which begins "<!doctype html> <html> [31m<title>Sign in</title>xxx`},
		"a text":             {"text/plain", "OK", llm.Malformed, `(text/plain), which begins "OK"`},
		"a page as JSON":     {"application/json", "<h1>Hello</h1>", llm.Malformed, `(application/json), which begins "<h1>Hello</h1>"`},
		"no type":            {"-", "Not here", llm.Malformed, `(no media type), which begins "Not here"`},
		"nothing":            {"text/html", "", llm.Malformed, `the server answered 200 with an empty body (text/html)`},
		"a key":              {"text/plain", "You said " + secret + " and no", llm.Malformed, `"You said`},
		"a key that is cut":  {"text/plain", strings.Repeat("a", 110) + secret, llm.Malformed, `"aaaa`},
		"half a document":    {"application/json", `{"choices": [{"message": {"content": "private`, llm.Malformed, ""},
		"another document":   {"application/json", `{"status": "private"}`, llm.Malformed, ""},
		"events without end": {"text/event-stream", "data: {\"private\":", llm.Malformed, ""},
	} {
		for _, format := range wire.Formats() {
			for _, whole := range []bool{false, true} {
				t.Run(name+" "+format, func(t *testing.T) {
					var asked atomic.Int64
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						asked.Add(1)
						w.Header()["Content-Type"] = []string{test.mediaType}
						if test.mediaType == "-" {
							w.Header()["Content-Type"] = nil
						}
						_, _ = w.Write([]byte(test.body))
					}))
					defer server.Close()
					c := &provider.Client{
						Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL, Wires: []string{format}}}, Route: provider.Native, Whole: whole,
						Key:   func(string) (string, error) { return secret, nil },
						Retry: provider.RetryPolicy{Attempts: 2, Initial: time.Millisecond},
					}
					m, err := c.Open("up/m")
					if err != nil {
						t.Fatal(err)
					}
					_, err = llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("hi")}})
					var came *provider.NoAnswerError
					if is := errors.As(err, &came); err == nil || is != (test.says != "") || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), secret[:6]) || strings.Contains(err.Error(), "private") || len(err.Error()) > 500 {
						t.Fatal(err)
					}
					if kind, again := llm.KindOf(err), asked.Load() > 1; test.says != "" && test.body != "" && (kind != test.kind || again) || again != kind.Transient() {
						t.Errorf("%v, asked again: %t", err, again)
					}
				})
			}
		}
	}
}

// TestChecksSeePages checks that a server whose list of models is a page is not well.
func TestChecksSeePages(t *testing.T) {
	for body, well := range map[string]bool{"<html>Sign in</html>": false, `{"data":[]}`: true, `[]`: true, "": true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL, Wires: []string{wire.Chat}}}}
		m, err := c.Open("up/m")
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.(*provider.Model).Check(t.Context())
		if well != (err == nil) || !well && (llm.KindOf(err) != llm.Malformed || !strings.Contains(err.Error(), `which begins "<html>Sign in</html>"`)) {
			t.Errorf("%q: %v", body, err)
		}
		server.Close()
	}
}
