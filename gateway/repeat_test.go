package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// posted sends a question, with the name of the request if it has one.
func posted(ctx context.Context, url, text, name string, stream bool) (status int, header http.Header, body string, err error) {
	post, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":%q}]}`, stream, text)))
	if err != nil {
		return 0, nil, "", err
	}
	if name != "" {
		post.Header.Set(gateway.IdempotencyHeader, name)
	}
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(b), err
}

// writing serves a tool that may change things, which waits for next where that is not nil.
func writing(t *testing.T, n *counter, next chan struct{}, begun chan struct{}) string {
	write := reading("write", "written", n)
	write.Effects = 0
	run := write.Call
	write.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		out, err := run(ctx, args)
		if next == nil {
			return out, err
		}
		begun <- struct{}{}
		select {
		case <-next:
			return out, err
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	tools := served(write)
	tools.Runner = &invoke.Runner{Policy: invoke.AllowAll}
	url, _ := staged(t, script(t, "call write {\"what\":\"x\"}", "text Done."), wire.Chat, tools)
	return url
}

// TestRepeatedWhileOpen: while a request may be changing something, the same words are refused with
// the id of the first; other words, and the same ones with a name of their own, are not. When it has
// its answer, they are a new request.
func TestRepeatedWhileOpen(t *testing.T) {
	for _, stream := range []bool{false, true} {
		var n counter
		next, begun := make(chan struct{}), make(chan struct{}, 9)
		url := writing(t, &n, next, begun)
		first := make(chan string, 1)
		var run string
		go func() {
			_, header, body, err := posted(t.Context(), url, "a", "", stream)
			run = header.Get(gateway.RequestHeader)
			first <- fmt.Sprint(err, body)
		}()
		<-begun
		status, header, body, err := posted(t.Context(), url, "a", "", stream)
		if err != nil || status != http.StatusConflict || header.Get("X-Should-Retry") != "false" || n.n() != 1 {
			t.Errorf("stream=%t: %v %d %s, %d runs", stream, err, status, body, n.n())
		}
		others := make(chan string, 2)
		for text, name := range map[string]string{"b": "", "a": "own"} {
			go func() {
				_, _, body, err := posted(t.Context(), url, text, name, stream)
				others <- fmt.Sprint(err, body)
			}()
			<-begun
		}
		close(next)
		for _, got := range []string{<-first, <-others, <-others} {
			if !strings.Contains(got, "Done.") {
				t.Errorf("stream=%t: %s", stream, got)
			}
		}
		if run == "" || !strings.Contains(body, run) {
			t.Errorf("stream=%t: %q does not name %s", stream, body, run)
		}
		if status, _, body, err := posted(t.Context(), url, "a", "", stream); err != nil || status != 200 || n.n() != 4 {
			t.Errorf("stream=%t: a new request: %v %d %s, %d runs", stream, err, status, body, n.n())
		}
	}
}

// TestRepeatedAfterLoss: a request whose client went away after a tool may have changed something
// is not run again by the same words or the same name, only by another name.
func TestRepeatedAfterLoss(t *testing.T) {
	for _, name := range []string{"", "mine"} {
		var n counter
		next, begun := make(chan struct{}), make(chan struct{}, 9)
		url := writing(t, &n, next, begun)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _, _, _ = posted(ctx, url, "a", name, true)
		}()
		<-begun
		cancel()
		<-gone
		if status, _, body, err := posted(t.Context(), url, "a", name, true); err != nil || status != http.StatusConflict || n.n() != 1 {
			t.Errorf("%q: %v %d %s, %d runs", name, err, status, body, n.n())
		}
		close(next)
		if status, _, body, err := posted(t.Context(), url, "a", "another", true); err != nil || status != 200 || !strings.Contains(body, "Done.") || n.n() != 2 {
			t.Errorf("%q: with another name: %v %d %s, %d runs", name, err, status, body, n.n())
		}
	}
}

// TestRepeatedByName: a request of the same name is given the same answer, byte for byte, and nothing is
// run; a name that another request has is refused.
func TestRepeatedByName(t *testing.T) {
	for _, stream := range []bool{false, true} {
		var n counter
		url := writing(t, &n, nil, nil)
		_, first, body, err := posted(t.Context(), url, "a", "mine", stream)
		if err != nil || n.n() != 1 {
			t.Fatal(err, body)
		}
		status, header, again, err := posted(t.Context(), url, "a", "mine", stream)
		if err != nil || status != 200 || again != body || n.n() != 1 || header.Get(gateway.ReplayHeader) != first.Get(gateway.RequestHeader) || header.Get("Content-Type") != first.Get("Content-Type") {
			t.Errorf("stream=%t: %v %d %q, %d runs; first %q; %v", stream, err, status, again, n.n(), body, header)
		}
		if status, _, body, err := posted(t.Context(), url, "b", "mine", stream); err != nil || status != http.StatusUnprocessableEntity || n.n() != 1 {
			t.Errorf("stream=%t: other words: %v %d %s", stream, err, status, body)
		}
		if status, _, body, err := posted(t.Context(), url, "a", strings.Repeat("x", 256), stream); err != nil || status != 400 || n.n() != 1 {
			t.Errorf("stream=%t: a long name: %v %d %s", stream, err, status, body)
		}
	}
}

// TestNamesThatAreNone: a request whose name is empty, or that has two, is refused with words that say so, and nothing is run; the same
// name twice is one.
func TestNamesThatAreNone(t *testing.T) {
	for _, test := range []struct {
		names  []string
		status int
		says   string
	}{
		{[]string{""}, 400, "Idempotency-Key is empty"}, {[]string{"  \t"}, 400, "Idempotency-Key is empty"}, {[]string{"a", ""}, 400, "is empty"},
		{[]string{"a", "b"}, 400, "more than once, with different names"}, {[]string{"a", "A"}, 400, "different names"}, {[]string{strings.Repeat("x", 256)}, 400, "longer than 255 bytes"},
		{[]string{"a", "a"}, 200, "Done."}, {[]string{"a"}, 200, "Done."}, {nil, 200, "Done."},
	} {
		var n counter
		url := writing(t, &n, nil, nil)
		post, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Write."}]}`))
		if err != nil {
			t.Fatal(err)
		}
		post.Header[gateway.IdempotencyHeader] = test.names
		resp, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(string(b), test.says) || n.n() != map[int]int{200: 1}[test.status] {
			t.Errorf("%q: %d %s, %d runs", test.names, resp.StatusCode, b, n.n())
		}
	}
}

// TestReadingRepeats: requests whose tools only read may come as often as they like.
func TestReadingRepeats(t *testing.T) {
	var n counter
	begun, next := make(chan struct{}, 9), make(chan struct{})
	look := reading("look", "found", &n)
	look.Call = func(context.Context, json.RawMessage) (tool.Output, error) {
		begun <- struct{}{}
		<-next
		return tool.Text("found"), nil
	}
	url, _ := staged(t, script(t, "call look {\"what\":\"x\"}", "text Done."), wire.Chat, served(look))
	done := make(chan int, 2)
	for range 2 {
		go func() {
			status, _, _, _ := posted(t.Context(), url, "a", "", true)
			done <- status
		}()
		<-begun
	}
	close(next)
	if a, b := <-done, <-done; a != 200 || b != 200 {
		t.Errorf("%d and %d", a, b)
	}
}
