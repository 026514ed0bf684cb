package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// faultValues are the faults of the simulator as they are tried, some in more than one way.
var faultValues = map[string][]string{
	"429": {"429", "429=1s"}, "500": {"500"}, "503": {"503"}, "401": {"401"}, "no-tools": {"no-tools"}, "times": {"503+times=1"},
	"cut": {"cut=1", "cut=60", "cut=300", "cut=700"}, "stall": {"stall=5ms"}, "slow-args": {"slow-args=1ms"}, "slow": {"slow=1ms"},
	"fail": {"fail=1", "fail=3", "fail=8"}, "garbage": {"garbage"}, "wrong-index": {"wrong-index"}, "wrong-finish": {"wrong-finish"},
	"think": {"think"}, "strict": {"strict"}, "window": {"window=3"}, "length": {"length"}, "ignore-choice": {"ignore-choice"},
	"think-call": {"think-call"}, "huge": {"huge=20000"}, "seed": {"seed=7"},
}

// ends are what a stream of each format ends with: one of these, or an error in the format's words.
var ends = map[string][]string{
	wire.Chat: {"data: [DONE]", `{"error":`}, wire.Responses: {"response.completed", "response.incomplete", "response.failed", `"type":"error"`},
	wire.Messages: {"message_stop", "event: error"}, wire.Gemini: {`"finishReason"`, `"error":`},
	wire.Ollama: {`"done":true`, `"error":`}, wire.Converse: {"messageStop", "exception"},
}

// TestFaults checks that whatever an upstream does wrong, a client of any format gets a well-formed
// error or a well-formed answer, that nothing of what cannot be read is an error of the gateway's own
// (500), and that neither goroutines nor connections to the upstream are left.
func TestFaults(t *testing.T) {
	before := goleak.IgnoreCurrent()
	up := &connections{Server: httptest.NewUnstartedServer(new(sim.Server))}
	up.Config.ConnState = up.state
	up.Start()
	transport := &http.Transport{}
	vendors := map[string]provider.Vendor{}
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
	}
	client := &provider.Client{Vendors: vendors, HTTP: &http.Client{Transport: transport}, Retry: provider.Retry{Attempts: -1}, Route: provider.Native}
	var routes []gateway.ModelRoute
	for format := range roots {
		routes = append(routes, gateway.ModelRoute{Model: format + "/*", Upstreams: []gateway.Upstream{{Model: "up-" + format + "/sim/*"}}})
	}
	g, err := gateway.New(gateway.Setup{Open: opening(client), Routes: routes})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	n := 0
	for _, fault := range sim.Faults() {
		specs := faultValues[fault.Name]
		if len(specs) == 0 {
			t.Errorf("the fault %s is not tried: it needs a row in faultValues", fault.Name)
		}
		for _, spec := range specs {
			for format := range roots {
				for _, upstream := range slices.Compact(slices.Sorted(slices.Values([]string{format, wire.Chat, wire.Messages, wire.Gemini}))) {
					for _, stream := range []bool{false, true} {
						n++
						faulty{t, server.URL, format, upstream, spec, stream}.check()
					}
				}
			}
		}
	}
	server.Close()
	transport.CloseIdleConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	up.none(t)
	up.Close()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	t.Logf("%d answers of faulty upstreams", n)
}

// faulty is a question to an upstream with a fault.
type faulty struct {
	t                           *testing.T
	url, format, upstream, spec string
	stream                      bool
}

func (f faulty) check() {
	codec, _ := wire.For(f.format)
	req := question(f.upstream + "/native+" + f.spec)
	body, _, err := codec.EncodeRequest(req, f.stream)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := http.Post(f.url+roots[f.format]+"/"+codec.Path(req.Model, f.stream), "application/json", bytes.NewReader(body))
	if err != nil {
		f.t.Errorf("%+v: %v", f, err)
		return
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if problem := f.wrong(codec, resp, b, err); problem != "" {
		f.t.Errorf("%s over %s, %s, stream=%t: %s\nstatus %d: %.600q", f.format, f.upstream, f.spec, f.stream, problem, resp.StatusCode, b)
	}
}

// wrong returns what is wrong with an answer, if anything is.
func (f faulty) wrong(codec wire.Codec, resp *http.Response, b []byte, err error) string {
	switch {
	case err != nil:
		return "the connection broke: " + err.Error()
	case resp.StatusCode == http.StatusInternalServerError && f.spec != "500" && !strings.HasPrefix(f.spec, "fail"):
		return "the error is the gateway's own"
	case resp.StatusCode != http.StatusOK:
		if failed := codec.DecodeError(resp.StatusCode, resp.Header, b); !json.Valid(b) || failed == nil || failed.Err.Error() == "" {
			return "the error is not well-formed"
		}
	case !f.stream:
		if _, err := codec.DecodeResponse(b); err != nil {
			return err.Error()
		}
	default:
		for _, end := range ends[f.format] {
			if strings.Contains(string(b), end) {
				return ""
			}
		}
		return "the stream has no end"
	}
	return ""
}

// connections are those to a server.
type connections struct {
	*httptest.Server
	mu   sync.Mutex
	open map[net.Conn]http.ConnState
}

func (c *connections) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = make(map[net.Conn]http.ConnState)
	}
	if s == http.StateClosed || s == http.StateHijacked {
		delete(c.open, conn)
		return
	}
	c.open[conn] = s
}

// none waits until no connection is left.
func (c *connections) none(t *testing.T) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		left := fmt.Sprint(c.open)
		n := len(c.open)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d connections to the upstream are left: %s", n, left)
			return
		}
	}
}
