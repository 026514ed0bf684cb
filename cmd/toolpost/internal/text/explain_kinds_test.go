package text

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect"
)

// kindTools are the tools of the case files of package dialect.
const kindTools = `[
{"name":"find_room","parameters":{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"},"notes":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}},"owner":{"type":"object"}},"required":["town"]}},
{"name":"make_note","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
{"name":"ping","parameters":{"type":"object","properties":{}}},
{"name":"write_file","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}}]`

// manyKindTools are the tools of cases whose name begins with "many".
const manyKindTools = `[
{"name":"write_file","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}},
{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["c","f"]}},"required":["city"]}},
{"name":"search_docs","parameters":{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}},
{"name":"delete_rows","parameters":{"type":"object","properties":{"table":{"type":"string"},"ids":{"type":"array","items":{"type":"integer"}}},"required":["table","ids"]}},
{"name":"send_mail","parameters":{"type":"object","properties":{"to":{"type":"string"},"subject":{"type":"string"},"body":{"type":"string"}},"required":["to","subject","body"]}},
{"name":"run_query","parameters":{"type":"object","properties":{"sql":{"type":"string"}},"required":["sql"]}},
{"name":"set_lamp","parameters":{"type":"object","properties":{"room":{"type":"string"},"on":{"type":"boolean"},"level":{"type":"number"}},"required":["room","on"]}},
{"name":"ping_host","parameters":{"type":"object","properties":{"host":{"type":"string"},"count":{"type":"integer"}},"required":["host"]}},
{"name":"list_tables","parameters":{"type":"object","properties":{}}}]`

// For every kind of text, with or without calls, explain gives the reasons: each repair with its class, each invalid
// call with its problem, and the parts that look like a call.
func TestExplainKinds(t *testing.T) {
	files, err := filepath.Glob("../../../../dialect/testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	tools := filepath.Join(t.TempDir(), "tools.json")
	for name, text := range map[string]string{tools: kindTools, manyOf(tools): manyKindTools} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dialects := make(map[string]bool)
	for _, d := range dialect.Builtin().All() {
		dialects[d.Name] = d.Name != "labelled" && d.Name != "yaml_tagname"
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if dialects[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			explainCases(t, file, tools)
		})
	}
}

// explainCases explains every case of a file and checks that the output has each reason.
func explainCases(t *testing.T, file, tools string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		if testing.Short() && i%8 != 0 {
			continue
		}
		args, ok := explainArgs(archive.Files[i].Name, tools)
		if !ok {
			continue
		}
		out := toolpost(t, strings.TrimSuffix(string(archive.Files[i].Data), "\n"), args...).out
		for _, why := range reasonsOf(string(archive.Files[i+1].Data)) {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), why) {
				t.Errorf("%s: explain does not say %q:\n%s", archive.Files[i].Name, why, out)
			}
		}
	}
}

// manyOf returns the file of manyKindTools in the same folder.
func manyOf(tools string) string { return filepath.Join(filepath.Dir(tools), "many.json") }

// explainArgs returns the arguments for a case. The name of the case determines how it is read.
func explainArgs(name, tools string) (args []string, ok bool) {
	word, _, _ := strings.Cut(name, " ")
	switch strings.TrimSuffix(word, ",") {
	case "any":
		return []string{"explain", "--finish", "stop"}, true
	case "many":
		return []string{"explain", "--tools", manyOf(tools), "--finish", "stop"}, true
	case "cut":
		return []string{"explain", "--tools", tools, "--finish", "length"}, true
	case "filtered":
		return []string{"explain", "--tools", tools, "--finish", "content_filter"}, true
	case "none", "open", "off", "hint":
		return nil, false
	}
	return []string{"explain", "--tools", tools, "--finish", "stop"}, true
}

var repairOf = regexp.MustCompile(`, ([a-z0-9-]+) \(([a-z]+)\)`)

// reasonsOf returns the expected reasons for a meaning.
func reasonsOf(means string) (reasons []string) {
	for line := range strings.Lines(means) {
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "call":
			for _, m := range repairOf.FindAllStringSubmatch(rest, -1) {
				reasons = append(reasons, "repaired "+m[1]+" ("+m[2]+")")
			}
		case "invalid":
			_, problem, _ := strings.Cut(rest, ": ")
			reasons = append(reasons, strings.Join(strings.Fields(problem), " "))
		case "warning":
			_, name, _ := strings.Cut(rest, " ")
			reasons = append(reasons, "looks like a call in "+name)
		}
	}
	return reasons
}
