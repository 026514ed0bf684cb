package gateway_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// client is one way to call the gateway.
type client struct {
	name, format string
	prompt       bool // uses Ollama's endpoint for prompts, which does not support tools
}

// clients are all ways: each format, and Ollama's second endpoint.
var clients = []client{
	{name: "chat", format: wire.Chat}, {name: "responses", format: wire.Responses}, {name: "messages", format: wire.Messages},
	{name: "gemini", format: wire.Gemini}, {name: "converse", format: wire.Converse}, {name: "ollama", format: wire.Ollama},
	{name: "generate", format: wire.Ollama, prompt: true},
}

// post sends a request.
func (c client) post(ctx context.Context, url string, req *llm.Request, stream bool) (*http.Response, error) {
	codec, _ := wire.For(c.format)
	codec.Quirks.MaxTokens = "max_tokens" // as clients of Chat servers send it, so it can be relayed
	body, _, err := codec.EncodeRequest(req, stream)
	path := roots[c.format] + "/" + codec.Path(req.Model, stream)
	if c.prompt {
		body, err = json.Marshal(map[string]any{"model": req.Model, "prompt": req.Messages[len(req.Messages)-1].Text(), "stream": stream})
		path = "/api/generate"
	}
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, "POST", url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	post.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(post)
}

// told is a reply with everything that the gateway sends in addition to the answer.
type told struct {
	reply
	body     string
	warnings string // in the header, in comments and in trailers
}

// ask sends a request and reads the whole answer.
func (c client) ask(t *testing.T, url string, req *llm.Request, stream bool) told {
	t.Helper()
	resp, err := c.post(t.Context(), url, req, stream)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	codec, _ := wire.For(c.format)
	out := told{reply: reply{status: resp.StatusCode, header: resp.Header, Response: &llm.Response{}}}
	body, broken := io.ReadAll(resp.Body)
	out.body = string(body)
	out.warnings = fmt.Sprint(resp.Header.Values(exchange.WarningHeader), resp.Trailer.Values(exchange.WarningHeader), comment.FindAllString(out.body, -1))
	var build llm.Builder
	switch {
	case resp.StatusCode != http.StatusOK:
		out.err = codec.DecodeError(resp.StatusCode, resp.Header, body)
		return out
	case c.prompt:
		out.err = readPrompted(bytes.NewReader(body), &build)
	case !stream:
		if out.err = broken; broken == nil {
			out.Response, out.err = codec.DecodeResponse(body)
		}
		return out
	default:
		for ev, err := range codec.DecodeStream(bytes.NewReader(body)) {
			if err != nil {
				out.err = err
				break
			}
			build.Add(ev)
		}
	}
	out.Response = build.Response()
	return out
}

// comment is a comment line of a stream.
var comment = regexp.MustCompile(`(?m)^: .+$`)

// readPrompted reads the lines of a generate answer.
func readPrompted(r io.Reader, b *llm.Builder) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var line prompted
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return err
		}
		if line.Error != "" {
			return errors.New(line.Error)
		}
		if line.Response != "" {
			b.Add(llm.TextDelta{Text: line.Response})
		}
		if line.Done {
			b.Add(llm.Finish{Reason: map[string]llm.Reason{"stop": llm.Stop, "length": llm.Length}[line.DoneReason], Model: line.Model})
			return in.Err()
		}
	}
	return cmp.Or(in.Err(), io.ErrUnexpectedEOF)
}

// paths are the ways of an answer to its client: relayed, translated, and from a model that is taught its tools.
var paths = []string{"relay", "translate", "emulated"}

// station is an upstream server for every format that counts its requests.
type station struct {
	name   string
	server *httptest.Server
	sim    sim.Server
	// Before is called before each request, unless it is nil. If it returns true, it has sent the response.
	before func(http.ResponseWriter, *http.Request) bool

	mu    sync.Mutex
	asked []string // the requested models
}

// newStation starts an upstream with a model.
func newStation(t *testing.T, name string, m llm.Model) *station {
	s := &station{name: name, sim: sim.Server{Model: m, Unknown: "sim/native"}}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// ServeHTTP serves one request.
func (s *station) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if asks(r) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var says struct{ Model string }
		_ = json.Unmarshal(body, &says)
		for _, at := range []string{"/models/", "/model/"} {
			if _, rest, ok := strings.Cut(r.URL.Path, at); ok && says.Model == "" {
				says.Model = strings.FieldsFunc(rest, func(c rune) bool { return c == ':' || c == '/' })[0]
			}
		}
		s.mu.Lock()
		s.asked = append(s.asked, says.Model)
		s.mu.Unlock()
	}
	if s.before != nil && s.before(w, r) {
		return
	}
	s.sim.ServeHTTP(w, r)
}

// asks reports whether a request is a model request, as opposed to a query about models.
func asks(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path != "/api/show" }

// take returns the models requested since the last call.
func (s *station) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// n returns the number of requests since the last take.
func (s *station) n() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// opens opens models of the stations by "NAME-FORMAT/MODEL". Names that begin with "text-" open models that must be
// taught their tools.
func opens(retry provider.RetryPolicy, transport *http.Client, stations ...*station) func(string, gateway.Way) (llm.Model, error) {
	vendors := map[string]provider.Vendor{}
	for _, s := range stations {
		for format, root := range roots {
			vendors[s.name+"-"+format] = provider.Vendor{BaseURL: s.server.URL + root, Wires: []string{format}}
		}
	}
	native := &provider.Client{Vendors: vendors, Retry: retry, Route: provider.Native, HTTP: transport}
	text := &provider.Client{Vendors: vendors, Retry: retry, Route: provider.Prompted, Style: "hermes", HTTP: transport}
	return func(id string, _ gateway.Way) (llm.Model, error) {
		if rest, ok := strings.CutPrefix(id, "text-"); ok {
			return text.Open(rest)
		}
		return native.Open(id)
	}
}

// via returns the id of a station's model on a path for a client.
func (c client) via(path, station string) string {
	other := wire.Messages
	if c.format == other {
		other = wire.Chat
	}
	return map[string]string{"relay": station + "-" + c.format, "translate": station + "-" + other, "emulated": "text-" + station + "-" + other}[path] + "/m"
}
