package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// raw sends a request as it is and returns the answer as it is.
func raw(t *testing.T, url, format, model string, body []byte, stream bool) []byte {
	t.Helper()
	codec, _ := wire.For(format)
	resp, err := http.Post(url+roots[format]+"/"+codec.Path(model, stream), "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, b)
	}
	return b
}

// TestNothingToMendIsRelayed checks that a client gets the very bytes of an upstream of its own
// format, and the upstream those of the client, but for the name of the model.
func TestNothingToMendIsRelayed(t *testing.T) {
	var got []byte
	server := new(sim.Server)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(got))
		server.ServeHTTP(w, r)
	}))
	defer up.Close()
	const model = "sim/native+seed=7"
	vendors := map[string]provider.Vendor{}
	var routes []gateway.ModelRoute
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
		routes = append(routes, to("alias-"+format, "up-"+format+"/"+model))
	}
	client := &provider.Client{Vendors: vendors, Route: provider.Native}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: routes})
	for format := range roots {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", format, stream), func(t *testing.T) {
				codec, _ := wire.For(format)
				codec.Quirks.MaxTokens = "max_tokens" // as clients of chat servers say it
				req := question("alias-" + format)
				body, _, err := codec.EncodeRequest(req, stream)
				if err != nil {
					t.Fatal(err)
				}
				body = append([]byte("  "), body...) // which no encoder of ours writes
				through := raw(t, url, format, req.Model, body, stream)
				asked := bytes.Clone(got)
				named := bytes.Replace(body, []byte(`"alias-`+format+`"`), []byte(`"`+model+`"`), 1)
				if !bytes.Equal(asked, named) {
					t.Errorf("the upstream was asked\n%s\nwant\n%s", asked, named)
				}
				if direct := raw(t, up.URL, format, model, named, stream); !bytes.Equal(through, direct) {
					t.Errorf("the client got\n%s\nand without the gateway\n%s", through, direct)
				}
			})
		}
	}
}

// TestMendedInTheMiddle checks that a call in the text of an upstream of the client's own format
// reaches the client as a call, and the text before it once.
func TestMendedInTheMiddle(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+format+"/sim/hermes_json")}})
			got := ask(t, url, format, question("m"), stream)
			if got.err != nil {
				t.Fatal(format, got.err)
			}
			if calls := got.Message.Calls(); len(calls) != 1 || strings.Contains(got.Message.Text(), "tool_call") {
				t.Errorf("%s, stream=%t: %+v, text %q", format, stream, calls, got.Message.Text())
			}
		}
	}
}

// TestBrokenPromise checks that an answer without the call that was demanded ends in an error, also
// where the upstream speaks the client's format.
func TestBrokenPromise(t *testing.T) {
	for format := range roots {
		codec, _ := wire.For(format)
		if !codec.Properties().Has(wire.ChoiceRequired) {
			continue
		}
		for _, stream := range []bool{false, true} {
			url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+format+"/sim/echo")}})
			req := question("m")
			req.Choice.Mode = llm.MustCall
			got := ask(t, url, format, req, stream)
			if got.err == nil {
				t.Errorf("%s, stream=%t: %+v", format, stream, got.Message)
			}
		}
	}
}

// TestOneErrorInTheMiddle checks that a relayed answer that breaks off tells its client so once.
func TestOneErrorInTheMiddle(t *testing.T) {
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-messages/sim/native+fail=6"), to("cut", "up-messages/sim/native+cut=900")}})
	codec, _ := wire.For(wire.Messages)
	for _, model := range []string{"m", "cut"} {
		body, _, _ := codec.EncodeRequest(&llm.Request{Model: model, MaxTokens: 99, Messages: []llm.Message{llm.User("Hello there")}}, true)
		got := string(raw(t, url, wire.Messages, model, body, true))
		if n := strings.Count(got, "event: error"); n != 1 || strings.Count(got, "message_start\n") != 1 {
			t.Errorf("%s: %d errors in\n%s", model, n, got)
		}
	}
}
