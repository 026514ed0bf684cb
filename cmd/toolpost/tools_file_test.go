package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
)

const ownYAML = `# what we use at the office
- name: get_weather
  description: Get the current weather in a city.
  parameters: {type: object, properties: {city: {type: string, description: The city.}}, required: [city]}
  effects: [read_only]
  command: [echo, "sunny in", "{city}"]
- name: book_flight
  description: Book a flight to a city.
  parameters: {type: object, properties: {city: {type: string}}, required: [city]}
  command: [echo, booked, "{city}"]
`

// A YAML tools file works in every command with --tools.
func TestYAMLToolsEverywhere(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"own.yaml":   ownYAML,
		"good.txt":   `<tool_call>{"name":"get_weather","arguments":{"city":"Rome"}}</tool_call>`,
		"bad.txt":    `<tool_call>{"name":"get_weather","arguments":{"town":"Rome"}}</tool_call>`,
		"typo.yaml":  "- name: f\n  comand: [echo]\n",
		"broken.yml": "- name: f\n  command: [echo\n",
	})
	for _, c := range []struct {
		why, in, args string
		code          int
		says          string
	}{
		{"list", "", "tools list --tools own.yaml", 0, "book_flight"},
		{"list of standard input", ownYAML, "tools list --tools -", 0, "get_weather"},
		{"list for programs", "", "tools list --json --tools own.yaml", 0, `"city"`},
		{"audit", "", "tools audit --tools own.yaml", 0, "no-example"},
		{"select", "", "tools select -k 1 --tools own.yaml weather", 0, "get_weather\n"},
		{"parse", "", "parse --tools own.yaml good.txt", 0, "get_weather"},
		{"parse checks the schema", "", "parse --tools own.yaml bad.txt", 1, "city"},
		{"explain", "", "explain --tools own.yaml good.txt", 0, "get_weather"},
		{"explain checks the schema", "", "explain --tools own.yaml bad.txt", 1, "city"},
		{"call of a tool that reads", "", `tools call --tools own.yaml get_weather {"city":"Rome"}`, 0, "sunny in Rome"},
		{"call with arguments to correct", "", `tools call --tools own.yaml get_weather {"town":"Rome"}`, 1, "city"},
		{"call of a built-in tool beside them", "", `tools call --tools own.yaml read_file {"path":"good.txt"}`, 0, "Rome"},
		{"call of a tool that may change things", "", `tools call --tools own.yaml book_flight {"city":"Rome"}`, 1, "no policy allows it"},
		{"the same, allowed", "", `tools call --tools own.yaml book_flight {"city":"Rome"} --yes`, 0, "booked Rome"},
		{"a misspelt key", "", "tools list --tools typo.yaml", 1, `"comand" is not known`},
		{"a misspelt key in parse", "", "parse --tools typo.yaml good.txt", 1, `"comand" is not known`},
		{"broken YAML", "", "tools list --tools broken.yml", 1, "broken.yml: line 2"},
		{"no file", "", "tools call --tools nowhere.yaml f", 1, "nowhere.yaml"},
	} {
		r := programtest.Run(t, c.in, strings.Fields(c.args)...)
		if r.Code != c.code || !strings.Contains(r.Out+r.ErrOut, c.says) {
			t.Errorf("%s: toolpost %s: code %d\n%s%s", c.why, c.args, r.Code, r.Out, r.ErrOut)
		}
	}
}

// A key that the server of a declared tool repeats is not printed.
func TestToolsCallRedactsKeys(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("you sent " + r.Header.Get("X-Key")))
	}))
	defer server.Close()
	clitest.Bare(t, map[string]string{"own.yaml": "- name: ask\n  description: Ask.\n  effects: [read_only]\n  http: {method: GET, url: " + server.URL + ", headers: {X-Key: '${OFFICE_WORD}'}}\n"})
	t.Setenv("OFFICE_WORD", "swordfish-of-the-office")
	r := programtest.Run(t, "", "tools", "call", "--tools", "own.yaml", "ask")
	if r.Code != 0 || strings.Contains(r.Out+r.ErrOut, "swordfish") || !strings.Contains(r.Out, "you sent") {
		t.Errorf("code %d\n%s%s", r.Code, r.Out, r.ErrOut)
	}
}

func TestToolsAdd(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"office.yaml": ownYAML,
		"list.json":   `[{"name":"f","description":"d","command":["true"]}]`,
		"under.yaml":  "tools:\n  - name: f\n    description: d\n    command: [\"true\"]\n",
		"broken.yaml": "- name: [\n",
	})
	add := func(args ...string) programtest.Result {
		return programtest.Run(t, "", append([]string{"tools", "add"}, args...)...)
	}
	for _, c := range []struct {
		why  string
		args []string
		code int
		says string
	}{
		{"a new file", []string{"count_words", "-d", "Count the words of a text.", "-p", "text!=The text: any", "-p", "limit:integer", "--effects", "read_only,local", "--", "echo", "words of", "{text}"}, 0, "tools call --tools tools.yaml count_words"},
		{"a second tool", []string{"ask_server", "-d", "Ask.", "-p", "id:integer!", "--url", "http://127.0.0.1:1/things/{id}", "--method", "GET", "--header", "X-Key: ${OFFICE_KEY}"}, 0, "ask_server"},
		{"to a file with comments", []string{"--tools", "office.yaml", "again", "-d", "Again.", "--", "true"}, 0, "again"},
		{"to a list in JSON", []string{"--tools", "list.json", "g", "-d", "G.", "--", "true"}, 0, "g"},
		{"under a key", []string{"--tools", "under.yaml", "g", "-d", "G.", "--", "true"}, 0, "g"},
		{"to a broken file", []string{"--tools", "broken.yaml", "g", "-d", "G.", "--", "true"}, 1, "broken.yaml"},
		{"a name twice", []string{"--tools", "office.yaml", "get_weather", "-d", "x", "--", "true"}, 1, "get_weather is there already"},
		{"a name of a built-in tool", []string{"--tools", "office.yaml", "read_file", "-d", "x", "--", "true"}, 1, "read_file is there already"},
		{"nobody does the work", []string{"idle", "-d", "x"}, 2, "--url"},
		{"two do the work", []string{"idle", "-d", "x", "--url", "http://a", "--", "true"}, 2, "both"},
		{"no description", []string{"idle", "--", "true"}, 2, "--description"},
		{"no such type", []string{"idle", "-d", "x", "-p", "a:strnig", "--", "true"}, 2, "string"},
		{"a place for no parameter", []string{"idle", "-d", "x", "--", "echo", "{a}"}, 1, "{a} is not a parameter"},
		{"no such effect", []string{"idle", "-d", "x", "--effects", "readonly", "--", "true"}, 1, "read_only"},
		{"a name that no vendor takes", []string{"a b", "-d", "x", "--", "true"}, 1, "name"},
		{"no name", []string{"-d", "x", "--", "true"}, 2, "NAME"},
	} {
		before := files(t, "tools.yaml", "office.yaml", "list.json", "under.yaml", "broken.yaml")
		r := add(c.args...)
		if r.Code != c.code || !strings.Contains(r.Out+r.ErrOut, c.says) {
			t.Errorf("%s: code %d\n%s%s", c.why, r.Code, r.Out, r.ErrOut)
		}
		if after := files(t, "tools.yaml", "office.yaml", "list.json", "under.yaml", "broken.yaml"); r.Code != 0 && after != before {
			t.Errorf("%s: it failed and changed a file:\n%s", c.why, after)
		}
	}
	if text := files(t, "office.yaml"); !strings.HasPrefix(text, ownYAML) {
		t.Errorf("what stood in the file is no longer there:\n%s", text)
	}
	for _, c := range []struct{ file, names string }{{"tools.yaml", "count_words ask_server"}, {"office.yaml", "get_weather book_flight again"}, {"list.json", "f g"}, {"under.yaml", "f g"}} {
		s := &settings.ToolOptions{Root: ".", Tools: []string{c.file}}
		set, done, err := toolset.Open(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(set.Names()[3:], " "); got != c.names {
			t.Errorf("%s has %s", c.file, got)
		}
		done()
	}
	if r := programtest.Run(t, "", "tools", "call", "--tools", "tools.yaml", "count_words", `{"text":"-a b"}`); r.Code != 0 && !strings.Contains(r.Out, "option") {
		t.Errorf("%s%s", r.Out, r.ErrOut)
	}
	if r := programtest.Run(t, "", "tools", "call", "--tools", "tools.yaml", "count_words", `{"text":"a b"}`); r.Out != "words of a b\n" {
		t.Errorf("%s%s", r.Out, r.ErrOut)
	}
}

// files returns the text of the existing files.
func files(t *testing.T, names ...string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil {
			all.Write(b)
		}
	}
	return all.String()
}
