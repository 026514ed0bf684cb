package mcpbridge_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

// eachTaskServer runs a test with servers of each revision whose tools run as tasks, and what happened there.
func eachTaskServer(t *testing.T, test func(t *testing.T, server config.ServerConfig, happened func() string, revision string)) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, way := range []string{"stdio", "http"} {
			t.Run(way+" "+revision, func(t *testing.T) {
				server, happened := taskServer(t, way, revision)
				test(t, server, happened, revision)
			})
		}
	}
}

// taskServer returns a server whose tools run as tasks, and what happened there.
func taskServer(t *testing.T, way, revision string) (config.ServerConfig, func() string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events")
	happened := func() string {
		text, _ := os.ReadFile(file) // nothing yet
		return string(text)
	}
	if way == "stdio" {
		kind := "tasks:"
		if revision >= "2026" {
			kind += "newest "
		}
		return stdio("one", kind+file), happened
	}
	s := &mcptest.Tasks{File: file, Newest: revision >= "2026"}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if s.Newest && strings.HasPrefix(r.Header.Get("Mcp-Method"), "tasks/") && !strings.Contains(string(body), `"taskId":"`+r.Header.Get("Mcp-Name")+`"`) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answers := s.Answer(body)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case len(answers) == 0:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answers[0])
		}
	}))
	t.Cleanup(web.Close)
	return config.ServerConfig{Name: "one", URL: web.URL}, happened
}

// taskRuntime keeps the progress of a call and answers its questions.
type taskRuntime struct {
	tool.Runtime
	steps []string
	asked int
}

func (r *taskRuntime) Report(p tool.Progress) { r.steps = append(r.steps, p.Message) }

func (r *taskRuntime) Ask(context.Context, tool.Prompt) (json.RawMessage, error) {
	r.asked++
	return json.RawMessage(`{"ok":true}`), nil
}

// A tool that runs only as a task is called once and polled, and its result is that of a call.
func TestToolsAreCalledAsTasks(t *testing.T) {
	t.Parallel()
	eachTaskServer(t, func(t *testing.T, server config.ServerConfig, happened func() string, _ string) {
		dir := t.TempDir()
		s, _ := open(t, client.Options{Dir: dir}, server)
		runtime := new(taskRuntime)
		one, ok := toolsOf(t, s).Lookup("one__order")
		if !ok {
			t.Fatal("the tool is not offered")
		}
		out, err := one.Run(tool.WithRuntime(t.Context(), runtime), json.RawMessage(`{}`))
		if err != nil || !strings.Contains(textOf(out), "placed") || string(out.Structured) != `{"order":1234567890123456789}` {
			t.Errorf("it returned %q, %s, %v", textOf(out), out.Structured, err)
		}
		if strings.Join(runtime.steps, "") != "step of order" {
			t.Errorf("the progress was %q", runtime.steps)
		}
		if out, err := call(t, toolsOf(t, s), "one__plain", `{}`); err != nil || textOf(out) != "plain" {
			t.Errorf("another tool returned %q, %v", textOf(out), err)
		}
		for name, want := range map[string]struct {
			code tool.Code
			text string
		}{
			"fails":   {tool.Execution, "no stock"},
			"refused": {tool.Execution, "out of paper"},
			"forgets": {tool.Uncertain, "its state cannot be read: unknown task"},
			"cancels": {tool.Uncertain, "has cancelled it: step of cancels"},
			"odd":     {tool.Uncertain, `its status "asleep" is not known here`},
		} {
			_, err := call(t, toolsOf(t, s), "one__"+name, `{}`)
			if e := tool.FromError(err); e == nil || e.Code != want.code || !strings.Contains(e.Message, want.text) {
				t.Errorf("%s: %v", name, err)
			}
			if n := strings.Count(happened(), "began "+name+"\n"); n != 1 {
				t.Errorf("%s began %d times", name, n)
			}
		}
		s.Close()
		next, _ := open(t, client.Options{Dir: dir}, server) // with the list of the last run
		if out, err := call(t, toolsOf(t, next), "one__order", `{}`); err != nil || !strings.Contains(textOf(out), "placed") {
			t.Errorf("the next run returned %q, %v", textOf(out), err)
		}
	})
}

// A task that is not waited for any more is cancelled: the caller has gone, or the time is over.
func TestTasksAreCancelled(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"caller", "timeout"} {
		t.Run(why, func(t *testing.T) {
			eachTaskServer(t, func(t *testing.T, server config.ServerConfig, happened func() string, _ string) {
				if why == "timeout" {
					server.Call = 500 * time.Millisecond
				}
				s, _ := open(t, client.Options{}, server)
				one, _ := toolsOf(t, s).Lookup("one__slow")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if why == "caller" {
					go func() {
						until(t, "the task", func() bool { return strings.Contains(happened(), "began slow") })
						time.Sleep(200 * time.Millisecond) // the id of the task is on its way
						cancel()
					}()
				}
				_, err := one.Run(ctx, json.RawMessage(`{}`))
				if e := tool.FromError(err); e == nil || why == "timeout" && e.Code != tool.Uncertain {
					t.Errorf("it returned %v", err)
				}
				if got := happened(); got != "began slow\ncancelled slow\n" {
					t.Errorf("the server has %q", got)
				}
			})
		})
	}
}

// A server asks about a task: while its result is waited for or, since 2026-07-28, in its state. The person is asked once.
func TestTaskAsksThePerson(t *testing.T) {
	eachTaskServer(t, func(t *testing.T, server config.ServerConfig, happened func() string, revision string) {
		want := "began asks\n"
		switch {
		case revision >= "2026":
			want += `answered asks {"sure":{"action":"accept","content":{"ok":true}}}` + "\n"
		case server.URL != "":
			return // its answers over HTTP are whole, so it cannot send a question
		}
		s, _ := open(t, client.Options{}, server)
		one, _ := toolsOf(t, s).Lookup("one__asks")
		runtime := new(taskRuntime)
		if out, err := one.Run(tool.WithRuntime(t.Context(), runtime), json.RawMessage(`{}`)); err != nil || textOf(out) != "answered" || runtime.asked != 1 || happened() != want {
			t.Errorf("it returned %q, %v; %d questions; %q", textOf(out), err, runtime.asked, happened())
		}
	})
}

// A relay passes tasks on, and its record says that the call runs as a task.
func TestRelayPassesTasksOn(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		t.Run(way, func(t *testing.T) {
			server, happened := taskServer(t, way, "2025-11-25")
			r := relayOf(t, server, invoke.AllowAll)
			l := relayLines(t, r)
			l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"order","arguments":{},"task":{"ttl":60000}}}`)
			if got := l.answer("2"); !strings.Contains(got, `"taskId":"order"`) {
				t.Fatalf("the call returned %s", got)
			}
			for id, method := range map[string]string{"3": "get", "4": "result", "5": "cancel"} {
				l.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tasks/` + method + `","params":{"taskId":"order"}}`)
				if got := l.answer(id); strings.Contains(got, `"error"`) || !strings.Contains(got, `order`) {
					t.Errorf("tasks/%s returned %s", method, got)
				}
			}
			r.Relay.Close()
			receipts := r.receipts(t)
			if len(receipts) != 1 || receipts[0].Error != nil || joined(receipts[0].Result.Parts) != "[the call runs as a task of the server, whose result the client reads]" {
				t.Errorf("the record has %+v", receipts)
			}
			if got := happened(); got != "began order\ncancelled order\n" {
				t.Errorf("the server has %q", got)
			}
		})
	}
}

// A relay passes tasks of revision 2026-07-28 on, in which the server decides, with the name of the task in a header.
func TestRelayPassesNewestTasksOn(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		t.Run(way, func(t *testing.T) {
			server, happened := taskServer(t, way, "2026-07-28")
			r := relayOf(t, server, invoke.AllowAll)
			l := byLines(t, r.Relay.ServePipe)
			send := func(id, method, params string) string {
				l.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`)
				return l.answer(id)
			}
			if got := send("2", "tools/call", `"name":"asks","arguments":{}`); !strings.Contains(got, `"taskId":"asks"`) {
				t.Fatalf("the call returned %s", got)
			}
			send("3", "tasks/get", `"taskId":"asks"`)
			if got := send("4", "tasks/get", `"taskId":"asks"`); !strings.Contains(got, `"input_required"`) {
				t.Errorf("the task is %s", got)
			}
			send("5", "tasks/update", `"taskId":"asks","inputResponses":{"sure":{"action":"decline"}}`)
			send("6", "tasks/cancel", `"taskId":"asks"`)
			r.Relay.Close()
			receipts := r.receipts(t)
			if len(receipts) != 1 || receipts[0].Error != nil || !strings.HasPrefix(joined(receipts[0].Result.Parts), "[the call runs as a task") {
				t.Errorf("the record has %+v", receipts)
			}
			if got := happened(); got != "began asks\nanswered asks {\"sure\":{\"action\":\"decline\"}}\ncancelled asks\n" {
				t.Errorf("the server has %q", got)
			}
		})
	}
}

// Served tools have no tasks: a call with one is run in the usual way, as the protocol demands, and the methods of tasks are refused.
func TestServedToolsHaveNoTasks(t *testing.T) {
	set := tool.MustSet(tool.Tool{Name: "f", Call: func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text("done"), nil }})
	service, err := serve.NewService(serve.ServiceOptions{Runner: &invoke.Runner{Tools: set, Policy: invoke.AllowAll}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close() })
	l := byLines(t, service.ServePipe)
	l.send(initialize)
	if got := l.answer("1"); strings.Contains(got, `"tasks"`) {
		t.Errorf("it declares tasks: %s", got)
	}
	l.send(initialized)
	l.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"f","arguments":{},"task":{"ttl":60000}}}`)
	if got := l.answer("2"); textsOf(t, got) != "done" {
		t.Errorf("the call returned %s", got)
	}
	l.send(`{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"f"}}`)
	if got := l.answer("3"); !strings.Contains(got, "-32601") || !strings.Contains(got, "tasks/get") {
		t.Errorf("tasks/get returned %s", got)
	}
}
