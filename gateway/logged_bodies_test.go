package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// The secrets of these tests: one known by its value, and one recognized by its form.
const (
	vendorSecret = "quite-unlike-a-key"
	formSecret   = "sk-ant-api03-Q1w2e3r4t5y6u7i8o9p0"
)

// logging starts a gateway that logs the bodies of the route kept, but not of the route plain.
func logging(t *testing.T, answer string, more func(*gateway.Setup)) *guarded {
	t.Helper()
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server := sim.Server{Model: script(t, answer)}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	routes := []gateway.ModelRoute{to("plain", "up-chat/sim/native")}
	for format, root := range roots {
		client.Vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
		r := to("kept-"+format, "up-"+format+"/sim/native")
		r.LogBodies = true
		routes = append(routes, r)
	}
	fails := to("fails", "up-chat/sim/native+status=429")
	fails.LogBodies = true
	routes = append(routes, fails)
	setup := gateway.Setup{Open: opening(client), Routes: routes, Access: g.book, Log: slog.New(slog.NewTextHandler(g, nil)),
		Secrets: &journal.Secrets{Values: []string{vendorSecret}}}
	if more != nil {
		more(&setup)
	}
	g.url = serve(t, setup)
	return g
}

// bodies returns the logged bodies of the last answered request.
func (g *guarded) bodies(t *testing.T) (access.Bodies, error) {
	t.Helper()
	log, err := g.book.Log(t.Context(), 1)
	if err != nil || len(log) != 1 {
		t.Fatal(log, err)
	}
	return g.book.Bodies(t.Context(), log[0].ID)
}

// TestBodiesInTheLog sends requests in each format over each, with and without streams. The bodies of request and
// answer must be stored without secrets, and must not be in the lines for standard error.
func TestBodiesInTheLog(t *testing.T) {
	g := logging(t, "text The key is "+formSecret+" and "+vendorSecret+", good bye.\n", nil)
	key := g.key(t, access.Key{Team: "red"})
	for format := range roots {
		for upstream := range roots {
			for _, stream := range []bool{false, true} {
				name := fmt.Sprintf("%s over %s, in pieces: %t", format, upstream, stream)
				req := &llm.Request{Model: "kept-" + upstream, MaxTokens: 99, Messages: []llm.Message{llm.User("Greetings. Authorization: Bearer " + key + ", " + vendorSecret + "! Password: abcdefgh12")}}
				resp, body := g.send(t, format, req, stream, bearerOf(key))
				if resp.StatusCode != 200 || !strings.Contains(body, "Q1w2") && !stream {
					t.Fatalf("%s: %s %s", name, resp.Status, body)
				}
				kept, err := g.bodies(t)
				if err != nil || kept.ID != resp.Header.Get(exchange.RequestHeader) || kept.Team != "red" {
					t.Fatalf("%s: %+v, %v", name, kept, err)
				}
				if !strings.Contains(kept.Request.Text, "Greetings. ") || !strings.Contains(kept.Answer.Text, "The key is [stripped:") || !strings.Contains(kept.Answer.Text, "good bye.") {
					t.Errorf("%s: %+v", name, kept)
				}
				if stream != strings.Contains(kept.Answer.Note, "in pieces") || kept.Answer.Size != int64(len(body)) || kept.Request.Size == 0 {
					t.Errorf("%s: %+v, %d bytes were sent", name, kept, len(body))
				}
				all, _ := json.Marshal(kept)
				for _, secret := range []string{key[14:], vendorSecret, formSecret[12:], "abcdefgh12"} {
					if bytes.Contains(all, []byte(secret)) {
						t.Errorf("%s: %q is kept: %s", name, secret, all)
					}
				}
			}
		}
	}
	if told := g.told(); strings.Contains(told, "Greetings") || strings.Contains(told, "good bye") {
		t.Error("bodies stand in the lines of the log")
	}
}

// TestBodiesAreOffByDefault checks that bodies are stored only for routes with this setting, only for clients with a
// key, and only as long as the log.
func TestBodiesAreOffByDefault(t *testing.T) {
	g := logging(t, "text Hello.\n", nil)
	key := g.key(t, access.Key{})
	ask := func(model string) {
		t.Helper()
		if resp, body := g.send(t, wire.Chat, &llm.Request{Model: model, Messages: []llm.Message{llm.User("Hi")}}, false, bearerOf(key)); resp.StatusCode != 200 {
			t.Fatal(resp.Status, body)
		}
	}
	ask("plain")
	if kept, err := g.bodies(t); !errors.Is(err, access.ErrNotThere) {
		t.Errorf("%+v, %v", kept, err)
	}
	ask("kept-chat")
	if _, err := g.bodies(t); err != nil {
		t.Error(err)
	}
	log, _ := g.book.Log(t.Context(), 1)
	if err := g.book.Clean(t.Context(), -time.Hour); err != nil {
		t.Fatal(err)
	}
	if kept, err := g.book.Bodies(t.Context(), log[0].ID); !errors.Is(err, access.ErrNotThere) {
		t.Errorf("the log is forgotten, and %+v is not, %v", kept, err)
	}
	if resp, _ := g.send(t, wire.Chat, &llm.Request{Model: "kept-chat", Messages: []llm.Message{llm.User("Hi")}}, false, bearerOf("tp-nobody")); resp.StatusCode != 401 {
		t.Error(resp.Status)
	}
}

// TestBodiesAreBounded checks that a long body is stored as its beginning and end with the omitted size, and that files
// are stored as their length.
func TestBodiesAreBounded(t *testing.T) {
	g := logging(t, "text "+strings.Repeat("word ", 5000)+"the end.\n", func(s *gateway.Setup) { s.MaxKeptBody = 2000 })
	key := g.key(t, access.Key{})
	for _, stream := range []bool{false, true} {
		req := &llm.Request{Model: "kept-messages", MaxTokens: 60_000, Messages: []llm.Message{llm.User(
			"The beginning. " + strings.Repeat("é ", 4000) + formSecret + strings.Repeat(" é", 4000) + " The question. data:image/png;base64," + strings.Repeat("iVBORw0KGgo", 1000))}}
		_, body := g.send(t, wire.Chat, req, stream, bearerOf(key))
		kept, err := g.bodies(t)
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string]access.KeptBody{"request": kept.Request, "answer": kept.Answer} {
			if len(b.Text) > 2100 || !strings.Contains(b.Text, " bytes left out] … ") || !strings.Contains(b.Note, "the middle is left out") || b.Size < 10_000 {
				t.Errorf("%s: %d bytes: %+v", name, len(b.Text), b)
			}
		}
		if !strings.Contains(kept.Request.Text, "The beginning.") || !strings.Contains(kept.Request.Text, "The question.") || strings.Contains(kept.Request.Text, "iVBORw0KGgo") || !strings.Contains(kept.Request.Note, "11000 bytes of files") {
			t.Errorf("%+v", kept.Request)
		}
		if !strings.Contains(kept.Answer.Text, "the end.") || kept.Answer.Size != int64(len(body)) {
			t.Errorf("%+v of %d bytes", kept.Answer, len(body))
		}
	}
}

// TestBodiesOfFailures checks that the error sent to the client is stored.
func TestBodiesOfFailures(t *testing.T) {
	g := logging(t, "text Hello.\n", nil)
	key := g.key(t, access.Key{})
	for _, stream := range []bool{false, true} {
		resp, body := g.send(t, wire.Chat, &llm.Request{Model: "fails", Messages: []llm.Message{llm.User("Hi")}}, stream, bearerOf(key))
		kept, err := g.bodies(t)
		if err != nil || resp.StatusCode == 200 || !strings.Contains(kept.Answer.Text, `"error"`) || !strings.Contains(kept.Answer.Note, "failed: ") || kept.Answer.Size != int64(len(body)) {
			t.Errorf("%s %s: %+v, %v", resp.Status, body, kept, err)
		}
	}
}

// TestBodiesOfOtherEndpoints checks that only type and length are stored for forms and audio.
func TestBodiesOfOtherEndpoints(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/speech") {
			w.Header().Set("Content-Type", "audio/mpeg")
			_, _ = w.Write([]byte{0xff, 0xfb, 0, 1, 2})
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":"heard"}`)
	}))
	t.Cleanup(up.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL, Wires: []string{wire.Chat}}}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	g.url = serve(t, gateway.Setup{Open: opening(c), Forward: c.Forwarder, Access: g.book,
		Routes: []gateway.ModelRoute{{Model: "a", Upstreams: []gateway.Upstream{{Model: "up/a"}}, Pass: []string{"audio"}, LogBodies: true}}})
	key := g.key(t, access.Key{})
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("model", "a")
	part, _ := w.CreateFormFile("file", "a.mp3")
	_, _ = part.Write([]byte("spoken words"))
	_ = w.Close()
	for _, c := range []struct{ path, mediaType, body, asked, answered string }{
		{"/v1/audio/transcriptions", w.FormDataContentType(), form.String(), "", `{"text":"heard"}`},
		{"/v1/audio/speech", "application/json", `{"model": "a", "input": "say it"}`, `{"model":"a","input":"say it"}`, ""},
	} {
		post, _ := http.NewRequest("POST", g.url+c.path, strings.NewReader(c.body))
		post.Header.Set("Content-Type", c.mediaType)
		bearerOf(key)(post)
		resp, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		kept, err := g.bodies(t)
		if err != nil || kept.Request.Text != c.asked || kept.Answer.Text != c.answered || kept.Request.Size != int64(len(c.body)) {
			t.Errorf("%s: %+v, %v", c.path, kept, err)
		}
		for text, b := range map[string]access.KeptBody{c.asked: kept.Request, c.answered: kept.Answer} {
			if (text == "") != strings.Contains(b.Note, "neither JSON nor plain text") || b.Type == "" || b.Size == 0 {
				t.Errorf("%s: %+v", c.path, b)
			}
		}
	}
}

// TestBodiesAreForAdministrators checks that clients of any team cannot read stored bodies.
func TestBodiesAreForAdministrators(t *testing.T) {
	g := logging(t, "text Hello.\n", nil)
	key := g.key(t, access.Key{})
	g.send(t, wire.Chat, &llm.Request{Model: "kept-chat", Messages: []llm.Message{llm.User("Greetings")}}, false, bearerOf(key))
	kept, err := g.bodies(t)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := gateway.Administration{Book: g.book, Key: adminKey}.Handler()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(admin)
	t.Cleanup(server.Close)
	for _, c := range []struct {
		base, key, id string
		want          int
	}{{server.URL, adminKey, kept.ID, 200}, {server.URL, adminKey, "req_none", 404}, {server.URL, key, kept.ID, 401}, {g.url, key, kept.ID, 404}, {g.url, adminKey, kept.ID, 401}} {
		get, _ := http.NewRequest("GET", c.base+"/admin/requests/"+c.id, nil)
		bearerOf(c.key)(get)
		resp, err := http.DefaultClient.Do(get)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.want || (c.want == 200) != strings.Contains(string(b), "Greetings") {
			t.Errorf("%+v: %s %s", c, resp.Status, b)
		}
	}
}

// TestBodiesOfReplayedAnswers checks that a cached document is stored again, and that for a cached stream the entry refers to
// the first request.
func TestBodiesOfReplayedAnswers(t *testing.T) {
	g := logging(t, "text Hello.\n", func(s *gateway.Setup) {
		for i := range s.Routes {
			s.Routes[i].Cache = gateway.Cache{For: time.Minute}
		}
	})
	key := g.key(t, access.Key{})
	for _, stream := range []bool{false, true} {
		for _, want := range []string{"miss", "hit"} {
			resp, body := g.send(t, wire.Chat, &llm.Request{Model: "kept-chat", Messages: []llm.Message{llm.User("Hi")}}, stream, bearerOf(key))
			kept, err := g.bodies(t)
			if err != nil || resp.Header.Get("Toolpost-Cache") != want || kept.Answer.Size != int64(len(body)) {
				t.Fatalf("%s: %+v, %v", resp.Header, kept, err)
			}
			if again := stream && want == "hit"; again == strings.Contains(kept.Answer.Text, "Hello.") || again != strings.Contains(kept.Answer.Note, "given before") {
				t.Errorf("%s, in pieces %t: %+v", want, stream, kept.Answer)
			}
		}
	}
}
