// Command slice cuts the committed slice of the corpus from the whole:
//
//	go run ./internal/corpus/slice -from DIR
//
// The selection depends only on the rows: a second run gives the same slice.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rows are files of JSON lines: of each group of rows with the same value
// under key, most are taken. An empty key makes all rows one group.
var rows = []struct {
	file, key string
	most      int
}{
	{"dialect_samples.jsonl", "", 1000},
	{"dialects/public.jsonl", "dialect", 5},
	{"dialects/reasoning.jsonl", "ref_parser", 3},
	{"json_repair/jsonrepair.jsonl", "", 1000}, // the table of differences counts rows
	{"json_repair/partial_json.jsonl", "", 1000},
}

// questions are the sets of the function calling leaderboard of which some
// rows are taken, with their answers.
var questions = []string{"simple_python", "multiple", "parallel", "live_simple", "live_multiple"}

const mostQuestions = 16

// files are copied without their indentation.
var files = []string{
	"json_schema_suite/LICENSE", "json_schema_suite/tests/draft2020-12/*.json", "json_schema_suite/remotes/*.json", "json_schema_suite/remotes/draft2020-12/*.json",
	"json_schema_suite/remotes/draft2020-12/*/*.json", "json_schema_suite/tests/draft7/definitions.json", "json_schema_suite/tests/draft7/dependencies.json",
	"json_schema_suite/tests/draft7/if-then-else.json", "json_schema_suite/tests/draft7/items.json", "json_schema_suite/tests/draft7/oneOf.json",
	"streams/openai_sse/*",
}

// conversations is the number of recorded agent runs in the slice, shortest first.
const conversations = 8

func main() {
	from := flag.String("from", "../shared/corpus", "the folder of the whole corpus")
	to := flag.String("to", "internal/corpus/testdata", "the folder of the slice")
	flag.Parse()
	if err := cut(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "slice:", err)
		os.Exit(1)
	}
}

func cut(from, to string) error {
	var errs []error
	for _, r := range rows {
		errs = append(errs, cutRows(from, to, r.file, r.key, r.most))
	}
	for _, set := range questions {
		errs = append(errs, cutQuestions(from, to, "BFCL_v4_"+set+".json"))
	}
	for _, pattern := range files {
		errs = append(errs, copyFiles(from, to, pattern))
	}
	errs = append(errs, cutConversations(from, to, "transcripts/livemcp_claude-sonnet-4.json"))
	return errors.Join(errs...)
}

// cutRows takes the rows of each group whose hashes are the lowest, in their
// order.
func cutRows(from, to, file, key string, most int) error {
	data, err := os.ReadFile(filepath.Join(from, file))
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	groups := make(map[string][][sha256.Size]byte)
	group := func(line []byte) string {
		var row map[string]any
		if json.Unmarshal(line, &row) != nil || key == "" {
			return ""
		}
		return fmt.Sprint(row[key])
	}
	for _, line := range lines {
		groups[group(line)] = append(groups[group(line)], sha256.Sum256(line))
	}
	for _, sums := range groups {
		slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	}
	var out []byte
	for _, line := range lines {
		sum, sums := sha256.Sum256(line), groups[group(line)]
		if slices.Contains(sums[:min(most, len(sums))], sum) {
			out = append(append(out, line...), '\n')
		}
	}
	return write(to, file, out)
}

// cutQuestions takes the first questions whose number is 0 or 1 modulo 4, and
// their answers.
func cutQuestions(from, to, name string) error {
	for _, file := range []string{"bfcl/v4/" + name, "bfcl/v4/possible_answer/" + name} {
		data, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			return err
		}
		var out []byte
		for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
			if i < 2*mostQuestions && i%4 < 2 {
				out = append(append(out, line...), '\n')
			}
		}
		if err := write(to, file, out); err != nil {
			return err
		}
	}
	return nil
}

func copyFiles(from, to, pattern string) error {
	paths, err := filepath.Glob(filepath.Join(from, pattern))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("%s: nothing there (%v)", pattern, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".json") {
			var compact bytes.Buffer
			if err := json.Compact(&compact, data); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			data = append(compact.Bytes(), '\n')
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if err := write(to, rel, data); err != nil {
			return err
		}
	}
	return nil
}

func cutConversations(from, to, file string) error {
	data, err := os.ReadFile(filepath.Join(from, file))
	if err != nil {
		return err
	}
	var runs []struct {
		ID       string          `json:"task_id"`
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(data, &runs); err != nil {
		return err
	}
	slices.SortStableFunc(runs, func(a, b struct {
		ID       string          `json:"task_id"`
		Messages json.RawMessage `json:"messages"`
	}) int {
		return len(a.Messages) - len(b.Messages)
	})
	out, err := json.Marshal(runs[:min(conversations, len(runs))])
	if err != nil {
		return err
	}
	return write(to, file, append(out, '\n'))
}

func write(to, file string, data []byte) error {
	path := filepath.Join(to, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), fs.ModePerm); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
