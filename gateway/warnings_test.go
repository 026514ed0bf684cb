package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/wire"
)

// TestLongModelNamesAreShortened checks that a name as long as a body is neither repeated in the response nor fills the
// log.
func TestLongModelNamesAreShortened(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	for format := range roots {
		resp, body := g.send(t, format, question(strings.Repeat("m", 50_000)), false, bearerOf(key))
		if resp.StatusCode < 400 || len(body) > 10_000 {
			t.Errorf("%s: %d, %d bytes", format, resp.StatusCode, len(body))
		}
	}
	if n := len(g.told()); n > 100_000 {
		t.Errorf("the log has %d bytes", n)
	}
}

// TestKeysWithoutBearer checks that a key without the word Bearer is neither repeated nor logged.
func TestKeysWithoutBearer(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	resp, body := g.send(t, wire.Chat, question("chat"), false, func(r *http.Request) { r.Header.Set("Authorization", key) })
	if resp.StatusCode != 401 || !strings.Contains(body, "lacks the word Bearer") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	// Six characters: a random id in the log contains four by chance, now and then.
	if secret := key[len(key)-26:][:6]; strings.Contains(body+g.told(), secret) {
		t.Errorf("a part of the key is told: %s %s", body, g.told())
	}
}

// TestRoutesThatAKeyMayNotUse checks that such a route is refused, also if it falls back to an allowed one.
func TestRoutesThatAKeyMayNotUse(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{Routes: []string{"chat"}})
	if resp, body := g.send(t, wire.Chat, question("falls"), false, bearerOf(key)); resp.StatusCode != 403 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := g.send(t, wire.Chat, question("chat"), false, bearerOf(key)); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestModelNamesWithQueries checks that a route must not lead to a name with a query, which may contain a key.
func TestModelNamesWithQueries(t *testing.T) {
	_, err := gateway.New(gateway.Setup{Open: opening(upstreams(t)), Routes: []gateway.ModelRoute{to("m", "up-chat/x?key=sk-1")}})
	if err == nil || !strings.Contains(err.Error(), "no ?") || strings.Contains(err.Error(), "sk-1") {
		t.Error(err)
	}
}

// TestEncodedBodies checks that a compressed body is refused, and that the error names the encoding.
func TestEncodedBodies(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	resp, body := g.send(t, wire.Chat, question("chat"), false, func(r *http.Request) {
		bearerOf(key)(r)
		r.Header.Set("Content-Encoding", "gzip")
	})
	if resp.StatusCode != 415 || !strings.Contains(body, "Content-Encoding: gzip") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestWarningsWithoutComments checks that warnings in the middle of a stream are sent as trailers if the format has no
// comments.
func TestWarningsWithoutComments(t *testing.T) {
	client := saying(t, `{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"town\":1}"}}]}`, "tool_calls")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, format := range []string{wire.Ollama, wire.Converse, wire.Gemini} {
		codec, _ := wire.For(format)
		body, _, _ := codec.EncodeRequest(question("m"), true)
		resp, err := http.Post(url+roots[format]+"/"+codec.Path("m", true), "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if got := fmt.Sprint(resp.Header.Values(exchange.WarningHeader), resp.Trailer.Values(exchange.WarningHeader)); !strings.Contains(got, "does not fit the schema") {
			t.Errorf("%s: warnings %s", format, got)
		}
	}
}

// TestContinuedAnswerCausesNoWarning checks that a conversation continued by id loses nothing, and that no warning claims a loss.
func TestContinuedAnswerCausesNoWarning(t *testing.T) {
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages} {
		up := newStation(t, "up", says("Fine."))
		var last string
		up.before = func(_ http.ResponseWriter, r *http.Request) bool {
			b, _ := io.ReadAll(r.Body)
			last = string(b)
			r.Body = io.NopCloser(strings.NewReader(last))
			return false
		}
		url := serve(t, gateway.Setup{Open: opens(once, nil, up), Routes: []gateway.ModelRoute{to("m", "up-"+format+"/m")}})
		_, body, _ := sendTo(t, "POST", url+"/v1/responses", `{"model":"m","input":"the first question"}`)
		_, id, _ := strings.Cut(body, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		status, body, warnings := sendTo(t, "POST", url+"/v1/responses", `{"model":"m","input":"and?","previous_response_id":"`+id+`"}`)
		if status != 200 || strings.Contains(warnings, "previous_response_id") || !strings.Contains(body, `"previous_response_id":"`+id) {
			t.Errorf("over %s: status %d, told %q: %s", format, status, warnings, body)
		}
		if !strings.Contains(last, "the first question") || strings.Contains(last, "previous_response_id") {
			t.Errorf("over %s: the upstream was asked %s", format, last)
		}
	}
}
