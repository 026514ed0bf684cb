package agentcli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/contain"
	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/mcpbridge/agentcli"
)

// playVar has the test binary be an agent program that plays a scene.
const playVar = "AGENTCLI_TEST_SCENE"

func TestMain(m *testing.M) {
	contain.Supervise()
	if scene := os.Getenv(playVar); scene != "" {
		name, arg, _ := strings.Cut(scene, ":")
		play(name, arg)
		os.Exit(0)
	}
	leaks.VerifyTestMain(m)
}

// program is the agent program that plays a scene, as a configuration names it.
func program(t testing.TB, scene string) agentcli.Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return agentcli.Program{Name: "fake", Format: "claude", Command: self, Env: map[string]string{playVar: scene}, Supervised: true}
}

// actor is an agent program that speaks stream-json, with a client of the bridge.
type actor struct {
	prompt  string
	session *mcp.ClientSession
	n       int
}

// flag is the value of an argument; ok says that it is there.
func flag(name string) (value string, ok bool) {
	i := slices.Index(os.Args, name)
	if i < 0 || i+1 >= len(os.Args) {
		return "", i >= 0
	}
	return os.Args[i+1], true
}

// say writes a line.
func (a *actor) say(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", b)
}

type object = map[string]any

// begin says what the program has, and connects to the servers of its configuration.
func (a *actor) begin(tools ...string) {
	var config struct {
		Servers map[string]struct {
			URL     string            `json:"url"`
			Headers map[string]string `json:"headers"`
		} `json:"mcpServers"`
	}
	file, _ := flag("--mcp-config")
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		panic(err)
	}
	var states []object
	for name, s := range config.Servers {
		client := outbound.New(outbound.Rules{})
		client.Transport = &keyed{s.Headers, client.Transport}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "fake"}, nil).Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, DisableStandaloneSSE: true}, nil)
		if err != nil {
			panic(err)
		}
		list, err := session.ListTools(context.Background(), nil)
		if err != nil {
			panic(err)
		}
		for _, t := range list.Tools {
			tools = append(tools, "mcp__"+name+"__"+t.Name)
		}
		a.session = session
		states = append(states, object{"name": name, "status": "connected"})
	}
	a.say(object{"type": "system", "subtype": "init", "session_id": "s1", "model": "fake-1", "tools": tools, "mcp_servers": states})
}

// keyed adds headers.
type keyed struct {
	headers map[string]string
	next    http.RoundTripper
}

func (k *keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range k.headers {
		r.Header.Set(name, value)
	}
	return k.next.RoundTrip(r)
}

func (a *actor) event(v object) { a.say(object{"type": "stream_event", "event": v}) }

// message begins another message.
func (a *actor) message() {
	a.n++
	a.event(object{"type": "message_start", "message": object{"id": fmt.Sprint("msg_", a.n)}})
}

// text says something in two pieces.
func (a *actor) text(text string) {
	a.message()
	a.event(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
		a.event(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": piece}})
	}
	a.say(object{"type": "assistant", "message": object{"id": fmt.Sprint("msg_", a.n), "content": []object{{"type": "text", "text": text}}}})
	a.event(object{"type": "content_block_stop", "index": 0})
}

// use writes a call as models do.
func (a *actor) use(id, name string, args object) {
	a.message()
	b, _ := json.Marshal(args)
	a.event(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "tool_use", "id": id, "name": name, "input": object{}}})
	for _, piece := range []string{string(b[:len(b)/2]), string(b[len(b)/2:])} {
		a.event(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "input_json_delta", "partial_json": piece}})
	}
	a.say(object{"type": "assistant", "message": object{"id": fmt.Sprint("msg_", a.n), "content": []object{{"type": "tool_use", "id": id, "name": name, "input": args}}}})
	a.event(object{"type": "content_block_stop", "index": 0})
}

// run has the bridge run a call and reports the result.
func (a *actor) run(id, name string, args object) {
	tool := name[strings.LastIndex(name, "__")+2:]
	params := &mcp.CallToolParams{Name: tool, Arguments: args, Meta: mcp.Meta{"claudecode/toolUseId": id}}
	res, err := a.session.CallTool(context.Background(), params)
	if err != nil {
		a.result(id, err.Error(), true)
		return
	}
	a.result(id, res.Content, res.IsError)
}

func (a *actor) result(id string, content any, failed bool) {
	a.say(object{"type": "user", "message": object{"content": []object{{"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}}}})
}

func (a *actor) end(text string) {
	a.say(object{"type": "result", "subtype": "success", "is_error": false, "result": text, "stop_reason": "end_turn", "usage": object{"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3}})
}

func (a *actor) fail(subtype, text string) {
	a.say(object{"type": "result", "subtype": subtype, "is_error": true, "result": text, "stop_reason": "tool_use"})
}

const weatherTool = "mcp__toolpost__weather"

// play is what the agent program does.
func play(scene, arg string) {
	prompt, _ := io.ReadAll(os.Stdin)
	a := &actor{prompt: string(prompt)}
	act, ok := scenes[scene]
	if !ok {
		panic("no scene is called " + scene)
	}
	act(a, arg)
	if a.session != nil {
		_ = a.session.Close()
	}
}

// scenes are what agent programs do, well and badly.
var scenes = map[string]func(*actor, string){
	"weather": func(a *actor, _ string) {
		a.begin()
		a.event(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "thinking_delta", "thinking": "Hm."}})
		a.text("Let me look.")
		a.use("toolu_1", weatherTool, object{"city": "Rome"})
		if n, _ := flag("--max-turns"); n == "1" {
			a.run("toolu_1", weatherTool, object{"city": "Rome"})
			a.fail("error_max_turns", "")
			return
		}
		a.run("toolu_1", weatherTool, object{"city": "Rome"})
		a.text("It is sunny.")
		a.end("It is sunny.")
	},
	"prompt": func(a *actor, _ string) {
		a.begin()
		file, _ := flag("--system-prompt-file")
		system, _ := os.ReadFile(file)
		a.text(string(system) + "|" + a.prompt)
		a.end("")
	},
	// says how it was started, without what changes from run to run
	"started": func(a *actor, _ string) {
		a.begin()
		folder := filepath.Dir(os.Args[slices.Index(os.Args, "--mcp-config")+1])
		var modes []string
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			info, _ := e.Info()
			modes = append(modes, e.Name()+" "+info.Mode().String())
		}
		info, _ := os.Stat(folder)
		dir, _ := os.Getwd()
		empty, _ := os.ReadDir(dir)
		var names []string
		for _, v := range os.Environ() {
			name, _, _ := strings.Cut(v, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		b, _ := json.Marshal(object{"args": os.Args[1:], "env": names, "files": modes, "folder": info.Mode().String(), "dir": len(empty)})
		a.text(strings.ReplaceAll(string(b), folder, "FOLDER"))
		a.end("")
	},
	"silent call": func(a *actor, _ string) { // makes a call and does not say so
		a.begin()
		res, err := a.session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: object{"city": "Bonn"}})
		if err != nil || len(res.Content) != 1 {
			panic(fmt.Sprint(res, err))
		}
		a.text("Done.")
		a.end("")
	},
	"early call": func(a *actor, _ string) { // makes a call before it says so, without its id
		a.begin()
		_, _ = a.session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: object{"city": "Bonn"}})
		a.use("toolu_9", weatherTool, object{"city": "Bonn"})
		a.result("toolu_9", "sunny", false)
		a.text("Done.")
		a.end("")
	},
	"result only": func(a *actor, _ string) { a.begin(); a.end("The answer.") },
	"nothing":     func(a *actor, _ string) { a.begin(); a.end("") },
	"structured": func(a *actor, _ string) {
		a.begin()
		a.say(object{"type": "result", "subtype": "success", "structured_output": object{"type": "tool-calls", "calls": []object{{"toolName": "weather", "input": object{"city": "Rome"}}}}})
	},
	"fails": func(a *actor, text string) { a.begin(); a.fail("error_during_execution", text) },
	"fails after a call": func(a *actor, subtype string) {
		a.begin()
		a.use("toolu_1", weatherTool, object{"city": "Rome"})
		a.fail(subtype, "")
	},
	"gives up on the schema": func(a *actor, _ string) {
		a.begin()
		a.text(`{"city":"Rome"}`)
		a.fail("error_max_structured_output_retries", "")
	},
	"goes on after its turn": func(a *actor, _ string) {
		a.begin()
		a.use("toolu_1", weatherTool, object{"city": "Rome"})
		a.run("toolu_1", weatherTool, object{"city": "Rome"})
		a.text("I do not care for turns.")
		hang()
	},
	"exits after a call": func(a *actor, _ string) { a.begin(); a.use("toolu_1", weatherTool, object{"city": "Rome"}); os.Exit(1) },
	"whole messages": func(a *actor, _ string) {
		a.begin()
		a.say(object{"type": "assistant", "message": object{"id": "m", "content": []object{{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Look."}, {"type": "tool_use", "id": "toolu_1", "name": weatherTool, "input": object{"city": "Rome"}}}}})
		a.run("toolu_1", weatherTool, object{"city": "Rome"})
		a.say(object{"type": "assistant", "message": object{"id": "n", "content": "Sunny."}})
		a.end("Sunny.")
	},

	"dies after a run": func(a *actor, _ string) {
		a.begin()
		a.use("toolu_1", weatherTool, object{"city": "Rome"})
		a.run("toolu_1", weatherTool, object{"city": "Rome"})
		os.Exit(1)
	},

	// hostile ones
	"endless line": func(a *actor, _ string) {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 'x'
		}
		for {
			if _, err := os.Stdout.Write(b); err != nil {
				return
			}
		}
	},
	"endless lines": func(a *actor, _ string) {
		a.begin()
		for {
			a.event(object{"type": "content_block_delta", "delta": object{"type": "text_delta", "text": strings.Repeat("x", 1000)}})
		}
	},
	"wrong json": func(a *actor, _ string) { a.begin(); fmt.Println(`{"type":"assistant",]`); hang() },
	"no json":    func(a *actor, _ string) { fmt.Println("Welcome to the agent!"); hang() },
	"wrong shapes": func(a *actor, _ string) {
		a.begin()
		fmt.Println(`{"type":"assistant","message":{"id":7,"content":{}}}`)
		hang()
	},
	"exit 1": func(*actor, string) { os.Exit(1) },
	"exit 1 with a word": func(_ *actor, text string) {
		fmt.Fprintln(os.Stderr, "Error: "+text)
		os.Exit(1)
	},
	"exit 1 after text": func(a *actor, _ string) { a.begin(); a.text("I was about to"); os.Exit(1) },
	"exit 0":            func(a *actor, _ string) { a.begin(); a.text("I was about to") },
	"dies in a line":    func(a *actor, _ string) { a.begin(); fmt.Print(`{"type":"assistant","mess`); os.Exit(3) },
	"dies in a call": func(a *actor, _ string) {
		a.begin()
		a.message()
		a.event(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "tool_use", "id": "toolu_1", "name": weatherTool, "input": object{}}})
		a.event(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "input_json_delta", "partial_json": `{"city":"Ro`}})
		os.Exit(3)
	},
	"never ends":  func(a *actor, _ string) { a.begin(); hang() },
	"stderr only": func(*actor, string) { fmt.Fprint(os.Stderr, "\x1b[31mI have nothing to say\x1b[0m\n") },
	"more tools":  func(a *actor, _ string) { a.begin("Bash"); hang() },
	"another server": func(a *actor, _ string) {
		a.say(object{"type": "system", "subtype": "init", "mcp_servers": []object{{"name": "evil", "status": "connected"}}})
		hang()
	},
	"no bridge": func(a *actor, _ string) {
		a.say(object{"type": "system", "subtype": "init", "mcp_servers": []object{{"name": "toolpost", "status": "failed"}}})
		hang()
	},
	"runs bash": func(a *actor, _ string) {
		a.begin()
		a.use("toolu_1", "Bash", object{"command": "id"})
		a.result("toolu_1", "uid=0", false)
		hang()
	},
	// reports calls that it did not make, or not so
	"invents a result": func(a *actor, _ string) {
		a.begin()
		a.use("toolu_1", weatherTool, object{"city": "Rome"})
		a.result("toolu_1", "sunny in Rome", false)
		a.end("It is sunny.")
	},
	"calls another city": func(a *actor, id string) {
		a.begin()
		a.use("toolu_1", weatherTool, object{"city": "Rome"})
		params := &mcp.CallToolParams{Name: "weather", Arguments: object{"city": "Bonn"}}
		if id != "" {
			params.Meta = mcp.Meta{"claudecode/toolUseId": id}
		}
		_, _ = a.session.CallTool(context.Background(), params)
		a.result("toolu_1", "sunny in Rome", false)
		a.end("It is sunny.")
	},
	"result of nothing": func(a *actor, _ string) { a.begin(); a.result("toolu_7", "sunny", false); a.end("It is sunny.") },
	"no introduction":   func(a *actor, _ string) { a.text("Here I am."); a.end("Here I am.") },
	"no tools": func(a *actor, _ string) {
		a.say(object{"type": "system", "subtype": "init", "session_id": "s1", "tools": []string{}, "mcp_servers": []object{{"name": "toolpost", "status": "connected"}}})
		a.end("I have none.")
	},
	"large number": func(a *actor, _ string) { // as a program that reads numbers as floating point
		a.begin()
		a.say(object{"type": "assistant", "message": object{"id": "m", "content": []object{{"type": "tool_use", "id": "toolu_1", "name": weatherTool, "input": json.RawMessage(`{"city":"Rome","n":9007199254740993}`)}}}})
		a.run("toolu_1", weatherTool, object{"city": "Rome", "n": json.RawMessage("9007199254740992")})
		a.end("It is sunny.")
	},
	"imagines a tool": func(a *actor, _ string) {
		a.begin()
		a.use("toolu_1", "Bash", object{})
		a.result("toolu_1", "No such tool", true)
		a.text("Sorry.")
		a.end("")
	},
	"another agent": func(a *actor, _ string) {
		a.begin()
		a.say(object{"type": "assistant", "parent_tool_use_id": "toolu_1", "message": object{"id": "x", "content": "I am another"}})
		hang()
	},
	"says its secrets": func(a *actor, _ string) {
		fmt.Fprintln(os.Stderr, "key "+os.Getenv("FAKE_API_KEY"))
		os.Exit(1)
	},
	"leaves something behind": func(a *actor, file string) {
		leave(file)
		hang()
	},
	"many calls": func(a *actor, _ string) {
		a.begin()
		a.message()
		for i := range 1000 {
			a.event(object{"type": "content_block_start", "index": i, "content_block": object{"type": "tool_use", "id": fmt.Sprint("toolu_", i), "name": weatherTool}})
		}
		hang()
	},
}

// hang goes on without a word.
func hang() { time.Sleep(time.Hour) }
