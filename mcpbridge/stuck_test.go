package mcpbridge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// starts returns how often a scripted server was started.
func starts(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// TestServersThatHangAreRestarted: one that answers neither a call nor a ping is ended,
// and the next call starts it again. One that answers pings is only slow, and goes on.
func TestServersThatHangAreRestarted(t *testing.T) {
	for _, c := range []struct {
		name   string
		script mcptest.Script
		starts int
	}{
		{"hangs", mcptest.Script{List: oneTool, Silent: []string{"ping"}}, 2},
		{"closes its output", mcptest.Script{List: oneTool, Closes: true, Call: answer}, 2},
		{"is slow", mcptest.Script{List: oneTool}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.script.Starts = filepath.Join(t.TempDir(), "starts")
			bad := scripted(t, "bad", c.script)
			bad.Connect, bad.Call = 20*time.Second, 300*time.Millisecond
			s, told := open(t, client.Options{}, bad)
			set := toolsOf(t, s)
			if _, err := call(t, set, "bad__f", "{}"); err == nil {
				t.Error("the call was answered")
			}
			if err := s.Connect(t.Context(), "bad"); err != nil {
				t.Error(err)
			}
			if got := starts(t, c.script.Starts); got != c.starts {
				t.Errorf("it was started %d times, want %d: %s", got, c.starts, told)
			}
			if said := strings.Contains(told.String(), "answers neither the call nor a ping"); said != (c.starts > 1) {
				t.Errorf("it is said %s", told)
			}
		})
	}
}

// TestServersThatPassOverWhatTheyDoNotKnow: a server that is silent when it is asked in
// the newest way is asked in the older one soon, and is not started again for it.
func TestServersThatPassOverWhatTheyDoNotKnow(t *testing.T) {
	for _, silent := range [][]string{{"server/discover"}, {"server/discover", "ping"}} {
		t.Run(strings.Join(silent, " "), func(t *testing.T) {
			t.Parallel()
			script := mcptest.Script{List: oneTool, Call: answer, Silent: silent, Starts: filepath.Join(t.TempDir(), "starts")}
			server := scripted(t, "quiet", script)
			server.Connect = 4 * time.Second
			if len(silent) == 1 {
				server.Connect = time.Hour // that much is not waited for
			}
			s, told := open(t, client.Options{Wait: time.Minute}, server)
			if out, err := call(t, toolsOf(t, s), "quiet__f", "{}"); err != nil || textOf(out) != "fine" {
				t.Errorf("%q, %v: %s", textOf(out), err, told)
			}
			if n := starts(t, script.Starts); n != 1 {
				t.Errorf("it was started %d times", n)
			}
		})
	}
}

// webServer is an HTTP server of MCP by hand, in the revision 2025-06-18, that answers a
// call as the function says.
func webServer(t *testing.T, answerCall func(w http.ResponseWriter, r *http.Request, id string)) (url string, sessions *atomic.Int32) {
	sessions = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, method := requestOf(r)
		text := ""
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
			text = handshakeOf("2025-06-18")
		case method == "tools/list":
			text = oneTool
		case method == "tools/call":
			answerCall(w, r, id)
			return
		case id == "":
			w.WriteHeader(http.StatusAccepted)
			return
		default:
			text = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`
		}
		writeAnswer(w, text, id)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL, sessions
}

// requestOf reads the id and the method of a message.
func requestOf(r *http.Request) (id, method string) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	return string(m.ID), m.Method
}

func writeAnswer(w http.ResponseWriter, text, id string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, strings.ReplaceAll(text, "ID", id))
}

// TestSessionsAreRenewed: a server that has forgotten the session of a call did not run
// it. A new session is begun, once, and the call made again.
func TestSessionsAreRenewed(t *testing.T) {
	for _, forgetful := range []bool{false, true} {
		var calls atomic.Int32
		url, sessions := webServer(t, func(w http.ResponseWriter, r *http.Request, id string) {
			calls.Add(1)
			if forgetful || r.Header.Get("Mcp-Session-Id") == "s1" {
				http.Error(w, "no such session", http.StatusNotFound)
				return
			}
			writeAnswer(w, answer, id)
		})
		s, told := open(t, client.Options{}, config.ServerConfig{Name: "web", URL: url})
		out, err := call(t, toolsOf(t, s), "web__f", "{}")
		if !forgetful && (err != nil || textOf(out) != "fine") {
			t.Errorf("%q, %v: %s", textOf(out), err, told)
		}
		if forgetful && (err == nil || tool.FromError(err).Code == tool.Uncertain || !strings.Contains(err.Error(), "forgotten the session")) {
			t.Errorf("%v", err)
		}
		if calls.Load() != 2 || sessions.Load() != 2 {
			t.Errorf("%d calls in %d sessions", calls.Load(), sessions.Load())
		}
		s.Close()
	}
}

// TestCallsThatAreSentOn: a redirect on the server's own host is followed, one to another
// host is not, and the call is not in doubt. What else HTTP answers is said in words.
func TestCallsThatAreSentOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		code       tool.Code
		answer     func(w http.ResponseWriter, r *http.Request, id string)
	}{
		{"on the host", "fine", "", func(w http.ResponseWriter, r *http.Request, id string) {
			if r.URL.Path != "/there" {
				http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
				return
			}
			writeAnswer(w, answer, id)
		}},
		{"elsewhere", "MCP server web did not run the call: the server sends us on to http://other.example", tool.Execution, func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "http://other.example/mcp", http.StatusTemporaryRedirect)
		}},
		{"busy", "MCP server web: Service Unavailable", tool.Uncertain, func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Error(w, "later", http.StatusServiceUnavailable)
		}},
		{"broken", "MCP server web: Internal Server Error", tool.Uncertain, func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Error(w, "oops", http.StatusInternalServerError)
		}},
		{"events without end", "went on beyond 67108864 bytes, without a result", tool.Uncertain, func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			event := []byte("data: " + `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n\n")
			for r.Context().Err() == nil {
				if _, err := w.Write(event); err != nil {
					return
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, _ := webServer(t, c.answer)
			s, told := open(t, client.Options{}, config.ServerConfig{Name: "web", URL: url, Call: time.Minute})
			defer s.Close()
			out, err := call(t, toolsOf(t, s), "web__f", "{}")
			got := textOf(out)
			if err != nil {
				got = tool.FromError(err).Message
			}
			if !strings.Contains(got, c.want) || strings.Contains(got, "rejected by transport") {
				t.Errorf("it is said %q, %s", got, told)
			}
			if (err == nil) != (c.code == "") || err != nil && tool.FromError(err).Code != c.code {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
