//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// wrongInput is a common mistake: a command line in which SERVER is replaced by a server that refuses every key, and
// CLOSED by an address without a server.
type wrongInput struct {
	why, stdin, args string
	code             int
	says             string // in the one line with the error
}

var wrongInputs = []wrongInput{
	// commands and flags
	{"a mistyped command", "", "pasre a.txt", 2, "did you mean parse"},
	{"a mistyped subcommand", "", "tools lsit", 2, "did you mean list"},
	{"a mistyped flag", "", "run --moedl x hello", 2, "moedl"},
	{"a flag without its value", "", "run --model", 2, "model"},
	{"a number that is none", "", "run --max-turns many hello", 2, "many"},
	{"too many turns", "", "run --max-turns 9999 hello", 2, "1 to 500"},
	{"a duration without a unit", "", "run --timeout 10 hello", 2, "timeout"},
	{"a class that is none", "", "run --allow everything hello", 2, "everything"},
	{"a temperature of nobody", "", "run --temperature 9 hello", 2, "0 to 2"},
	{"no task", "", "run", 2, "task"},
	{"an empty task", "", "run -", 2, "task"},
	{"a run that is none to go on with", "", "run --resume nobody", 1, "nobody"},
	{"two ways to show", "", "receipts show --json --full latest", 2, "give one"},
	{"a limit below nothing", "", "receipts list --limit -1", 2, "--limit"},
	{"a setting that is none", "", "config set modle x", 2, "did you mean model"},
	{"a value that no setting takes", "", "config set max_turns 0", 2, "1 to 500"},
	// files with unexpected content
	{"a missing answer", "", "parse nowhere.txt", 1, "nowhere.txt"},
	{"a folder for an answer", "", "parse folder", 1, "folder"},
	{"missing tools", "", "parse --tools nowhere.json empty", 1, "nowhere.json"},
	{"empty tools", "", "tools list --tools empty", 1, "no tools"},
	{"binary tools", "", "tools list --tools binary", 1, "binary"},
	{"a folder for tools", "", "tools list --tools folder", 1, "folder"},
	{"tools that are a number", "", "tools list --tools number", 1, "number"},
	{"broken JSON for tools", "", "tools list --tools half.json", 1, "half.json"},
	{"broken YAML for tools", "", "tools list --tools half.yaml", 1, "half.yaml"},
	{"a mistyped key of a tool", "", "run --tools typo.yaml hello", 1, `"comand"`},
	{"tools that nobody does", "", "run --tools idle.yaml hello", 1, "neither a command nor an http"},
	{"missing tools of a run", "", "run --tools nowhere.yaml hello", 1, "nowhere.yaml"},
	{"an old OpenAPI document", "", "run --tools swagger.json hello", 1, "version 2"},
	{"a broken OpenAPI document", "", "tools list --tools openapi.yaml", 1, "no paths"},
	{"an OpenAPI document elsewhere", "", "tools list --tools far.yaml", 1, "nothing is fetched"},
	{"a key without a server", "", "tools list --tools keyed.yaml", 1, "server"},
	{"a missing configuration", "", "run --config nowhere.yaml hello", 1, "nowhere.yaml"},
	{"a binary configuration", "", "run --config binary hello", 1, "binary"},
	{"a huge configuration", "", "run --config huge hello", 1, "bytes"},
	{"a mistyped key of the configuration", "", "run --config modle.yaml hello", 1, "did you mean model"},
	{"a list for a text", "", "run --config list.yaml hello", 1, "list.yaml:1"},
	{"a root that is not there", "", "run --root nowhere hello", 1, "nowhere"},
	{"a root that is a file", "", "run --root number hello", 1, "number"},
	{"a missing schema", "", "run --output-schema nowhere.json hello", 1, "nowhere.json"},
	{"an empty schema", "", "run --output-schema empty hello", 1, "empty"},
	{"a schema that is none", "", "run --output-schema half.json hello", 1, "half.json"},
	{"a missing instance", "", "validate --schema schema.json nowhere.json", 1, "nowhere.json"},
	{"an instance that is not JSON", "", "validate --schema schema.json binary", 1, ""},
	{"no schema", "", "validate number", 2, "--schema"},
	{"a task that is no text", "\xff\xfe\x00", "run -", 1, "UTF-8"},
	{"a model that answers for others and does not exist", "", "sim --unknown nonsense", 2, "--unknown: "},
	{"a task that is huge", strings.Repeat("x", cli.MaxTask+1), "run -", 1, "longer than"},
	{"a batch of no JSON", "nonsense\n", "parse --batch", 0, ""},
	// tools by hand
	{"a mistyped tool", "", "tools call raed_file", 1, ""},
	{"arguments that are no JSON", "", "tools call read_file path=x", 1, ""},
	{"a tool to add that nobody does", "", "tools add idle -d x", 2, "--url"},
	{"a tool to add that is there", "", "tools add read_file -d x -- true", 1, "there already"},
	// records
	{"a run that is none", "", "receipts show nobody", 1, "nobody"},
	{"a store that is none", "", "receipts list --journal nowhere", 1, "no runs"},
	{"a record that is none", "", "receipts verify ./number", 1, ""},
	{"a record to replay that is none", "", "replay ./binary", 1, ""},
	{"an empty record", "", "receipts show ./empty", 1, "no entries"},
	{"a format that is none", "", "receipts export --format z latest", 2, `"z"`},
	{"a key that is none", "", "receipts sign --key number latest", 1, "number"},
	// models, keys and networks
	{"a model that nobody has", "", "run -m nobody/nothing hello", 1, "nobody"},
	{"a server that is not there", "", "run -m CLOSED/v1#m hello", 1, "connection refused"},
	{"a wrong key", "", "run -m SERVER/v1#m hello", 1, "401"},
	{"a script that is not there", "", "run -m sim/script:nowhere.txtar hello", 1, "nowhere.txtar"},
	{"a fault that is none", "", "run -m sim/native+nonsense=1 hello", 1, "nonsense"},
	{"a list of models from nowhere", "", "models update --from nowhere.json", 1, "nowhere.json"},
}

// TestWrongInputs runs commands with common mistakes. Each prints the error in one line, with the right exit status,
// and no existing file is lost.
func TestWrongInputs(t *testing.T) {
	if len(wrongInputs) < 60 {
		t.Errorf("only %d wrong inputs", len(wrongInputs))
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"invalid api key","type":"invalid_request_error"}}`, http.StatusUnauthorized)
	}))
	defer refuses.Close()
	const closed = "http://127.0.0.1:1" // another process may reuse a port that was free
	places := strings.NewReplacer("SERVER", refuses.URL, "CLOSED", closed)
	kept := map[string]string{
		"empty": "", "binary": "\x7fELF\x00\x01\xff\xfe\x00", "number": "7", "half.json": `[{"name":`, "half.yaml": "- name: [\n", "huge": strings.Repeat("# x\n", 300_000),
		"typo.yaml": "- {name: f, comand: [x]}\n", "idle.yaml": "- {name: f, description: d}\n", "swagger.json": `{"swagger":"2.0","paths":{}}`, "openapi.yaml": "openapi: 3.0.0\n",
		"far.yaml": "openapi: https://example.org/x\n", "keyed.yaml": "openapi: openapi.yaml\nauth: {a: B}\n", "modle.yaml": "modle: x\n", "list.yaml": "model: [a]\n", "schema.json": `{"type":"string"}`,
		"folder/a": "a",
	}
	clitest.Bare(t, kept)
	programtest.Run(t, "", "run", "list the files")
	for _, c := range wrongInputs {
		t.Run(c.why, func(t *testing.T) { c.try(t, places) })
	}
	for name, text := range kept {
		if got := files(t, name); got != text {
			t.Errorf("%s was changed", name)
		}
	}
	if r := programtest.Run(t, "", "receipts", "list"); r.Code != 0 || !strings.Contains(r.Out, "list the files") {
		t.Errorf("the run before is gone:\n%s%s", r.Out, r.ErrOut)
	}
}

func (c wrongInput) try(t *testing.T, places *strings.Replacer) {
	r := programtest.Run(t, c.stdin, strings.Fields(places.Replace(c.args))...)
	if r.Code != c.code {
		t.Errorf("exit status %d, not %d\n%s%s", r.Code, c.code, r.Out, r.ErrOut)
	}
	var said []string
	for line := range strings.Lines(r.ErrOut) {
		if strings.HasPrefix(line, "toolpost: ") {
			said = append(said, line)
		}
		if strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "panic: ") {
			t.Fatalf("a stack trace:\n%s", r.ErrOut)
		}
	}
	if c.says == "" {
		return // the output is the result itself: a report, or a row of a batch
	}
	if len(said) != 1 || !strings.Contains(said[0], places.Replace(c.says)) {
		t.Errorf("%d lines say what is wrong, and one with %q is wanted:\n%s", len(said), places.Replace(c.says), r.ErrOut)
	}
}

// TestFullDiskAndClosedPipe writes to a full disk and to a closed pipe. The error is one line, the exit status is 1, and no file is
// left half-written.
func TestFullDiskAndClosedPipe(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	clitest.Bare(t, map[string]string{"a.txt": "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", "tools.yaml": ownYAML, "config.yaml": "# mine\nmodel: a/b\n"})
	programtest.Run(t, "", "run", "list the files")
	for _, args := range []string{"parse a.txt", "explain a.txt", "tools list", "tools audit", "receipts list", "receipts show latest", "receipts verify latest", "models list", "config show", "config path", "version", "run hello"} {
		for _, where := range []string{"/dev/full", "a closed pipe"} {
			t.Run(args+" to "+where, func(t *testing.T) { writeTo(t, where, args) })
		}
	}
	limited := func(args string) (string, error) {
		out, err := exec.Command("sh", "-c", "ulimit -f 0; trap '' XFSZ; TOOLPOST_TEST_PROGRAM=1 exec '"+os.Args[0]+"' "+args).CombinedOutput()
		return string(out), err
	}
	for _, args := range []string{"tools add f -d d -- true", "config set --config config.yaml model c/d", "run hello", "receipts keygen k"} {
		out, err := limited(args)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Count(out, "toolpost: ") != 1 {
			t.Errorf("%s on a full disk: %v\n%s", args, err, out)
		}
	}
	if got := files(t, "tools.yaml", "config.yaml"); got != ownYAML+"# mine\nmodel: a/b\n" {
		t.Errorf("a full disk changed files:\n%s", got)
	}
}

func writeTo(t *testing.T, where, args string) {
	cmd := programtest.Program(t, strings.Fields(args)...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if where == "/dev/full" {
		f, err := os.OpenFile(where, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.Stdout = f
	} else {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		io.Closer(r).Close()
		defer w.Close()
		cmd.Stdout = w
	}
	err := cmd.Run()
	if err == nil {
		t.Errorf("exit status 0, though nothing could be written")
	}
	if n := strings.Count(errOut.String(), "toolpost: "); n > 1 || strings.Contains(errOut.String(), "goroutine ") {
		t.Errorf("%d lines:\n%s", n, errOut.String())
	}
}
