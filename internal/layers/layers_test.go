// Package layers holds the test that keeps imports pointing down.
package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/toolpost/toolpost/"

// layer is the height of each package of the library. A package imports only
// lower ones, and llm, which is the vocabulary of all. A new package gets a
// row here, or the test fails.
var layer = map[string]int{
	"internal/js":                -1, // the text of JSON, without any meaning: below all
	"internal/outbound":          -1, // the HTTP clients of all
	"internal/leaks":             -1, // leaked goroutines of tests
	"internal/linear":            -1, // how tests measure growth
	"internal/pages":             -1, // files, commands and output in documents, for tests
	"internal/testkit":           -1, // programs of the module and long tests
	"internal/secret":            -1, // values that others must not read, in text
	"internal/yamlcheck":         -1, // whether YAML may be read at all
	"llm":                        0,
	"schema":                     0,
	"catalog":                    0,
	"dialect/internal/loose":     0,
	"dialect/spec":               0,
	"observe":                    0,  // events of all layers
	"internal/observe/observing": 0,  // begins and ends of steps, told to the observer
	"observe/internal/pairs":     0,  // shared by slogobserve and otelobserve
	"observe/slogobserve":        1,  // a log of the events of observe
	"observe/otlp":               1,  // the events of observe, for a collector
	"observe/otelobserve":        5,  // spans of the events of observe
	"internal/pinname":           -1, // names of pins
	"internal/answerrun":         0,  // calls that a model runs while it answers
	"internal/clip":              -1, // text shortened for people
	"internal/breaker":           0,
	"internal/usercatalog":       1, // models.yaml and imported databases of the user
	"internal/outcome":           1, // what a failed model request means for the next
	"internal/contain":           0,
	"internal/child":             1, // programs that are talked to by pipes
	"internal/corpus":            0,
	"internal/differential":      1, // a program that compares two builds
	"internal/eventstream":       0,
	"internal/jsonfix":           0,
	"internal/lark":              0, // grammars of free-text tools
	"internal/load":              0, // a program that puts the gateway under load
	"internal/mcptest":           0,
	"internal/opening":           0,  // the beginning of an answer
	"internal/stripped":          0,  // marks in place of secrets
	"internal/advice":            2,  // what people can do after a failure
	"internal/modeldb":           -1, // databases of models
	"internal/outputfields":      1,  // outputs of Conductor workflows
	"internal/typed":             1,  // structured answers as Go values
	"internal/near":              0,
	"internal/shorten":           0, // views of tool results
	"internal/outside":           0,
	"internal/pgtest":            0,
	"internal/rank":              0,
	"internal/apicheck":          -1, // the list of exported names, for its test
	"internal/promises":          0,  // a program that breaks promises to see whether tests notice
	"internal/requirements":      0,
	"internal/compare":           0,
	"internal/compat":            0, // stores of earlier versions
	"internal/release":           0, // a program that makes the files of a release
	"internal/suite":             0,
	"internal/tables":            0, // versions of tables in databases
	"internal/formats":           2, // checks names of formats in settings
	"internal/losses":            2, // losses of translations, for tests
	"internal/wire":              1, // shared by wire, gateway and sim; see inner
	"internal/vendorapi":         2, // shared by servers of vendor formats: sim and gateway
	"tool/internal/outgoing":     0, // shared by tool/builtin and tool/openapi
	"tool":                       1, "wire": 1, "dialect": 1, "journal": 1,
	"internal/emulate/internal/templates": 1, // control tokens of chat templates
	"internal/emulate/internal/wording":   1, // numbers and phrases in text
	"internal/emulate/internal/questions": 1, // requests and tools for tests
	"internal/emulate":                    2, // prompts, grammars and the stages of an answer
	"internal/emulate/smallmodel":         2, // the decisions for small models, which provider fills in
	"emulate":                             2, // the public part of internal/emulate
	"tool/openapi":                        2, // documents as tools of tool/builtin's engine
	"provider/internal/credential":        1, // keys, signatures and their redaction
	"provider/internal/deadline":          1, // limits of waits and of answers
	"provider/internal/equal":             1, // comparison of requests and events
	"provider/internal/relay":             3, // the stages of an answer next to its relay
	"provider":                            3, "invoke": 3, "refine": 3,
	"agent": 4, "sim": 4, "llmtest": 4,
	"internal/access":     1,  // keys, budgets and spend, without any server
	"internal/requestctx": -1, // what the gateway tells package provider about a request
	"internal/signing":    2,  // signatures of runs and stores
	"internal/export":     3,  // REPLAY.jsonl and RECEIPT.json of a run
	"internal/state":      1,  // a server's memory between requests
	"gateway":             5, "mcpbridge": 5, "eval": 5,
	"console":      6,
	"cmd/toolpost": 7, "docs/examples": 7,
}

// inner is the order of packages that belong to one row of the table. The packages of a family that are not listed may
// import only packages outside it.
var inner = map[string]int{
	"wire/format":             1, // the public vocabulary of a format
	"internal/wire/names":     0, // the names of formats
	"internal/wire/relay":     0, // what a relay does with an event
	"internal/wire/mediatype": 0, // the types of media
	"internal/wire/serverapi": 2, // the HTTP API of a vendor's servers
	"internal/wire/document":  0, // answers that are one document
	"internal/wire/loss":      1, // data that a format cannot carry
	"internal/wire/turns":     2, // pairs of calls and results
	"wire/internal/sse":       0,
	"wire":                    7,
	"internal/wire/history":   3, // repair, pairing and aliases
	"wire/internal/codec":     4, // the machinery that formats share
	"wire/internal/chat":      5, // formats; the formats of row 6 share code with one of row 5
	"wire/internal/messages":  5, "wire/internal/gemini": 5,
	"wire/internal/responses": 6, "wire/internal/ollama": 6, "wire/internal/converse": 6,

	"dialect/internal/chars":   0, // classes of bytes and characters
	"dialect/internal/write":   6, // calls and results as text
	"dialect/internal/lexicon": 1, // markers and rows, ready for reading
	"dialect/internal/values":  1, // text as values of JSON
	"dialect/internal/offered": 2, // the tools that were offered
	"dialect/internal/whole":   3, // a block that is plainly a call
	"dialect/internal/scan":    2, // looking ahead in an answer
	"dialect/internal/judge":   3, // whether text is a call
	"dialect/internal/engine":  4, // the streaming core
	"dialect/internal/form":    5, // a reader for each form of call
	"dialect":                  7,

	"internal/emulate": 0, "internal/emulate/smallmodel": 0, "emulate": 1,
	"observe": 0, "internal/observe/observing": 1,

	"gateway/internal/metrics":      0, // counters and their text format
	"gateway/internal/clientio":     0, // reading and writing within time limits
	"gateway/internal/admin":        1, // the administrators' API
	"gateway/internal/upstream":     1, // routes, health and failover
	"gateway/internal/exchange":     2, // the request and the response
	"gateway/internal/admit":        3, // rights, limits and usage
	"gateway/internal/passthrough":  4, // endpoints that are forwarded unchanged
	"gateway/internal/conversation": 3, // the memory between requests
	"gateway/internal/hosttools":    4, // the tools that the gateway runs during an answer

	"mcpbridge/internal/names":      -1, // names of servers
	"mcpbridge/config":              0,  // how servers are reached
	"mcpbridge/internal/rpc":        0,  // messages, and readers in front of the SDK
	"mcpbridge/internal/convert":    1,  // definitions and results, both ways
	"mcpbridge/internal/toollist":   1,  // lists of tools and accepted definitions
	"mcpbridge/internal/caller":     1,  // the clients of a served or relayed server
	"mcpbridge/internal/connection": 2,  // programs, HTTP and logins
	"mcpbridge/serve":               3,
	"mcpbridge/internal/relay":      4, // a server passed on
	"mcpbridge/internal/bridge":     4, // the tools of one request, for an agent program
	"mcpbridge/client":              5,
	"mcpbridge/agentcli":            6,
	"mcpbridge":                     7, // the earlier names

	"cmd/toolpost/internal/cli":      -1, // arguments, input, output and exit codes of all commands
	"cmd/toolpost/internal/toolfile": 1,  // files of tool definitions
	"cmd/toolpost/internal/term":     1,  // drawing on a terminal
	"cmd/toolpost/internal/text":     2,  // parse, explain, repair, validate, schema

	"cmd/toolpost/internal/configcheck": 0, // configuration files, checked against declarations
	"cmd/toolpost/internal/serveimport": 3, // the import of LiteLLM configurations
	"cmd/toolpost/internal/evaluate":    3, // suites, comparisons and reports

	"cmd/toolpost/internal/buildinfo":    0, // the version
	"cmd/toolpost/internal/listen":       1, // HTTP until a command is interrupted
	"cmd/toolpost/internal/findings":     1, // what doctor reports
	"cmd/toolpost/internal/task":         1, // words, standard input and attached files
	"cmd/toolpost/internal/codingagents": 1, // what coding agents are told about a gateway
	"cmd/toolpost/internal/settings":     1, // the configuration: declarations and reading

	"cmd/toolpost/internal/runstore":    3, // the record of runs
	"cmd/toolpost/internal/toolset":     3, // the tools of the settings
	"cmd/toolpost/internal/mcpservers":  3, // the MCP servers of the settings
	"cmd/toolpost/internal/openmodel":   3, // the choice of a model, and opening it
	"cmd/toolpost/internal/view":        3, // calls, warnings and the transcript for a person
	"cmd/toolpost/internal/clitest":     2, // what tests of the command share
	"cmd/toolpost/internal/program":     7, // the table of commands, signals and exit codes
	"cmd/toolpost/internal/programtest": 8, // the whole program in tests

	"cmd/toolpost/internal/ask":     4, // questions about calls, and grants
	"cmd/toolpost/internal/session": 4, // what a conversation needs, opened

	"cmd/toolpost/internal/completion": 5, // commands, one package for each group
	"cmd/toolpost/internal/config":     5,
	"cmd/toolpost/internal/consolecmd": 5,
	"cmd/toolpost/internal/doctor":     5,
	"cmd/toolpost/internal/demo":       5,
	"cmd/toolpost/internal/manual":     5,
	"cmd/toolpost/internal/upgrade":    5,
	"cmd/toolpost/internal/keys":       5,
	"cmd/toolpost/internal/models":     5,
	"cmd/toolpost/internal/receipts":   5,
	"cmd/toolpost/internal/replay":     5,
	"cmd/toolpost/internal/runs":       5,
	"cmd/toolpost/internal/simulator":  5,
	"cmd/toolpost/internal/tools":      5,
	"cmd/toolpost/internal/chat":       6,
	"cmd/toolpost/internal/mcp":        6,
	"cmd/toolpost/internal/run":        6,
	"cmd/toolpost/internal/serve":      6,
}

// why is the reason for each layer, for the reader of a failure.
var why = []string{
	0: "layer 0 is vocabulary, schemas, model data and text repair: pure, and useful without the rest",
	1: "layer 1 holds tools, formats, dialects and the record: it must not know who talks to models or runs calls, so that a codec serves client and server alike",
	2: "layer 2 teaches tools to models that have none: it writes prompts, schemas and grammars and reads the answers, around any model, so it must not know how models are opened",
	3: "layer 3 opens models, runs calls or asks again, one each: if they knew each other, two of them would retry the same thing",
	4: "layer 4 is the turn loop and simulated models",
	5: "layer 5 is servers and large consumers: they meet only in the command",
	6: "the command wires everything and is imported by nobody",
}

// testOnly may be imported by tests of any layer.
var testOnly = map[string]bool{"llmtest": true, "sim": true, "internal/pgtest": true, "internal/corpus": true, "internal/linear": true, "internal/leaks": true, "internal/pages": true, "internal/testkit": true, "internal/mcptest": true, "internal/losses": true}

type pkg struct {
	Dir, ImportPath                             string
	GoFiles, Imports, TestImports, XTestImports []string
}

// local returns the path within the library, and whether p is in it.
func local(p string) (string, bool) {
	name, ok := strings.CutPrefix(p, module)
	return name, ok && name != "internal/layers"
}

// height finds the layer of a package; a folder below a package belongs to it.
func height(name string) (int, bool) {
	for name != "" {
		if h, ok := layer[name]; ok {
			return h, true
		}
		name = name[:max(strings.LastIndexByte(name, '/'), 0)]
	}
	return 0, false
}

// wholeProgram are packages with all commands. The external tests of a command may run the program.
var wholeProgram = map[string]bool{"cmd/toolpost/internal/program": true, "cmd/toolpost/internal/programtest": true}

func TestImportsPointDown(t *testing.T) {
	for _, p := range list(t) {
		name, ok := local(p.ImportPath)
		if !ok {
			continue
		}
		from, ok := height(name)
		if !ok {
			t.Errorf("%s has no layer: give it a row in internal/layers, one above what it imports", name)
			continue
		}
		for _, path := range p.Imports {
			if to, ok := local(path); ok {
				check(t, name, from, to)
			}
		}
		for _, path := range p.TestImports {
			if to, ok := local(path); ok && !testOnly[to] {
				check(t, name, from, to)
			}
		}
		for _, path := range p.XTestImports {
			if to, ok := local(path); ok && !testOnly[to] && to != name && !(wholeProgram[to] && strings.HasPrefix(name, "cmd/toolpost/internal/")) {
				check(t, name, from, to)
			}
		}
	}
}

func check(t *testing.T, name string, from int, target string) {
	to, ok := height(target)
	switch {
	case !ok || target == "llm" || strings.HasPrefix(target, name+"/"):
	case strings.HasPrefix(name, target+"/"): // a folder below a package may use it
	case innerBelow(target, name):
	case to >= from:
		t.Errorf("%s (layer %d) imports %s (layer %d), but imports point down only.\n\t%s.\n\tTake what you need from above as a value: a function, an interface, a table that the command fills.",
			name, from, target, to, why[max(from, 0)])
	}
}

// innerBelow reports whether two packages are of one family, in which the first is below the second.
func innerBelow(low, high string) bool {
	l, known := inner[low]
	h, also := inner[high]
	return known && also && l < h && family(low) == family(high)
}

// family is the first folder of a package, or the second of internal packages.
func family(name string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(name, "internal/"), "/")
	return first
}

// list returns the packages of this module as the go command sees them.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 3 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

func TestTheCheckCanFail(t *testing.T) {
	for _, c := range []struct {
		name, imports string
		bad           bool
	}{
		{"wire", "provider", true},
		{"wire", "dialect", true},
		{"schema", "internal/jsonfix", true},
		{"schema", "llm", false},
		{"provider", "wire", false},
		{"provider", "emulate", false},
		{"emulate", "dialect", false},
		{"dialect", "emulate", true},
		{"emulate", "provider", true},
		{"wire/internal/sse", "wire", false},
		{"wire", "wire/internal/sse", false},
		{"wire/internal/chat", "wire/internal/codec", false},
		{"wire/internal/codec", "wire/internal/chat", true},
		{"wire/internal/chat", "wire/internal/gemini", true},
		{"agent", "cmd/toolpost", true},
		{"dialect/internal/engine", "dialect/spec", false},
		{"dialect/internal/form", "dialect/internal/engine", false},
		{"dialect/internal/engine", "dialect/internal/form", true},
		{"dialect/internal/engine", "dialect/internal/judge", false},
		{"dialect/internal/judge", "dialect/internal/engine", true},
		{"dialect/spec", "dialect/internal/engine", true},
		{"dialect/internal/engine", "dialect/internal/write", true},
	} {
		from, _ := height(c.name)
		var probe testing.T
		check(&probe, c.name, from, c.imports)
		if probe.Failed() != c.bad {
			t.Errorf("%s imports %s: failed %v", c.name, c.imports, probe.Failed())
		}
	}
}

// TestThePictureIsCurrent compares the picture in docs/design/architecture.md with
// the table: every package that can be imported is in a row of its layer.
func TestThePictureIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/design/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	drawn := make(map[string]int)
	for line := range strings.Lines(string(page)) {
		if h, rest, ok := strings.Cut(line, "  "); ok && len(h) == 1 && '0' <= h[0] && h[0] <= '9' {
			for _, name := range strings.Fields(rest) {
				if _, known := layer[name]; known {
					drawn[name] = int(h[0] - '0')
				}
			}
		}
	}
	for name, h := range layer {
		if strings.Contains(name, "internal/") {
			continue
		}
		if got, ok := drawn[name]; !ok || got != h {
			t.Errorf("%s is of layer %d; the picture shows it in %d (drawn: %v)", name, h, got, ok)
		}
	}
}
