// Command promises breaks each promise of the architecture and each requirement in one line, and fails if their tests do
// not notice:
//
//	go run ./internal/promises [PATTERN]
//
// mutants.txt lists the changes. Each is applied to a copy of one file, which replaces that file in the build, and its test
// runs there. PATTERN is a regular expression for the names of mutants.
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

// mutant is a change of one line that must make a test fail.
type mutant struct {
	Of           string // "promise 3", or "requirement 2.1"
	File         string
	Old, New     string
	Package, Run string
}

// parseMutants reads the list: five lines for each mutant, separated by empty lines.
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
		if len(lines) != 5 || !strings.HasPrefix(lines[2], "- ") || !strings.HasPrefix(lines[3], "+ ") {
			return nil, fmt.Errorf("%q is not a name, a file, an old line, a new line and a test", block)
		}
		pkg, test, ok := strings.Cut(lines[4], " ")
		if !ok {
			return nil, fmt.Errorf("%q is not a package and a test", lines[4])
		}
		all = append(all, mutant{lines[0], lines[1], lines[2][2:], lines[3][2:], pkg, test})
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
		return "", fmt.Errorf("%s: %s has %d times %q, want once", m.Of, m.File, n, m.Old)
	}
	return strings.Replace(string(text), m.Old, m.New, 1), nil
}

// killed runs the test of the mutant and reports whether it failed.
func (m mutant) killed(root string) (bool, string, error) {
	text, err := m.apply(root)
	if err != nil {
		return false, "", err
	}
	dir, err := os.MkdirTemp("", "promises-")
	if err != nil {
		return false, "", err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	file, err := filepath.Abs(filepath.Join(root, m.File))
	if err != nil {
		return false, "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return false, "", err
	}
	for name, content := range map[string]string{changed: text, overlay: string(list)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return false, "", err
		}
	}
	cmd := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-timeout=10m", "-run", "^("+m.Run+")$", "./"+m.Package)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	said := string(out)
	switch {
	case err == nil:
		return false, said, nil
	case strings.Contains(said, "[build failed]") || strings.Contains(said, "[setup failed]"):
		return false, said, fmt.Errorf("%s: the change does not compile:\n%s", m.Of, said)
	}
	return strings.Contains(said, "--- FAIL") || strings.Contains(said, "panic:"), said, nil
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
		dead, said, err := m.killed(root)
		word := "killed"
		if err != nil {
			word, said = "broken", err.Error()
		} else if !dead {
			word = "SURVIVED"
		}
		fmt.Fprintf(out, "%-9s %-24s %s %s, %v\n", word, m.Of, m.Package, m.Run, time.Since(began).Round(time.Second))
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
