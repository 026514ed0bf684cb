package mcpbridge_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// hostileLines are what clients should not send by a pipe, and what must be in the
// answer. An empty text demands an orderly end only.
var hostileLines = map[string]struct{ lines, want string }{
	"no JSON":                         {"hello", ""},
	"half an object":                  {`{"jsonrpc":"2.0","id":2,`, ""},
	"a number":                        {"42", ""},
	"nothing but an id":               {`{"jsonrpc":"2.0","id":2}`, ""},
	"another version":                 {`{"jsonrpc":"1.0","id":2,"method":"tools/list"}`, ""},
	"an id that is an object":         {`{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}`, ""},
	"a frame that is too long":        {`{"jsonrpc":"2.0","id":2,"method":"` + strings.Repeat("x", 5<<20) + `"}`, ""},
	"deep nesting":                    {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + "}}", ""},
	"an unknown method":               {`{"jsonrpc":"2.0","id":2,"method":"tools/steal"}`, `"error"`},
	"an unknown notification":         {`{"jsonrpc":"2.0","method":"notifications/steal"}`, ""},
	"a call without an id":            {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":1}}}`, ""},
	"a call without parameters":       {`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`, `"error"`},
	"a call without a name":           {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`, `"error"`},
	"a tool that is not there":        {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rm"}}`, "unknown tool"},
	"a name with a control":           {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add\u001b[2J"}}`, `"error"`},
	"arguments that do not fit":       {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":"x"}}}`, `"isError":true`},
	"arguments that are no object":    {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":[1,2]}}`, `"isError":true`},
	"arguments that are null":         {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":null}}`, `"isError":true`},
	"two handshakes":                  {strings.Replace(initialize, `"id":1`, `"id":9`, 1), `"error"`},
	"the handshake twice over":        {`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
	"a response nobody asked for":     {`{"jsonrpc":"2.0","id":"toolpost-question-1","result":{"action":"accept","content":{"allow":true}}}`, ""},
	"a cancelled call nobody made":    {strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`+"\n", 2000), ""},
	"one id for two calls":            {strings.Repeat(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":1}}}`+"\n", 2), ""},
	"a batch":                         {"[" + strings.Repeat(`{"jsonrpc":"2.0","id":2,"method":"tools/list"},`, 200) + `{"jsonrpc":"2.0","id":3,"method":"tools/list"}]`, ""},
	"an empty batch":                  {"[]", ""},
	"a cursor that is none":           {`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"AAAA"}}`, `"error"`},
	"a state that is none of ours":    {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":1},"requestState":"!!"}}`, `"error"`},
	"answers given before a question": {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shout","arguments":{"text":"x"},"inputResponses":{"q-1":{"method":"elicitation/create","result":{"action":"accept","content":{"allow":true}}}}}}`, ""},
}

func TestHostileClientsOfAPipe(t *testing.T) {
	for name, c := range hostileLines {
		t.Run(name, func(t *testing.T) {
			s := serveOwn(t, func(o *serve.ServiceOptions) { o.Drain = time.Second })
			var out strings.Builder
			_ = s.ServePipe(t.Context(), strings.NewReader(initialize+"\n"+c.lines+"\n"), &out)
			if !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "did {") {
				t.Errorf("it wrote %.2000s", out.String())
			}
			s.Close()
			s.receipts(t) // whatever was recorded is sealed
		})
	}
}

func TestHostileClientsOfARelay(t *testing.T) {
	t.Parallel()
	for name, c := range hostileLines {
		t.Run(name, func(t *testing.T) {
			r := relayOf(t, wholeServer(t, "http", "2025-06-18"), invoke.AllowAll)
			var out strings.Builder
			_ = r.Relay.ServePipe(t.Context(), strings.NewReader(initialize+"\n"+c.lines+"\n"), &out)
			if c.want == "unknown tool" && !strings.Contains(out.String(), c.want) {
				t.Errorf("it wrote %.2000s", out.String())
			}
			if name == "a frame that is too long" && strings.Contains(out.String(), `"id":2`) {
				t.Errorf("the frame was passed on, and it wrote %.2000s", out.String())
			}
			r.Relay.Close()
			r.receipts(t)
		})
	}
}

func TestASlowBodyEndsAlone(t *testing.T) {
	address := serveOwn(t, nil).address(t, serve.HTTPAccess{BodyTime: time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	text, _ := io.ReadAll(conn)
	if !strings.Contains(string(text), "408") {
		t.Errorf("it said %s", text)
	}
}

// A new session takes the place of an idle one if there are too many; caller.Admit has the rule.
func TestSessionsAreBounded(t *testing.T) {
	s := serveOwn(t, nil)
	address := s.address(t, serve.HTTPAccess{MaxSessions: 2})
	for i := range 20 {
		if status, _, text := exchangeRaw(t, address, "", initialize); status != http.StatusOK {
			t.Errorf("session %d was answered with %d: %s", i, status, text)
		}
	}
}

// Methods of capabilities that a service does not declare are refused, not answered with an empty list.
func TestUndeclaredMethodsAreRefused(t *testing.T) {
	l := byLines(t, serveOwn(t, nil).ServePipe)
	l.send(initialize)
	l.answer("1")
	l.send(initialized)
	for i, method := range []string{"prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "completion/complete", "logging/setLevel"} {
		l.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, i+2, method))
		if text := l.answer(fmt.Sprint(i + 2)); !strings.Contains(text, "-32601") {
			t.Errorf("%s: %s", method, text)
		}
	}
}

func FuzzClientMessage(f *testing.F) {
	for _, c := range hostileLines {
		if len(c.lines) < 10_000 {
			f.Add(c.lines)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, `"wait"`) {
			t.Skip("it waits, as it should")
		}
		s, err := serve.NewService(serve.ServiceOptions{Runner: &invoke.Runner{Tools: ownTools(make(chan string, 100), make(chan string, 100))}, Drain: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var out strings.Builder
		_ = s.ServePipe(t.Context(), strings.NewReader(initialize+"\n"+line+"\n"), &out)
		if strings.Contains(out.String(), "did {") {
			t.Errorf("a call ran that nobody allowed: %s", out.String())
		}
	})
}

// TestRelayReadsWhatServersRead: a message that two readers understand differently is not
// passed on. The relay would decide on one call, and the server would run another.
func TestRelayReadsWhatServersRead(t *testing.T) {
	const told = "told the server"
	call := `"params":{"name":"echo","arguments":{"text":"` + told + `"}}`
	for name, line := range map[string]string{
		"a second method":              `{"jsonrpc":"2.0","id":2,"method":"tools/call","method":"ping",` + call + `}`,
		"a method in capitals":         `{"jsonrpc":"2.0","id":2,"method":"tools/call","Method":"ping",` + call + `}`,
		"a method in capitals first":   `{"jsonrpc":"2.0","id":2,"METHOD":"ping","method":"tools/call",` + call + `}`,
		"an escaped method":            `{"jsonrpc":"2.0","id":2,"method":"tools/call","m\u0045thod":"ping",` + call + `}`,
		"an id in capitals":            `{"jsonrpc":"2.0","id":2,"ID":null,"method":"tools/call",` + call + `}`,
		"a result beside the method":   `{"jsonrpc":"2.0","id":2,"method":"tools/call","Params":{"name":"nothing"},` + call + `}`,
		"a name in capitals":           `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","Name":"free","arguments":{"text":"` + told + `"}}}`,
		"a second name":                `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"free","name":"echo","arguments":{"text":"` + told + `"}}}`,
		"arguments in capitals":        `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"free","arguments":{"text":"` + told + `"},"ARGUMENTS":{"text":"x"}}}`,
		"an argument twice":            `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"free","arguments":{"text":"` + told + `","text":"x"}}}`,
		"two messages in one line":     `{"jsonrpc":"2.0","id":2,"method":"ping"}{"jsonrpc":"2.0","id":3,"method":"tools/call",` + call + `}`,
		"a carriage return inside":     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\r{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\"," + call + "}",
		"a batch behind a byte order":  "\ufeff[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\"," + call + "}]",
		"a call that is a notificaton": `{"jsonrpc":"2.0","method":"tools/call",` + call + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, first := range []bool{false, true} {
				url, ran := readsExactly(t, first)
				r := relayOf(t, config.ServerConfig{Name: "exact", URL: url}, invoke.AskFirst(invoke.AllowNamed("free")))
				address := r.url(t, serve.HTTPAccess{})
				exchangeRaw(t, address, "", initialize)
				_, _, data := exchangeRaw(t, address, "", line)
				r.Relay.Close()
				if text := ran(); text != "" {
					t.Errorf("the server ran %s\n%s", text, data)
				}
			}
		})
	}
}

// readsExactly is a server that knows members by their exact names, and of two the first or
// the last. It returns what it ran of calls that a policy has to refuse.
func readsExactly(t *testing.T, first bool) (url string, ran func() string) {
	var mu sync.Mutex
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := members(string(body), first)
		answer := `{"tools":[{"name":"free","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]}`
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case m["method"] == `"tools/call"`:
			p := members(m["params"], first)
			if text := members(p["arguments"], first)["text"]; p["name"] == `"echo"` || text != `"x"` {
				mu.Lock()
				all = append(all, string(body))
				mu.Unlock()
			}
			answer = `{"content":[]}`
		case m["method"] == `"initialize"`:
			answer = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"exact","version":"1"}}`
		case m["id"] == "":
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m["id"], answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(all, "\n")
	}
}

// members are those of an object, by their exact names.
func members(text string, first bool) map[string]string {
	out := make(map[string]string)
	d := json.NewDecoder(strings.NewReader(text))
	if _, err := d.Token(); err != nil {
		return out
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			break
		}
		name, _ := key.(string)
		if _, there := out[name]; !there || !first {
			out[name] = string(value)
		}
	}
	return out
}
