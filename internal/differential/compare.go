package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// comparison holds the outputs of both sides, by the name of the input.
type comparison struct {
	mu     sync.Mutex
	order  []string
	output map[string]*[2]string
}

func newComparison() *comparison { return &comparison{output: make(map[string]*[2]string)} }

// add keeps the output of a side. A second output for the same input is appended.
func (c *comparison) add(side int, name, output string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.output[name] == nil {
		c.output[name] = new([2]string)
		c.order = append(c.order, name)
	}
	c.output[name][side] += output
}

func (c *comparison) len() int        { return len(c.order) }
func (c *comparison) names() []string { return c.order }

// write writes the outputs of both sides into two files, with the name of each input.
func (c *comparison) write(dir, kind string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, side := range []string{"old", "new"} {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(c.output)) {
			fmt.Fprintf(&b, "##### %s\n%s\n", name, normalise(c.output[name][i]))
		}
		if err := os.WriteFile(filepath.Join(dir, kind+"."+side), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// difference is an input whose outputs differ, with the lines that differ.
type difference struct {
	name  string
	lines []string // "- line" or "+ line"
}

// differences compares the normalised outputs.
func (c *comparison) differences(kind string) []difference {
	var list []difference
	for _, name := range c.order {
		if c.output[name][0] == c.output[name][1] {
			continue
		}
		was, is := normalise(c.output[name][0]), normalise(c.output[name][1])
		if was == is {
			continue
		}
		lines := diff(split(was), split(is))
		if len(lines) == 0 {
			lines = []string{"- white space in JSON", "+ white space in JSON"}
		}
		list = append(list, difference{kind + "/" + name, lines})
	}
	return list
}

// volatile is the table of values that differ between two runs of the same build.
// A match becomes the label and a number: the first value that occurs in an output is 1,
// and equal values get equal numbers. Times become their label alone, numbers in JSON 0.
// If the pattern has a group, only that is replaced. Generated ids have 16 or 26 characters of
// base32 behind their prefix.
var volatile = []struct {
	pattern *regexp.Regexp
	label   string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`\b\d{8}-\d{6}-[a-z2-7]{8}\b`), "RUN"},
	{regexp.MustCompile(`[A-Z2-7]{16,}`), "ID"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?`), "TIME"},
	{regexp.MustCompile(`\b(?:msg|fc|rs|ctc|ws|mcp|item|call|toolu|tooluse)_[0-9a-z]{10,16}\b`), "ID"},
	{regexp.MustCompile(`"(?:created|created_at|completed_at|started_at)": ?(\d{10}(?:\.\d+)?)`), "0"},
	{regexp.MustCompile(`(?i)\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`), "TIME"},
	{regexp.MustCompile(`"(?:total_duration|load_duration|prompt_eval_duration|eval_duration|latencyMs|duration_ms|latency_ms|total_latency_ms|ms|took_ms|took_ns|wait_ns)": ?(\d+(?:\.\d+)?)`), "0"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "HASH"},
	{regexp.MustCompile(`-([0-9a-f]{8}-[0-9a-f]{8})\.txt\b`), "FILE"},
	{regexp.MustCompile(`read_result with \{\\*"id\\*":\\*"([0-9a-f]{8})\\*"\}`), "RESULT"},
	{regexp.MustCompile(`head ([0-9a-f]{12})\b`), "HASH"},
	{regexp.MustCompile(`TIME to (\d\d:\d\d:\d\d UTC)`), "TIME"},
	{regexp.MustCompile(`\bin (\d+ ms)`), "TIME"},
	{regexp.MustCompile(`(?i)traceparent: (\S+)`), "TRACE"},
}

// normalise replaces the values that differ between two runs of the same build.
func normalise(text string) string {
	for _, v := range volatile {
		seen := make(map[string]int)
		var b strings.Builder
		last := 0
		for _, m := range v.pattern.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				from, to = m[2], m[3]
			}
			value := text[from:to]
			if seen[value] == 0 {
				seen[value] = len(seen) + 1
			}
			b.WriteString(text[last:from])
			switch v.label {
			case "0", "TIME": // whether two of them are equal is chance
				b.WriteString(v.label)
			default:
				fmt.Fprintf(&b, "<%s %d>", v.label, seen[value])
			}
			last = to
		}
		b.WriteString(text[last:])
		text = b.String()
	}
	return text
}

// split returns the lines of an output. JSON, also after "data: ", has a line
// for each value, which keeps differences small.
func split(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		prefix, rest := "", line
		if after, ok := strings.CutPrefix(line, "data: "); ok {
			prefix, rest = "data: ", after
		}
		var b bytes.Buffer
		if rest == "" || rest[0] != '{' && rest[0] != '[' || json.Indent(&b, []byte(rest), "", " ") != nil {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, strings.Split(prefix+b.String(), "\n")...)
	}
	return lines
}

// diff returns the lines that differ, with those of a first before those of b.
func diff(a, b []string) []string {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a)*len(b) > 4_000_000 {
		return marked(a, b)
	}
	// The longest common subsequence, from the end.
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

func marked(a, b []string) []string {
	var out []string
	for _, line := range a {
		out = append(out, "- "+line)
	}
	for _, line := range b {
		out = append(out, "+ "+line)
	}
	return out
}

// rule is a line of justified.txt.
type rule struct {
	pattern *regexp.Regexp
	reason  string
	used    int
}

// readRules reads a file of wanted differences. A line is a regular expression, a tab and
// the reason. The expression is matched against "KIND/INPUT: - LINE" for each line that
// differs, with "+" for lines of the new build.
func readRules(path string) ([]*rule, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rules []*rule
	for i, line := range strings.Split(string(src), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: a line is a pattern, a tab and a reason", path, i+1)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		rules = append(rules, &rule{pattern: re, reason: strings.TrimSpace(reason)})
	}
	return rules, nil
}

// justify reports whether every line of the difference matches a rule.
func (d difference) justify(rules []*rule) bool {
	all := true
	for _, line := range d.lines {
		found := false
		for _, r := range rules {
			if r.pattern.MatchString(d.name + ": " + line) {
				r.used++
				found = true
			}
		}
		all = all && found
	}
	return all
}

// report prints the differences and returns the number that are not justified.
func report(w io.Writer, diffs []difference, rules []*rule, show int) int {
	open := 0
	for _, d := range diffs {
		if d.justify(rules) {
			fmt.Fprintf(w, "justified %s: %d lines\n", d.name, len(d.lines))
			continue
		}
		open++
		fmt.Fprintf(w, "DIFFERENT %s\n", d.name)
		for i, line := range d.lines {
			if show > 0 && i == show {
				fmt.Fprintf(w, "    … and %d more lines\n", len(d.lines)-i)
				break
			}
			fmt.Fprintf(w, "    %s\n", clip(line))
		}
	}
	return open
}

// clip shortens a line for people.
func clip(line string) string {
	const most = 400
	if len(line) <= most {
		return line
	}
	return line[:most] + "…"
}
