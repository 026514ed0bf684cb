package builtin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// declare reads one tool and makes it.
func declare(t *testing.T, text string) tool.Tool {
	t.Helper()
	all, err := builtin.ParseDeclared([]byte(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d tools, %v", len(all), err)
	}
	made, err := all[0].Tool(builtin.Command{Dir: t.TempDir()}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

const two = `{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`

func TestDeclaredIsStrict(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for why, c := range map[string]struct{ text, want string }{
		"a key nobody knows":          {`[{"name":"f","comand":["x"]}]`, `tool 1 (f): the key "comand" is not known`},
		"two workers":                 {`[{"name":"f","command":["x"],"http":{"url":"http://h/"}}]`, "both a command and an http"},
		"no program":                  {`[{"name":"f","command":[]}]`, "names no program"},
		"a program from the call":     {`[{"name":"f","parameters":` + two + `,"command":["{a}"]}]`, "cannot come from the call"},
		"a place without a parameter": {`[{"name":"f","parameters":` + two + `,"command":["x","{c}"]}]`, "{c} is not a parameter"},
		"an unknown effect":           {`[{"name":"f","command":["x"],"effects":["harmless"]}]`, `"harmless" is not one of idempotent, local, read_only`},
		"effects without work":        {`[{"name":"f","effects":["local"]}]`, "belong to a tool with"},
		"a strange timeout":           {`[{"name":"f","command":["x"],"timeout":"soon"}]`, `timeout "soon"`},
		"a host from the call":        {`[{"name":"f","parameters":` + two + `,"http":{"url":"https://{a}.example.org/"}}]`, "cannot come from the call"},
		"no host":                     {`[{"name":"f","http":{"url":"/things"}}]`, "needs a url"},
		"a password in the address":   {`[{"name":"f","http":{"url":"https://u:p@h/"}}]`, "ends up in records"},
		"no name":                     {`[{"command":["x"]}]`, `tool 1 (without a name): it has no "name"`},
		"no object":                   {`[1]`, "not an object"},
		"broken YAML":                 {"tools:\n  - name: [\n", "line "},
		"broken JSON":                 {`[{"name":`, "unexpected EOF"},
	} {
		attacks++
		if _, err := builtin.ParseDeclared([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// TestDeclaredIsBounded: a few bytes of a file must not expand to fill the
// memory, and an entry without content is not a tool.
func TestDeclaredIsBounded(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%[3]s,%[3]s,%[3]s,%[3]s,%[3]s,%[3]s,%[3]s,%[3]s,%[3]s]\n", c, c, "*"+string(c-1))
	}
	for text, says := range map[string]string{
		bomb:                                    "aliases",
		"tools: " + strings.Repeat("[", 1e5):    "levels",
		"tools: [null]\n":                       "not an object",
		`{"tools":[null]}`:                      "not an object",
		`[null]`:                                "not an object",
		"null":                                  "not an object",
		"- name: f\n---\n- name: g\n":           "second document",
		"- name: f\n-\n":                        "not an object",
		`[{"name":"f","parameters":[null]}]`:    "",
		`{"tools":[[null]]}`:                    "not an object",
		"tools:\n  - name: f\n    http: null\n": "",
	} {
		var err error
		linear.Soon(t, fmt.Sprintf("%.40q", text), func() { _, err = builtin.ParseDeclared([]byte(text)) })
		if says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%.40q: %v, want %q", text, err, says)
		}
	}
}

func TestDeclaredForms(t *testing.T) {
	for _, text := range []string{
		`[{"name":"f","description":"d","parameters":` + two + `,"command":["x","{a}"],"effects":["read_only","local"],"timeout":"5s"}]`,
		`{"tools":[{"name":"f","description":"d","input_schema":` + two + `,"command":["x","{a}"],"effects":["local","read_only"],"timeout":"5000ms"}]}`,
		`{"type":"function","function":{"name":"f","description":"d","parameters":` + two + `},"command":["x","{a}"],"effects":["read_only","local"],"timeout":"5s"}`,
		"tools:\n- name: f\n  description: d\n  parameters:\n    type: object\n    properties: {a: {type: string}, b: {}}\n  command: [x, '{a}']\n  effects: [read_only, local]\n  timeout: 5s\n",
	} {
		all, err := builtin.ParseDeclared([]byte(text))
		if err != nil || len(all) != 1 {
			t.Fatalf("%v from %s", err, text)
		}
		d := all[0]
		if d.Name != "f" || d.Description != "d" || !cmp.Equal(d.Command, []string{"x", "{a}"}) || d.Effects != tool.ReadOnly|tool.Local || d.Timeout != 5*time.Second || !strings.Contains(string(d.Schema), "properties") {
			t.Errorf("%+v from %s", d, text)
		}
	}
}

func TestDeclaredCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test runs programs of POSIX")
	}
	t.Setenv("DECLARED_KEY", "from the environment")
	for _, c := range []struct{ why, command, args, want string }{
		{"values are arguments, not shell text", `["printf","%s|","{a}","x={b}"]`, `{"a":"$(id); *","b":1.50}`, "$(id); *|x=1.50|"},
		{"what is not given is left out", `["printf","%s|","{a}","{b}","end"]`, `{"b":"x"}`, "x|end|"},
		{"a list is several arguments", `["printf","%s|","{b}"]`, `{"b":["one","two"]}`, "one|two|"},
		{"a value is not read for braces again", `["printf","%s|","{a}:{b}"]`, `{"a":"{b}","b":"x"}`, "{b}:x|"},
		{"arguments are on standard input", `["cat"]`, `{"a":"x"}`, `{"a":"x"}`},
		{"a variable that was asked for", `["sh","-c","echo $DECLARED_KEY"]`, `{}`, "from the environment"},
		{"an option in a value", `["cat","{a}"]`, `{"a":"--version"}`, `error: validation: a starts with "-", which cat would read as an option`},
		{"after -- nothing is an option", `["printf","--","%s","{a}"]`, `{"a":"-n"}`, "-n"},
		{"a program that fails", `["sh","-c","echo out; echo why >&2; exit 3"]`, `{}`, "error: execution: sh failed with exit code 3: why\n\nout"},
		{"a program that is not there", `["no-such-program-anywhere"]`, `{}`, "error: not_found: no-such-program-anywhere cannot be run"},
		{"a NUL byte", `["cat","{a}"]`, `{"a":"x\u0000y"}`, "error: validation: an argument"},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := declare(t, `[{"name":"f","parameters":`+two+`,"env":["DECLARED_KEY","DECLARED_UNSET"],"command":`+c.command+`}]`)
			out, err := f.Run(t.Context(), json.RawMessage(c.args))
			got := textOf(out)
			if err != nil {
				got = "error: " + err.Error()
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestDeclaredKeepsKeysBack gives a program no variable it was not promised.
func TestDeclaredKeepsKeysBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test runs programs of POSIX")
	}
	t.Setenv("SECRET_API_KEY", "hunter2")
	out, err := declare(t, `[{"name":"f","command":["env"]}]`).Run(t.Context(), json.RawMessage(`{}`))
	if err != nil || strings.Contains(textOf(out), "hunter2") {
		t.Errorf("%v %v", textOf(out), err)
	}
}

func TestDeclaredEndpoints(t *testing.T) {
	t.Setenv("DECLARED_KEY", "k1")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "elsewhere") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return
		case "/broken":
			http.Error(w, "no room", http.StatusTooManyRequests)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), body)
	}))
	defer server.Close()
	for _, c := range []struct{ why, http, args, want string }{
		{"arguments are the body", `{"url":"/x"}`, `{"a":"y","b":2}`, `POST /x  {"a":"y","b":2}`},
		{"arguments are the query", `{"url":"/x","method":"get"}`, `{"a":"y z","b":2}`, `GET /x?a=y+z&b=2  `},
		{"a place in the path", `{"url":"/x/{a}?b={b}","method":"GET"}`, `{"a":"../y","b":"p&q"}`, `GET /x/..%2Fy?b=p%26q  `},
		{"a path out of the path", `{"url":"/x/{a}","method":"GET"}`, `{"a":".."}`, `error: validation: a cannot be ".."`},
		{"a key from the environment", `{"url":"/x","method":"GET","headers":{"Authorization":"Bearer ${DECLARED_KEY}"}}`, `{}`, `GET /x Bearer k1 `},
		{"a key that is not there", `{"url":"/x","headers":{"Authorization":"${DECLARED_UNSET}"}}`, `{}`, `error: permission: the header Authorization needs the environment variable DECLARED_UNSET`},
		{"keys stay with their host", `{"url":"/moved","method":"GET"}`, `{}`, `error: permission: `},
		{"a failure says why", `{"url":"/broken"}`, `{}`, `error: rate_limit: `},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := declare(t, `[{"name":"f","parameters":`+two+`,"http":`+strings.Replace(c.http, `"url":"`, `"url":"`+server.URL, 1)+`}]`)
			out, err := f.Run(t.Context(), json.RawMessage(c.args))
			got := textOf(out)
			if err != nil {
				got = "error: " + err.Error()
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRedescribe(t *testing.T) {
	files, err := builtin.OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	was := files.Tools()[0]
	all, err := builtin.ParseDeclared([]byte("- name: list_files\n  description: What is there.\n"))
	if err != nil || all[0].Works() {
		t.Fatal(all, err)
	}
	is := all[0].Redescribe(was)
	if is.Description != "What is there." || string(is.Input) != string(was.Input) || !cmp.Equal(is.Examples, was.Examples) {
		t.Errorf("%+v", is.Def())
	}
	if _, err := all[0].Tool(builtin.Command{}, "x"); err == nil {
		t.Error("a tool that nobody does")
	}
}

func FuzzParseDeclared(f *testing.F) {
	for _, text := range []string{`[{"name":"f","command":["x","{a}"]}]`, "- name: f\n  http: {url: https://h/}\n", "{", "a: &x [*x]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := builtin.ParseDeclared(text)
		for _, d := range all {
			if err == nil && d.Works() {
				if _, err := d.Tool(builtin.Command{Dir: os.TempDir()}, "fuzz"); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func textOf(out tool.Output) string { return llm.Result{Parts: out.Parts}.Text() }
