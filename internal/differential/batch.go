package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
)

// row is an input of a batch command.
type row map[string]any

// corpus returns the path of a file of the corpus, or of its committed slice.
func (o *options) corpus(name string) string {
	dir := os.Getenv("TOOLPOST_CORPUS")
	if dir == "" {
		dir = filepath.Join(o.root, "../shared/corpus")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(o.root, "internal/corpus/testdata", name)
	}
	return path
}

// lines reads a file of JSON lines; there are none if the file is absent.
func lines(path string) ([]row, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []row
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		var r row
		dec := json.NewDecoder(bytes.NewReader(scan.Bytes()))
		dec.UseNumber()
		if err := dec.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		rows = append(rows, r)
	}
	return rows, scan.Err()
}

// sample returns n rows at equal distances, or all if there are fewer.
func sample[T any](rows []T, n int) []T {
	if len(rows) <= n {
		return rows
	}
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, rows[i*len(rows)/n])
	}
	return out
}

// caseTools are the tools of the dialect cases, which have their own tests.
const caseTools = `[
{"name":"find_room","parameters":{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"},"notes":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}},"owner":{"type":"object"}},"required":["town"]}},
{"name":"make_note","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
{"name":"ping","parameters":{"type":"object","properties":{}}},
{"name":"write_file","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}},
{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["c","f"]}},"required":["city"]}},
{"name":"set_lamp","parameters":{"type":"object","properties":{"room":{"type":"string"},"on":{"type":"boolean"},"level":{"type":"number"}},"required":["room","on"]}}]`

// caseRows returns the dialect cases.
func (o *options) caseRows() ([]row, error) {
	files, err := filepath.Glob(filepath.Join(o.root, "dialect/testdata/cases/*.txtar"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("there are no dialect cases; run in the root of the module"))
	}
	var rows []row
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			return nil, err
		}
		dialect := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, " means") {
				continue
			}
			r := row{"id": "cases/" + dialect + "/" + f.Name, "text": strings.TrimSuffix(string(f.Data), "\n"), "tools": json.RawMessage(caseTools)}
			word, _, _ := strings.Cut(f.Name, " ")
			switch strings.TrimSuffix(word, ",") {
			case "any":
				delete(r, "tools")
			case "none":
				r["tools"] = []any{}
			case "cut":
				r["finish"] = "length"
			case "filtered":
				r["finish"] = "content_filter"
			case "open":
				r["thinking_open"] = true
			case "hint":
				r["dialect"] = dialect
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// textRows returns everything that models wrote: cases and corpora.
func (o *options) textRows() ([]row, error) {
	rows, err := o.caseRows()
	if err != nil {
		return nil, err
	}
	for _, source := range []struct{ file, text string }{
		{"dialect_samples.jsonl", "raw"}, {"dialects/public.jsonl", "raw_text"}, {"dialects/reasoning.jsonl", "raw_text"},
	} {
		found, err := lines(o.corpus(source.file))
		if err != nil {
			return nil, err
		}
		for i, in := range found {
			r := row{"id": fmt.Sprintf("%s:%d", source.file, i+1), "text": in[source.text]}
			if model, ok := in["model"].(string); ok && model != "" {
				r["model"] = model
			}
			if tools, ok := in["tools"].([]any); ok && len(tools) > 0 {
				r["tools"] = tools
			}
			if open, ok := in["generation_prompt"].(string); ok && strings.HasSuffix(strings.TrimSpace(open), "<think>") {
				r["thinking_open"] = true
			}
			rows = append(rows, r)
		}
	}
	outputs, err := filepath.Glob(o.corpus("bfcl/outputs/*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, file := range outputs {
		found, err := lines(file)
		if err != nil {
			return nil, err
		}
		for i, in := range sample(found, 120) {
			if text, ok := in["raw"].(string); ok {
				rows = append(rows, row{"id": fmt.Sprintf("bfcl/%s:%d", filepath.Base(file), i), "text": text})
			}
		}
	}
	return rows, nil
}

// batch gives rows to a batch command of both sides. Each row of the output
// belongs to the input of the same number.
func (o *options) batch(ctx context.Context, c *comparison, label string, rows []row, args ...string) error {
	if len(rows) == 0 {
		return nil
	}
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	enc.SetEscapeHTML(false)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return o.each(func(i int, s *side) error {
		cmd := exec.CommandContext(ctx, s.bin, args...)
		cmd.Env, cmd.Dir = s.env(), o.tmp
		cmd.Stdin = bytes.NewReader(in.Bytes())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
		answers := strings.SplitAfter(string(out), "\n")
		for n, r := range rows {
			answer := "no answer\n"
			if n < len(answers) && answers[n] != "" {
				answer = answers[n]
			}
			c.add(i, fmt.Sprint(r["id"])+label, answer)
		}
		c.add(i, "end of "+strings.Join(args[:len(args)-1], " ")+label, fmt.Sprintf("exit code %d, %d answers\n%s", cmd.ProcessState.ExitCode(), len(answers), stderr.String()))
		return nil
	})
}

// with returns copies of rows with one more field.
func with(rows []row, key string, value any) []row {
	out := make([]row, len(rows))
	for i, r := range rows {
		out[i] = row{key: value}
		for k, v := range r {
			out[i][k] = v
		}
	}
	return out
}

func compareParse(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	rows, err := o.textRows()
	if err != nil {
		return nil, err
	}
	if o.quick {
		rows = sample(rows, 1500)
	}
	var noTools []row
	for _, r := range rows {
		if _, ok := r["tools"]; ok {
			bare := with([]row{r}, "id", r["id"])[0]
			delete(bare, "tools")
			noTools = append(noTools, bare)
		}
	}
	for _, form := range []struct {
		label string
		rows  []row
	}{
		{"", rows}, {" in chunks of 1", with(rows, "chunk", 1)}, {" in chunks of 7", with(rows, "chunk", 7)},
		{" any tool", noTools}, {" cut off", with(sample(rows, 800), "finish", "length")},
	} {
		if err := o.batch(ctx, c, form.label, form.rows, "parse", "--batch"); err != nil {
			return nil, err
		}
	}
	n := 120
	if o.quick {
		n = 24
	}
	return c, o.single(ctx, c, sample(rows, n), "parse", "--json")
}

func compareExplain(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	rows, err := o.textRows()
	if err != nil {
		return nil, err
	}
	json, people := 240, 60
	if o.quick {
		json, people = 40, 10
	}
	if err := o.single(ctx, c, sample(rows, json), "explain", "--json"); err != nil {
		return nil, err
	}
	return c, o.single(ctx, c, sample(rows, people), "explain")
}

// single starts a process for each row.
func (o *options) single(ctx context.Context, c *comparison, rows []row, args ...string) error {
	return workers(len(rows), func(n int) error {
		r := rows[n]
		call := args
		if tools, ok := r["tools"]; ok {
			data, err := json.Marshal(tools)
			if err != nil {
				return err
			}
			file := filepath.Join(o.tmp, fmt.Sprintf("tools-%s-%d.json", args[0], n))
			if err := os.WriteFile(file, data, 0o600); err != nil {
				return err
			}
			call = append(call[:len(call):len(call)], "--tools", file)
		}
		for _, flag := range []string{"model", "dialect", "finish"} {
			if v, ok := r[flag].(string); ok {
				call = append(call[:len(call):len(call)], "--"+flag, v)
			}
		}
		text, _ := r["text"].(string)
		for i, s := range o.sides {
			out, err := s.output(ctx, o.tmp, text, call...)
			if err != nil {
				return err
			}
			c.add(i, fmt.Sprint(r["id"])+" "+strings.Join(args, " "), out)
		}
		return nil
	})
}

// output runs a command and returns its exit code and output.
func (s *side) output(ctx context.Context, dir, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = s.env(), dir, strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	return fmt.Sprintf("exit code %d\n%s\n-- stderr --\n%s", cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()), nil
}

func compareRepair(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	var rows []row
	for _, file := range []string{"json_repair/jsonrepair.jsonl", "json_repair/partial_json.jsonl"} {
		found, err := lines(o.corpus(file))
		if err != nil {
			return nil, err
		}
		for i, in := range found {
			rows = append(rows, row{"id": fmt.Sprintf("%s:%d", file, i+1), "text": in["broken"]})
		}
	}
	texts, err := o.textRows()
	if err != nil {
		return nil, err
	}
	for _, r := range texts {
		rows = append(rows, row{"id": r["id"], "text": r["text"]})
	}
	if err := o.batch(ctx, c, "", rows, "repair", "--batch"); err != nil {
		return nil, err
	}
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"name":{"type":"string"},"arguments":{"type":"object"}}}`)
	return c, o.batch(ctx, c, " with a schema", with(rows[:min(len(rows), 900)], "schema", schema), "repair", "--batch")
}

// suiteCase is a group of the JSON Schema test suite.
type suiteCase struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
	}
}

func (o *options) suite() (map[string][]suiteCase, []string, error) {
	var files []string
	for _, pattern := range []string{"draft2020-12/*.json", "draft7/*.json", "draft2020-12/optional/*.json"} {
		found, err := filepath.Glob(filepath.Join(o.corpus("json_schema_suite"), "tests", pattern))
		if err != nil {
			return nil, nil, err
		}
		files = append(files, found...)
	}
	all := make(map[string][]suiteCase)
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		var cases []suiteCase
		if err := json.Unmarshal(src, &cases); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		if filepath.Base(filepath.Dir(file)) == "draft7" {
			for i := range cases { // a schema without $schema would be read as draft 2020-12
				if rest, ok := bytes.CutPrefix(bytes.TrimSpace(cases[i].Schema), []byte("{")); ok && !bytes.Contains(rest, []byte(`"$schema"`)) {
					comma := ","
					if bytes.TrimSpace(rest)[0] == '}' {
						comma = ""
					}
					cases[i].Schema = append([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#"`+comma), rest...)
				}
			}
		}
		all[file] = cases
	}
	return all, files, nil
}

func compareValidate(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	all, files, err := o.suite()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, file := range files {
		for i, group := range all[file] {
			for n, test := range group.Tests {
				rows = append(rows, row{"id": fmt.Sprintf("%s/%s:%d.%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), i, n), "schema": group.Schema, "instance": test.Data})
			}
		}
	}
	return c, o.batch(ctx, c, "", rows, "validate", "--batch")
}

func compareSchema(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	all, files, err := o.suite()
	if err != nil {
		return nil, err
	}
	type named struct {
		name   string
		schema any
	}
	var schemas []named
	for _, file := range files {
		for i, group := range all[file] {
			schemas = append(schemas, named{fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), i), group.Schema})
		}
	}
	texts, err := o.textRows()
	if err != nil {
		return nil, err
	}
	for _, r := range texts {
		tools, _ := r["tools"].([]any)
		for i, t := range tools {
			def, _ := t.(map[string]any)
			if f, ok := def["function"].(map[string]any); ok {
				def = f
			}
			if p, ok := def["parameters"]; ok {
				schemas = append(schemas, named{fmt.Sprintf("%v tool %d", r["id"], i), p})
			}
		}
	}
	if o.quick {
		schemas = sample(schemas, 300)
	}
	var rows []row
	for _, vendor := range []string{"openai", "anthropic", "gemini", "ollama"} {
		for _, strict := range []bool{false, true} {
			for _, s := range schemas {
				rows = append(rows, row{"id": fmt.Sprintf("%s %s strict=%v", s.name, vendor, strict), "vendor": vendor, "strict": strict, "schema": s.schema})
			}
		}
	}
	return c, o.batch(ctx, c, "", rows, "schema", "--batch")
}

func compareModels(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	var rows []row
	for _, source := range []struct{ file, key string }{{"capabilities/model_ids.jsonl", "id"}, {"capabilities/ollama_tags.jsonl", "tag"}} {
		found, err := lines(o.corpus(source.file))
		if err != nil {
			return nil, err
		}
		for _, in := range found {
			rows = append(rows, row{"id": in[source.key]})
		}
	}
	for _, id := range []string{"gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "ollama/qwen3:8b", "nobody/knows"} {
		rows = append(rows, row{"id": id})
	}
	if o.quick {
		rows = sample(rows, 1000)
	}
	return c, o.batch(ctx, c, "", rows, "models", "show", "--batch")
}

func compareSelect(ctx context.Context, o *options) (*comparison, error) {
	c := newComparison()
	n := 800
	if o.quick {
		n = 150
	}
	for _, set := range []struct{ tools, queries string }{
		{"tool_selection/metatool/tools.jsonl", "tool_selection/metatool/queries_single.jsonl"},
		{"tool_selection/bfcl_catalogue/tools.jsonl", "tool_selection/bfcl_catalogue/queries.jsonl"},
	} {
		found, err := lines(o.corpus(set.queries))
		if err != nil {
			return nil, err
		}
		var rows []row
		for i, in := range sample(found, n) {
			rows = append(rows, row{"id": i, "query": in["query"]})
		}
		if err := o.batch(ctx, c, " of "+set.tools, rows, "tools", "select", "--tools", o.corpus(set.tools), "--batch"); err != nil {
			return nil, err
		}
	}
	builtin := []row{{"id": "files", "query": "look for a word in my files"}, {"id": "net", "query": "get a page of the web", "k": 3}, {"id": "odd", "query": "zzz"}}
	return c, o.batch(ctx, c, " of the built-in tools", builtin, "tools", "select", "--batch")
}
