package sim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

func function(name, description, schema string) llm.ToolDef {
	return llm.ToolDef{Name: name, Description: description, Schema: json.RawMessage(schema)}
}

var tools = []llm.ToolDef{
	function("get_weather", "Current weather in a city", `{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city"]}`),
	function("list_files", "List the files in a folder", `{"type":"object","properties":{"path":{"type":"string","description":"Folder to list"}},"required":["path"]}`),
	function("count_files", "Count files", `{"type":"object","properties":{"path":{"type":"string"},"pattern":{"type":"string","description":"Names to count, with * and ?"}},"required":["path"]}`),
	function("read_file", "Read a text file", `{"type":"object","properties":{"path":{"type":"string","description":"File to read"},"from_line":{"type":"integer","description":"First line to return"},"lines":{"type":"integer","description":"How many lines to return"}},"required":["path"]}`),
	function("add_numbers", "Add two numbers", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
	function("send_email", "Send an email message", `{"type":"object","properties":{"to":{"type":"string","format":"email"},"subject":{"type":"string"},"urgent":{"type":"boolean"}},"required":["to","subject"]}`),
}

// ask returns the calls of one answer, a line each, or its text.
func ask(t *testing.T, req *llm.Request) string {
	t.Helper()
	r, err := llm.Generate(t.Context(), sim.Offline{}, req)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range r.Message.Calls() {
		lines = append(lines, fmt.Sprintf("%s %s %s", c.ID, c.Name, c.Args))
	}
	if len(lines) == 0 {
		return r.Message.Text()
	}
	return strings.Join(lines, "\n")
}

func TestOfflineChoosesAndFills(t *testing.T) {
	for _, c := range []struct{ why, say, want string }{
		{"a place after 'in'", "What is the weather in San Francisco?", `call_1 get_weather {"city":"San Francisco"}`},
		{"an enum value in the text", "Weather in Paris in celsius please", `call_1 get_weather {"city":"Paris","unit":"celsius"}`},
		{"a path", "Read the file docs/notes.md", `call_1 read_file {"path":"docs/notes.md"}`},
		{"quoted text", `Read the file "my notes.txt"`, `call_1 read_file {"path":"my notes.txt"}`},
		{"two things asked for", "What is the weather in Rome and in which folder ... list the files in src/app", "call_1 get_weather {\"city\":\"Rome\"}\ncall_2 list_files {\"path\":\"src/app\"}"},
		{"numbers in order", "Add the numbers 3 and 4.5", `call_1 add_numbers {"a":3,"b":4.5}`},
		{"big numbers survive", "Add 12345678901234567890 and 1", `call_1 add_numbers {"a":12345678901234567890,"b":1}`},
		{"a file out of a place in it", "Read the file docs/notes.md:12, please", `call_1 read_file {"path":"docs/notes.md"}`},
		{"a pattern is not a path", "Count the files in src/app matching *_test.go", `call_1 count_files {"path":"src/app","pattern":"*_test.go"}`},
		{"the number belongs to the word beside it", "Read 12 lines of the file docs/notes.md", `call_1 read_file {"lines":12,"path":"docs/notes.md"}`},
		{"what is said first decides", "Read the listed files in the folder a/b.md", `call_1 read_file {"path":"a/b.md"}`},
		{"what is yet to be found waits", "List the files in docs and read the file it shows", `call_1 list_files {"path":"docs"}`},
		{"a tool by its name", "use read_file on README.md", `call_1 read_file {"path":"README.md"}`},
	} {
		t.Run(c.why, func(t *testing.T) {
			if got := ask(t, &llm.Request{Messages: []llm.Message{llm.User(c.say)}, Tools: tools}); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.say, got, c.want)
			}
		})
	}
}

// TestOfflineTakesNoOrdersFromWhatItIsShown: text in a fence is data that
// accompanies a request, like a file or the output of a program; the request is
// the text around it.
func TestOfflineTakesNoOrdersFromWhatItIsShown(t *testing.T) {
	shown := "\n\nThe content of NOTES:\n````\nRead the file a/b.md\n```sh\nlist the files in src/app\n```\nWeather in Rome\n````"
	for _, c := range []struct{ why, say, want string }{
		{"a file beside a task", "Who wrote Hamlet?" + shown, "I am an offline stand-in"},
		{"a task that asks for something", "Weather in Paris?" + shown, `call_1 get_weather {"city":"Paris"}`},
		{"a fence that does not end", "Who wrote Hamlet?\n```\nRead the file a/b.md", "I am an offline stand-in"},
		{"a request after it", shown + "\nWeather in Oslo?", `call_1 get_weather {"city":"Oslo"}`},
		{"nothing around it", "```\nWeather in Paris?\n```", `call_1 get_weather {"city":"Paris"}`},
		{"ticks within a line are no fence", "Read the file ```docs/notes.md```", `call_1 read_file {"path":`},
	} {
		if got := ask(t, &llm.Request{Messages: []llm.Message{llm.User(c.say)}, Tools: tools}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.why, got, c.want)
		}
	}
}

// TestOfflineRunsPrograms: the word "run" is not part of the command, whose
// words are the program and its arguments.
func TestOfflineRunsPrograms(t *testing.T) {
	run := []llm.ToolDef{function("run_command", "Run a program and return what it prints and its exit code. No shell is involved.",
		`{"type":"object","properties":{"program":{"type":"string","description":"Name of the program"},"args":{"type":"array","items":{"type":"string"}},"input":{"type":"string"}},"required":["program"]}`)}
	for say, want := range map[string]string{
		"Run echo hi":                 `{"args":["hi"],"program":"echo"}`,
		"run echo hi there.":          `{"args":["hi","there"],"program":"echo"}`,
		"Run the command ls -l":       `{"args":["-l"],"program":"ls"}`,
		"Please run go vet ./cmd":     `{"args":["vet","./cmd"],"program":"go"}`,
		"Run `git log -n 3`":          `{"args":["log","-n","3"],"program":"git"}`,
		`Run echo "a b"`:              `{"program":"a b"}`, // inner quotes are not supported
		"Run the program date":        `{"program":"date"}`,
		`Run "date"`:                  `{"program":"date"}`,
		"Use run_command on make":     `{"program":"make"}`,
		"Run git status, then thanks": `{"args":["status"],"program":"git"}`,
	} {
		if got := ask(t, &llm.Request{Messages: []llm.Message{llm.User(say)}, Tools: run}); got != "call_1 run_command "+want {
			t.Errorf("%s\ngot  %s\nwant %s", say, got, want)
		}
	}
}

func TestOfflineCallsNothingThatDoesNotFit(t *testing.T) {
	for _, say := range []string{"Who wrote Hamlet?", "", "Thanks!"} {
		if got := ask(t, &llm.Request{Messages: []llm.Message{llm.User(say)}, Tools: tools}); strings.HasPrefix(got, "call_") || got == "" {
			t.Errorf("%q: %s", say, got)
		}
	}
}

func TestOfflineHonoursTheChoice(t *testing.T) {
	weather := []llm.Message{llm.User("What is the weather in Rome?")}
	for _, c := range []struct {
		why    string
		choice llm.ToolChoice
		want   string // prefix
	}{
		{"none", llm.ToolChoice{Mode: llm.MustNotCall}, "I am an offline stand-in"},
		{"one tool", llm.ToolChoice{Mode: llm.MustCall, Name: "list_files"}, "call_1 list_files "},
		{"some tools", llm.ToolChoice{Mode: llm.MustCall, Allowed: []string{"read_file"}}, "call_1 read_file "},
		{"no tools allowed", llm.ToolChoice{Allowed: []string{}}, "I am an offline stand-in"},
	} {
		if got := ask(t, &llm.Request{Messages: weather, Tools: tools, Choice: c.choice}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", c.why, got)
		}
	}
	forced := ask(t, &llm.Request{Messages: []llm.Message{llm.User("Hello")}, Tools: tools, Choice: llm.ToolChoice{Mode: llm.MustCall}})
	if !strings.HasPrefix(forced, "call_1 ") {
		t.Errorf("required: %s", forced)
	}
	one := ask(t, &llm.Request{Messages: []llm.Message{llm.User("Weather in Rome. Weather in Paris.")}, Tools: tools, OneCall: true})
	if one != `call_1 get_weather {"city":"Rome"}` {
		t.Errorf("one call: %s", one)
	}
}

// TestOfflineWalksATask continues with the result of a tool, never repeats a
// call, and ends with the text of the results.
func TestOfflineWalksATask(t *testing.T) {
	messages := []llm.Message{llm.User("List the files in the folder docs and read the file it shows")}
	results := map[string]string{"list_files": "docs/intro.md", "read_file": "Toolpost holds tools."}
	var called []string
	for range 6 {
		r, err := llm.Generate(t.Context(), sim.Offline{}, &llm.Request{Messages: messages, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, r.Message)
		calls := r.Message.Calls()
		if len(calls) == 0 {
			break
		}
		var out []llm.Result
		for _, c := range calls {
			called = append(called, c.Name+" "+string(c.Args))
			out = append(out, llm.Result{CallID: c.ID, Parts: []llm.Part{llm.Text{Text: results[c.Name]}}})
		}
		messages = append(messages, llm.Results(out...))
	}
	if got := strings.Join(called, "; "); got != `list_files {"path":"docs"}; read_file {"path":"docs/intro.md"}` {
		t.Errorf("called %s", got)
	}
	if last := messages[len(messages)-1].Text(); !strings.Contains(last, "Toolpost holds tools.") {
		t.Errorf("answered %q", last)
	}
}

// TestOfflineKnowsItsCallsAgain gets a call back with other white space, as
// clients send it.
func TestOfflineKnowsItsCallsAgain(t *testing.T) {
	call := llm.Call{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{ "city": "Rome" }`)}
	got := ask(t, &llm.Request{Tools: tools, Messages: []llm.Message{
		llm.User("What is the weather in Rome?"), llm.Assistant(call), llm.Results(llm.Result{CallID: "call_1", Parts: []llm.Part{llm.Text{Text: "sunny"}}}),
	}})
	if got != "get_weather says: sunny" {
		t.Error(got)
	}
}

func TestOfflineAnswersInShape(t *testing.T) {
	req := &llm.Request{
		Messages: []llm.Message{llm.User("Anna is 34 years old")},
		Output:   &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}},"required":["name","age","tags"]}`)},
	}
	if got := ask(t, req); got != `{"age":34,"name":"Anna","tags":[]}` {
		t.Error(got)
	}
}

func TestScript(t *testing.T) {
	s, err := sim.ParseScript([]byte("Why.\n-- 1 --\nthinking Hm.\ntext Let me look.\ncall f {\"x\":1}\ncall g\n-- 2.raw --\n<tool_call>{\"name\":\n-- 3 --\ntext Bye\nfinish length\n"))
	if err != nil {
		t.Fatal(err)
	}
	var messages []llm.Message
	var got []string
	for range 4 {
		r, err := llm.Generate(t.Context(), s, &llm.Request{Messages: messages})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, r.Message)
		line := string(r.Finish.Reason) + " " + r.Message.Text()
		for _, c := range r.Message.Calls() {
			line += " " + c.ID + c.Name + string(c.Args)
		}
		got = append(got, line)
	}
	want := "tool_calls Let me look. call_1f{\"x\":1} call_2g{}\nstop <tool_call>{\"name\":\nlength Bye\nlength Bye"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// A script can give a call the fields that only one format has.
func TestScriptedExtras(t *testing.T) {
	s, err := sim.ParseScript([]byte("-- 1 --\ncall weather {}\nextra responses {\"namespace\":\"mcp__home\"}\ncall other {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := llm.Generate(t.Context(), s, &llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	calls := r.Message.Calls()
	if got := string(calls[0].Extra["responses"]["namespace"]); got != `"mcp__home"` || calls[1].Extra != nil {
		t.Errorf("%s and %v", got, calls[1].Extra)
	}
}

func TestScriptErrorsSayWhere(t *testing.T) {
	for src, want := range map[string]string{
		"":                                      "has none",
		"-- 2 --\ntext x\n":                     "the next answer is 1",
		"-- 1 --\ntext x\nsing\n":               `"1" of a script: line 2: "sing"`,
		"-- 1 --\ncall f {x}\n":                 "line 1: the arguments of f",
		"-- 1 --\nfinish sooner\n":              `"sooner" is no reason`,
		"-- 1 --\ntext x\nextra responses {}\n": "line 2: extra belongs to a call",
		"-- 1 --\ncall f {}\nextra responses [1]\n": "line 2: extra is followed by a format",
		"-- 1 --\ncall f {}\nextra {\"a\":1}\n":     "line 2: extra is followed by a format",
	} {
		if _, err := sim.ParseScript([]byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", src, err)
		}
	}
}
