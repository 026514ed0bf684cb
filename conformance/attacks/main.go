// Command attacks runs the attack tables that tables.txt names and prints how
// many attacks each made:
//
//	conformance/run attacks [TABLE...]
//
// It fails if an attack succeeds, if a test was skipped or does not exist, or if
// a table has no test. A test that prints a line "N attacks" counts as N;
// any other counts its innermost subtests.
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed tables.txt
var tablesText string

// wanted are the tables that must be there.
var wanted = []string{"files", "network", "commands", "keys", "journal", "consent", "text", "upstreams", "agents", "servers", "gateway"}

// row is a line of tables.txt.
type row struct{ Table, Package, Test string }

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "attacks:", err)
		os.Exit(1)
	}
}

func run(tables []string, out io.Writer) error {
	rows, err := parse(tablesText)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if !slices.Contains(wanted, t) {
			return fmt.Errorf("no table is called %s: %s", t, strings.Join(wanted, ", "))
		}
	}
	if len(tables) == 0 {
		tables = wanted
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !slices.Contains(tables, r.Table) })
	start := time.Now()
	results := make(map[row]*result)
	for _, pkg := range packages(rows) {
		began := time.Now()
		if err := test(pkg, rows, results, out); err != nil {
			return err
		}
		fmt.Fprintf(out, "== %s: %v\n", pkg, time.Since(began).Round(time.Second))
	}
	return report(rows, tables, results, time.Since(start), out)
}

// parse reads the tables and checks that each of those wanted has a test.
func parse(text string) ([]row, error) {
	var rows []row
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 3 || !slices.Contains(wanted, fields[0]) {
			return nil, fmt.Errorf("%q is not a table, a package and a test", strings.TrimSpace(line))
		}
		rows = append(rows, row{fields[0], fields[1], fields[2]})
	}
	for _, t := range wanted {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.Table == t }) {
			return nil, fmt.Errorf("the table %s has no test", t)
		}
	}
	return rows, nil
}

// packages returns the packages of the rows, each once, in their order.
func packages(rows []row) []string {
	var all []string
	for _, r := range rows {
		if !slices.Contains(all, r.Package) {
			all = append(all, r.Package)
		}
	}
	return all
}

// test runs the tests of one package and notes what became of each.
func test(pkg string, rows []row, results map[row]*result, out io.Writer) error {
	var names []string
	for _, r := range rows {
		if r.Package == pkg {
			names = append(names, r.Test)
		}
	}
	cmd := exec.Command("go", "test", "-json", "-count=1", "-timeout=40m", "-run", "^("+strings.Join(names, "|")+")$", "./"+pkg)
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	found, readErr := read(stdout, out)
	_ = cmd.Wait() // a failure is in the events; a build that fails leaves no result, which report finds
	for _, r := range rows {
		if r.Package == pkg && found[r.Test] != nil {
			results[r] = found[r.Test]
		}
	}
	return readErr
}

// result is what became of one test.
type result struct {
	outcome string // pass, fail or skip
	leaves  int    // innermost subtests
	said    int    // what it said itself, see saysCount
	skipped []string
	output  strings.Builder
}

// count is the number of attacks that the test made.
func (r *result) count() int {
	if r.said > 0 {
		return r.said
	}
	return max(r.leaves, 1)
}

// event is one line of go test -json.
type event struct{ Action, Test, Output string }

var saysCount = regexp.MustCompile(`\b(\d+) attacks\b`)

// read collects the results of the top-level tests of one package. Output that
// belongs to no test, such as errors of the compiler, is printed.
func read(in io.Reader, out io.Writer) (map[string]*result, error) {
	results := make(map[string]*result)
	parents := make(map[string]bool) // tests that have subtests
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var ev event
		if json.Unmarshal(lines.Bytes(), &ev) != nil {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		if ev.Action == "build-output" {
			fmt.Fprint(out, ev.Output)
		}
		if ev.Test == "" {
			continue
		}
		top, _, _ := strings.Cut(ev.Test, "/")
		if results[top] == nil {
			results[top] = new(result)
		}
		results[top].take(ev, top, parents)
	}
	return results, lines.Err()
}

// take notes one event of the test or of one of its subtests.
func (r *result) take(ev event, top string, parents map[string]bool) {
	switch ev.Action {
	case "run":
		if i := strings.LastIndexByte(ev.Test, '/'); i >= 0 {
			parents[ev.Test[:i]] = true
		}
	case "output":
		r.output.WriteString(ev.Output)
		if m := saysCount.FindStringSubmatch(ev.Output); m != nil {
			n, _ := strconv.Atoi(m[1])
			r.said += n
		}
	case "pass", "fail", "skip":
		if ev.Action == "skip" {
			r.skipped = append(r.skipped, ev.Test)
		}
		if ev.Test == top {
			r.outcome = ev.Action
		} else if !parents[ev.Test] {
			r.leaves++
		}
	}
}

// report prints a line per table and says what went wrong.
func report(rows []row, tables []string, results map[row]*result, took time.Duration, out io.Writer) error {
	var wrong []string
	total := 0
	for _, table := range tables {
		tests, attacks := 0, 0
		for _, r := range rows {
			if r.Table != table {
				continue
			}
			tests++
			name := r.Package + "." + r.Test
			switch got := results[r]; {
			case got == nil || got.outcome == "":
				wrong = append(wrong, name+" did not run")
			case got.outcome == "fail":
				fmt.Fprint(out, got.output.String())
				wrong = append(wrong, name+" failed")
			case len(got.skipped) > 0:
				fmt.Fprint(out, got.output.String())
				wrong = append(wrong, strings.Join(got.skipped, ", ")+" of "+r.Package+" was skipped")
			default:
				attacks += got.count()
			}
		}
		total += attacks
		fmt.Fprintf(out, "%-9s %3d tests %7d attacks\n", table, tests, attacks)
	}
	fmt.Fprintf(out, "%-9s %3d tests %7d attacks in %v\n", "all", len(rows), total, took.Round(time.Second))
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return nil
}
