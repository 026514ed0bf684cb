// Command promises breaks each promise of the architecture and each requirement in one line, and fails if their tests do
// not notice:
//
//	go run ./internal/promises [PATTERN]
//
// mutants.txt lists the changes. Each is applied to a copy of one file, which replaces that file in the build. Each of its
// tests runs there and must fail. PATTERN is a regular expression for the names of mutants.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed mutants.txt
var mutantsText string

//go:embed promises.txt
var promisesText string

// mutant is a change of one line that must make tests fail.
type mutant struct {
	Of       string // "promise 3", or "requirement 2.1"
	File     string
	Old, New string
	Kills    []kill
}

// kill is the tests of a package that must fail.
type kill struct {
	Package string
	Tests   []string
}

// parseMutants reads the list: four lines for each mutant and a line for each package with tests that it must make fail,
// separated by empty lines.
func parseMutants(text string) ([]mutant, error) {
	var all []mutant
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(block, "\n") {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		if len(lines) < 5 || !strings.HasPrefix(lines[2], "- ") || !strings.HasPrefix(lines[3], "+ ") {
			return nil, fmt.Errorf("%q is not a name, a file, an old line, a new line and tests", block)
		}
		m := mutant{Of: lines[0], File: lines[1], Old: lines[2][2:], New: lines[3][2:]}
		for _, line := range lines[4:] {
			pkg, tests, ok := strings.Cut(line, " ")
			if !ok {
				return nil, fmt.Errorf("%q is not a package and its tests", line)
			}
			m.Kills = append(m.Kills, kill{pkg, strings.Split(tests, "|")})
		}
		all = append(all, m)
	}
	return all, nil
}

// apply returns the file with the change. The old text must be there exactly once.
func (m mutant) apply(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.Old); n != 1 {
		return "", fmt.Errorf("the mutant of %s changes %q, which is in %s %d times. It must be there once", m.Of, m.Old, m.File, n)
	}
	return strings.Replace(string(text), m.Old, m.New, 1), nil
}

// survivors runs the tests of the mutant, and returns those that did not fail and what they printed.
func (m mutant) survivors(root string) (alive []string, said string, err error) {
	text, err := m.apply(root)
	if err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp("", "promises-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, filepath.Base(m.File)), filepath.Join(dir, "overlay.json")
	file, err := filepath.Abs(filepath.Join(root, m.File))
	if err != nil {
		return nil, "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return nil, "", err
	}
	for name, content := range map[string]string{changed: text, overlay: string(list)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return nil, "", err
		}
	}
	var out strings.Builder
	for _, k := range m.Kills {
		living, printed, err := k.run(root, overlay)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", m.Of, err)
		}
		if len(living) > 0 {
			alive = append(alive, living...)
			out.WriteString(printed)
		}
	}
	return alive, out.String(), nil
}

// run returns the tests that pass. A panic ends all tests of a package, so those that it hides run again alone.
func (k kill) run(root, overlay string) (alive []string, said string, err error) {
	cmd := exec.Command("go", "test", "-vet=off", "-ldflags=-s -w", "-count=1", "-timeout=10m", "-run", "^("+strings.Join(k.Tests, "|")+")$", "./"+k.Package)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	out, err := cmd.CombinedOutput()
	said = string(out)
	switch {
	case err == nil:
		return k.names(k.Tests), said, nil
	case strings.Contains(said, "[build failed]") || strings.Contains(said, "[setup failed]"):
		return nil, said, fmt.Errorf("the change does not compile:\n%s", said)
	}
	var hidden []string
	for _, test := range k.Tests {
		if !strings.Contains(said, "--- FAIL: "+test+" (") {
			hidden = append(hidden, test)
		}
	}
	ended := strings.Contains(said, "panic: ") || strings.Contains(said, "fatal error: ")
	switch {
	case !ended || len(hidden) == 0:
		return k.names(hidden), said, nil
	case len(k.Tests) == 1: // the test ended the program
		return nil, said, nil
	}
	for _, test := range hidden {
		living, printed, err := kill{k.Package, []string{test}}.run(root, overlay)
		if err != nil {
			return nil, "", err
		}
		alive, said = append(alive, living...), said+printed
	}
	return alive, said, nil
}

// names returns tests with their package.
func (k kill) names(tests []string) (all []string) {
	for _, test := range tests {
		all = append(all, k.Package+"."+test)
	}
	return all
}

func main() {
	pattern := "."
	if len(os.Args) > 1 {
		pattern = os.Args[1]
	}
	if err := run(pattern, ".", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
		os.Exit(1)
	}
}

func run(pattern, root string, out io.Writer) error {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	all, err := parseMutants(mutantsText)
	if err != nil {
		return err
	}
	tried, survived := 0, 0
	for _, m := range all {
		if !wanted.MatchString(m.Of) {
			continue
		}
		tried++
		began := time.Now()
		alive, said, err := m.survivors(root)
		word := "killed"
		switch {
		case err != nil:
			word, said = "broken", err.Error()
		case len(alive) > 0:
			word = "SURVIVED"
		}
		fmt.Fprintf(out, "%-9s %s, %v %s\n", word, m.Of, time.Since(began).Round(time.Second), strings.Join(alive, " "))
		if word != "killed" {
			survived++
			fmt.Fprintln(out, strings.TrimSpace(said))
		}
	}
	fmt.Fprintf(out, "%d mutants, %d not killed\n", tried, survived)
	if survived > 0 {
		return fmt.Errorf("%d mutants were not killed by their tests", survived)
	}
	return nil
}
