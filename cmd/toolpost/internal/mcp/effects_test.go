//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/sim"
)

// askingShop is a server that counts its effects: its tool places an order and then asks the person. Its configurations
// are by revision.
func askingShop(t *testing.T) (servers map[string]string, orders *atomic.Int32) {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	orders = new(atomic.Int32)
	over, end := context.WithCancel(context.Background())
	form := &mcp.ElicitParams{Mode: "form", Message: "Express?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"express":{"type":"boolean"}},"required":["express"]}`)}
	done := func(r *mcp.ElicitResult) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("order placed, %s %v", r.Action, r.Content["express"])}}}
	}
	s.AddTool(&mcp.Tool{Name: "order", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if p := req.Session.InitializeParams(); p != nil && p.ProtocolVersion < "2026" {
			orders.Add(1)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(over, cancel)() // nobody may answer
			r, err := req.Session.Elicit(ctx, form)
			if err != nil {
				return nil, err
			}
			return done(r), nil
		}
		if req.Params.RequestState == "" {
			orders.Add(1)
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"express": form}, RequestState: "placed"}, nil
		}
		r, _ := req.Params.InputResponses["express"].(*mcp.ElicitResult)
		if req.Params.RequestState != "placed" || r == nil {
			return nil, errors.New("there is no such order")
		}
		return done(r), nil
	})
	url := mcptest.HTTP(t, s, nil)
	t.Cleanup(end) // before the server is closed
	return map[string]string{
		"2025-11-25": "mcp_servers:\n  one: {url: " + url + "/mcp, protocol: 2025-11-25, call_timeout: " + callTimeout.String() + "}\n",
		"2026-07-28": "mcp_servers:\n  one: {url: " + url + "/stateless, call_timeout: " + callTimeout.String() + "}\n",
	}, orders
}

// A person at the terminal answers a tool that asks while it runs, soon or after the time of the call, declines, interrupts,
// or the program is killed at the question. There is one order, and neither screen nor record say that nothing changed.
func TestQuestionAtTheTerminalHasOneEffect(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: no terminal to look at")
	}
	for _, way := range []string{"run", "chat"} {
		for _, action := range []string{"accept", "decline", "cancel", "kill", "late"} {
			for _, revision := range []string{"2025-11-25", "2026-07-28"} {
				t.Run(way+" "+action+" "+revision, func(t *testing.T) {
					t.Parallel() // a session mostly waits
					servers, orders := askingShop(t)
					term := programtest.NewTerminal(t)
					clitest.WriteFiles(t, term.Work, map[string]string{"c.yaml": servers[revision], "w.txtar": "Orders.\n-- 1 --\ncall one__order\n-- 2 --\ntext Done.\n"})
					term.Env["TOOLPOST_TEST_SETTLE"] = "1s"
					term.Size([]string{"100", "40"})
					askAtTerminal(term, way, action)
					id, record := term.Recorded()
					over := action != "cancel" && action != "kill"
					placed := "order placed, " + strings.Replace(action, "late", "accept", 1)
					if !strings.Contains(record, `"kind":"intent"`) || strings.Contains(record, "It was not run") || over != strings.Contains(record, placed) {
						t.Errorf("the record is\n%s", record)
					}
					if way == "run" && action == "kill" {
						cmd := exec.Command(term.Toolpost(), "run", "-m", "sim/script:w.txtar", "--config", "c.yaml", "--resume", id)
						cmd.Dir, cmd.Env = term.Work, os.Environ()
						for name, value := range term.Env {
							cmd.Env = append(cmd.Env, name+"="+value)
						}
						programtest.Await(t, cmd, programtest.Start(t, cmd)) // nobody can be asked now
						if _, record := term.Recorded(); !strings.Contains(record, `"status":"unknown"`) {
							t.Errorf("after it was resumed, the record is\n%s", record)
						}
					}
					screen := term.Screen()
					if _, record := term.Recorded(); strings.Contains(screen+record, "changed nothing") {
						t.Errorf("the screen is\n%s\nthe record is\n%s", screen, record)
					}
					if action == "decline" && (!strings.Contains(screen, "declined to answer") || strings.Contains(screen, "refused")) {
						t.Errorf("the screen is\n%s", screen)
					}
					if n := orders.Load(); n != 1 {
						t.Errorf("there are %d orders", n)
					}
				})
			}
		}
	}
}

// The chat is killed, interrupted or out of time while a tool of an MCP server runs, and continued. The tool is called once,
// and neither screen nor record say that nothing changed.
func TestChatStoppedWhileAServersToolRuns(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: no terminal to look at")
	}
	for _, stop := range []string{"kill", "cancel", "timeout"} {
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(stop+" "+revision, func(t *testing.T) {
				t.Parallel() // a session mostly waits
				url, orders, begun := slowShop(t, revision)
				setting := "{url: " + url
				if stop == "timeout" {
					setting += ", call_timeout: " + callTimeout.String()
				}
				if revision < "2026" {
					setting += ", protocol: " + revision
				}
				term := programtest.NewTerminal(t)
				clitest.WriteFiles(t, term.Work, map[string]string{"c.yaml": "mcp_servers:\n  one: " + setting + "}\n", "w.txtar": "Orders.\n-- 1 --\ncall one__order\n-- 2 --\ntext Done.\n"})
				term.Size([]string{"100", "40"})
				term.Enter("clear; toolpost chat -m sim/script:w.txtar --config c.yaml")
				term.Wait("Say something", true)
				term.Enter("go")
				term.Choose("[y]es", "y")
				wait(t, "a call", begun)
				switch stop {
				case "kill":
					term.Kill()
				case "cancel":
					term.Press("C-c")
					term.Wait("interrupted", true)
				case "timeout":
					term.Wait("Done.", true)
				}
				id, record := term.Recorded()
				screen := term.Screen()
				if stop == "kill" {
					cmd := exec.Command(term.Toolpost(), "run", "-m", "sim/script:w.txtar", "--config", "c.yaml", "--resume", id)
					cmd.Dir, cmd.Env = term.Work, os.Environ()
					for name, value := range term.Env {
						cmd.Env = append(cmd.Env, name+"="+value)
					}
					e := programtest.Await(t, cmd, programtest.Start(t, cmd))
					screen += e.ErrOut
					_, record = term.Recorded()
				}
				if !strings.Contains(record, `"status":"unknown"`) || strings.Contains(record+screen, "changed nothing") || strings.Contains(record+screen, "It was not run") {
					t.Errorf("the screen is\n%s\nthe record is\n%s", screen, record)
				}
				if n := orders.Load(); n != 1 {
					t.Errorf("there are %d orders", n)
				}
			})
		}
	}
}

// callTimeout is the time of a call of askingShop.
const callTimeout = 3 * time.Second

// askAtTerminal has the tool ask, and acts on the question.
func askAtTerminal(term *programtest.Terminal, way, action string) {
	end := "receipts verify"
	if way == "run" {
		term.Enter("clear; toolpost run -m sim/script:w.txtar --config c.yaml 'go'")
	} else {
		end = "Done."
		term.Enter("clear; toolpost chat -m sim/script:w.txtar --config c.yaml")
		term.Wait("Say something", true)
		term.Enter("go")
	}
	term.Choose("[y]es", "y")
	term.Wait("Express?", true)
	switch action {
	case "accept", "late":
		if action == "late" {
			time.Sleep(callTimeout + time.Second) // it does not run while a person is asked
		}
		term.Choose("[a]nswer", "a")
		term.Wait("Enter gives", true)
		term.Enter("true")
		term.Wait(end, true)
	case "decline":
		term.Choose("[a]nswer", "n")
		term.Wait(end, true)
	case "cancel":
		term.Wait("[a]nswer", true)
		term.Press("C-c")
		term.Wait("[a]nswer", false)
		term.Wait("interrupted", true)
	case "kill":
		term.Wait("[a]nswer", true)
		term.Kill()
	}
}

// In the gateway nobody is asked: the server is told that, and the call is made once, also if the client goes away.
func TestQuestionInTheGatewayHasOneEffect(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			dir := clitest.Bare(t, nil)
			servers, orders := askingShop(t)
			script, err := sim.ParseScript([]byte("-- 1 --\ncall one__order\n-- 2 --\ntext Done.\n"))
			if err != nil {
				t.Fatal(err)
			}
			model := &programtest.Heard{Model: script}
			server := httptest.NewServer(&sim.Server{Model: model})
			t.Cleanup(server.Close)
			programtest.Place(t, "gateway.yaml", servers[revision]+fmt.Sprintf("gateway:\n  addr: 127.0.0.1:0\n  routes:\n    - {model: m, to: [{model: \"openai+%s/v1#sim/native\", tools: native}], mcp: [one], yes_to: [one__*]}\n", server.URL))
			url := programtest.StartServe(t, "--config", filepath.Join(dir, "gateway.yaml"))
			resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 200 || !strings.Contains(string(b), "Done.") || !strings.Contains(model.Last, "order placed, decline") {
				t.Errorf("%s: %s; the model was told %s", resp.Status, b, model.Last)
			}
			id := resp.Header.Get("Toolpost-Request-Id")
			r := programtest.Run(t, "", "receipts", "show", id)
			if programtest.Must(t, r, cli.ExitOK, "order placed, decline"); strings.Contains(r.Out, "changed nothing") {
				t.Error(r.Out)
			}
			if n := orders.Load(); n != 1 {
				t.Errorf("there are %d orders", n)
			}
		})
	}
}

// A served tool or relay that is killed while its client is asked has made the call once. The record says that the tool
// had begun, and nothing calls it again by itself, also if the client gives its answer to the next process.
func TestKilledAtAnOpenQuestion(t *testing.T) {
	for name, path := range map[string]stopped{
		"serve": {args: []string{"mcp", "serve", "--mcp", "one", "--yes"}, tool: "one__order"},
		"relay": {args: []string{"mcp", "serve", "--through", "one", "--yes"}, tool: "order"},
	} {
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+revision, func(t *testing.T) {
				t.Parallel() // a process mostly waits
				servers, orders := askingShop(t)
				m := programtest.NewMachine(t, map[string]string{"c.yaml": servers[revision]})
				runs := filepath.Join(m.Dir, "runs")
				m.Env = append(m.Env, "TOOLPOST_STORE="+runs)
				asked := clientOf(t, m, path, revision, "", "elicitation/create", syscall.SIGKILL)
				record := recordsIn(runs)
				rounds := name == "relay" && revision >= "2026" // the question is an answer of the server
				if !strings.Contains(record, `"kind":"intent"`) || strings.Contains(record, `"kind":"receipt"`) != rounds || strings.Contains(record, "order placed") {
					t.Errorf("the record is\n%s", record)
				}
				if revision >= "2026" {
					var answer struct {
						Result struct {
							RequestState  string
							InputRequests map[string]json.RawMessage
						}
					}
					if err := json.Unmarshal([]byte(asked), &answer); err != nil || answer.Result.RequestState == "" {
						t.Fatalf("%s: %v", asked, err)
					}
					given := ""
					for key := range answer.Result.InputRequests {
						given = fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"express":true}}}`, answer.Result.RequestState, key)
					}
					last := clientOf(t, m, path, revision, given, `"id":2`, syscall.SIGTERM)
					if placed := strings.Contains(last, "order placed, accept"); placed != rounds { // the state of a relayed call is the server's
						t.Errorf("after the answer: %s", last)
					}
				}
				if all := recordsIn(runs); strings.Contains(all, "changed nothing") || strings.Contains(all, "It was not run") {
					t.Errorf("the records are\n%s", all)
				}
				if n := orders.Load(); n != 1 {
					t.Errorf("there are %d orders", n)
				}
			})
		}
	}
}

// clientOf starts a path for a client that calls its tool, ends it with a signal after it has printed a word, and
// returns the line with that word.
func clientOf(t *testing.T, m programtest.Machine, path stopped, revision, more, word string, signal syscall.Signal) string {
	t.Helper()
	cmd := m.Program(append(path.args, "--config", "c.yaml")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errOut := programtest.Start(t, cmd)
	lines := linesOf(out)
	if _, err := in.Write([]byte(callOf(revision, path.tool, more))); err != nil {
		t.Fatal(err)
	}
	line := said(t, lines, word)
	_ = cmd.Process.Signal(signal)
	for range lines {
	}
	programtest.Await(t, cmd, errOut)
	return line
}

// In mcp call nobody is asked: the server is told that, and the call is made once.
func TestQuestionInACallHasOneEffect(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		clitest.Bare(t, nil)
		servers, orders := askingShop(t)
		programtest.Place(t, "c.yaml", servers[revision])
		programtest.Must(t, programtest.Run(t, "", "mcp", "call", "one", "order", "--yes", "--config", "c.yaml"), cli.ExitOK, "order placed, decline")
		if n := orders.Load(); n != 1 {
			t.Errorf("%s: there are %d orders", revision, n)
		}
	}
}

// In the chat, prompts of a server are listed and sent, and a resource that the person names is attached.
func TestPromptsAndResourcesInTheChat(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: no terminal to look at")
	}
	term := programtest.NewTerminal(t)
	clitest.WriteFiles(t, term.Work, map[string]string{
		"c.yaml": "mcp_servers:\n  one: {url: " + mcptest.HTTP(t, mcptest.Whole(), nil) + "/mcp}\n", "w.txtar": "Two answers.\n-- 1 --\ntext Hello.\n-- 2 --\ntext Done.\n",
	})
	term.Size([]string{"100", "40"})
	term.Enter("clear; toolpost chat -m sim/script:w.txtar --config c.yaml")
	term.Wait("Say something", true)
	term.Enter("/prompt")
	term.Wait("one:greet who=", true)
	term.Enter("/prompt one:greet who=Ada")
	term.Wait("Hello.", true)
	term.Enter("What does @one:test://notes say?")
	term.Wait("Done.", true)
	records := recordsIn(filepath.Join(term.Env["HOME"], "toolpost", "runs"))
	for _, want := range []string{"Greet Ada", "content of test://notes"} {
		if !strings.Contains(records, want) {
			t.Errorf("the records have no %q:\n%s", want, records)
		}
	}
}
