package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// TestRepeatedMembers checks that no request reaches an upstream that has a member twice, at its top or within, or
// that spells one that counts in another way: the upstream might read another than was checked. In each
// format, over an upstream of the same format, which is asked with the client's own bytes, and of another.
func TestRepeatedMembers(t *testing.T) {
	var asked atomic.Int64
	server := new(sim.Server)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		server.ServeHTTP(w, r)
	}))
	defer up.Close()
	vendors := map[string]provider.Vendor{}
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
	}
	client := &provider.Client{Vendors: vendors, Route: provider.Native, Retry: provider.Retry{Attempts: -1}}
	for format := range roots {
		other := wire.Chat
		if format == other {
			other = wire.Messages
		}
		url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("same", "up-"+format+"/sim/native"), to("other", "up-"+other+"/sim/native")}})
		for _, model := range []string{"same", "other"} {
			codec, _ := wire.For(format)
			body, _, err := codec.EncodeRequest(question(model), false)
			if err != nil {
				t.Fatal(err)
			}
			post := func(b []byte) (int, error) {
				resp, err := http.Post(url+roots[format]+"/"+codec.Path(model, false), "application/json", bytes.NewReader(b))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				answer, _ := io.ReadAll(resp.Body)
				if resp.StatusCode == http.StatusOK {
					return resp.StatusCode, nil
				}
				return resp.StatusCode, codec.DecodeError(resp.StatusCode, resp.Header, answer)
			}
			if status, err := post(body); status != 200 {
				t.Fatalf("%s over %s: %d %v", format, model, status, err)
			}
			asked.Store(0)
			for what, b := range repeated(t, body) {
				status, err := post(b)
				if status != 400 || llm.KindOf(err) != llm.Invalid || !strings.Contains(fmt.Sprint(err), "of the request has to be written") && !strings.Contains(fmt.Sprint(err), "twice") && !strings.Contains(what, "only") {
					t.Errorf("%s over %s: %s: %d %v", format, model, what, status, err)
				}
			}
			if n := asked.Load(); n > 0 {
				t.Errorf("%s over %s: the upstream was asked %d times", format, model, n)
			}
		}
	}
}

// repeated are bodies in which one member stands twice, or in another case.
func repeated(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	rest := string(bytes.TrimSpace(body)[1:])
	for name, value := range members {
		out[name+" twice"] = fmt.Appendf(nil, `{%q:%s,%s`, name, value, rest)
		out[name+" in another case"] = fmt.Appendf(nil, `{%q:%s,%s`, strings.ToUpper(name), value, rest)
		out[name+" escaped"] = fmt.Appendf(nil, `{"\u%04x%s":%s,%s`, name[0], name[1:], value, rest)
		switch name {
		case "model", "messages", "input", "contents", "tools":
			out[name+" only in another case"] = bytes.Replace(body, fmt.Appendf(nil, "%q:", name), fmt.Appendf(nil, "%q:", strings.ToUpper(name)), 1)
		}
	}
	for what, change := range map[string][2]string{
		"role of a message": {`"role":"user"`, `"role":"user","role":"user"`},
		"name of a tool":    {`"name":"get_weather"`, `"name":"harmless","name":"get_weather"`},
	} {
		if b := strings.Replace(string(body), change[0], change[1], 1); b != string(body) {
			out[what] = []byte(b)
		} else {
			t.Errorf("there is no %s in %s", change[0], body)
		}
	}
	return out
}
