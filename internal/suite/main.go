// Command suite runs the tests of packages as go test does and decides whether
// they pass:
//
//	go run ./internal/suite [-skips LIST] [-race] PACKAGE...
//
// It prints the output of go test without -v, and fails on
//
//   - a test that was skipped without being on the list. A line of the list is
//     a package below the module, a test, and the reason why it may be skipped;
//     the line also covers the subtests. A missing program or file therefore
//     cannot disable a test unnoticed.
//   - a test that failed. Up to three failed tests are first run again alone,
//     three times each. A test that passes all of them is reported as unsteady
//     and does not fail the suite, because real processes, sockets and
//     terminals share the machine with a hundred other tests. A data race, a
//     panic, a build that fails and a package that runs out of time are never
//     tried again.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	module = "github.com/toolpost/toolpost/"
	// timeout is far longer than any package needs: a slow machine is not a
	// failure.
	timeout = "-timeout=40m"
	// maxAgain is the maximum number of failed tests that are tried again: more
	// failures are not an accident.
	maxAgain = 3
	// passes is how often a test must pass alone to count as unsteady.
	passes = "-count=3"
)

func main() {
	list := flag.String("skips", "", "`FILE` with the tests that may be skipped")
	race := flag.Bool("race", false, "with the race detector")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*list, *race, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(list string, race bool, packages []string) error {
	var allowed map[string]bool
	if list != "" {
		text, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		if allowed, err = parse(string(text)); err != nil {
			return err
		}
	}
	flags := []string{timeout}
	if race {
		flags = append(flags, "-race")
	}
	first, err := test(allowed, append(flags, packages...))
	if err != nil {
		return err
	}
	return judge(first, func(pkg, pattern string) (outcome, error) {
		return test(allowed, append(slices.Clone(flags), passes, "-run", pattern, module+pkg))
	})
}

// test runs go test and reads the results.
func test(allowed map[string]bool, args []string) (outcome, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return outcome{}, err
	}
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	o, err := read(out, os.Stdout, allowed)
	if err != nil {
		return o, err
	}
	if failed := cmd.Wait(); failed != nil && len(o.failed) == 0 && len(o.final) == 0 {
		return o, fmt.Errorf("go test: %w", failed)
	}
	return o, nil
}

// parse reads the list: the tests that may be skipped, as PACKAGE.TEST.
func parse(list string) (map[string]bool, error) {
	allowed := make(map[string]bool)
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%q is no package, test and reason", line)
		}
		allowed[fields[0]+"."+fields[1]] = true
	}
	return allowed, nil
}

// outcome holds the results of the tests.
type outcome struct {
	// failed are the tests that failed, without their subtests.
	failed []testName
	// final are failures that are not tried again: builds, races, panics.
	final []string
	// skipped are tests that were skipped and are not on the list.
	skipped []string
}

type testName struct{ pkg, test string }

func (n testName) String() string { return n.pkg + "." + n.test }

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	// ImportPath names the package of a build that failed.
	ImportPath string
}

// read copies the readable output and returns the outcome. allowed is nil if
// any test may be skipped.
func read(in io.Reader, out io.Writer, allowed map[string]bool) (outcome, error) {
	var o outcome
	held := make(map[testName][]string) // the output of each test until it ends
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var ev event
		if json.Unmarshal(lines.Bytes(), &ev) != nil {
			fmt.Fprintln(out, lines.Text()) // not from the tests: the go command itself
			continue
		}
		name := testName{strings.TrimPrefix(ev.Package, module), ev.Test}
		switch ev.Action {
		case "build-output":
			fmt.Fprint(out, ev.Output)
		case "build-fail":
			o.final = append(o.final, ev.ImportPath+" was not built")
		case "output":
			if sign := noAccident(ev.Output); sign != "" {
				o.final = append(o.final, name.String()+": "+sign)
			}
			if ev.Test != "" {
				held[name] = append(held[name], ev.Output)
			} else if !strings.HasPrefix(ev.Output, "PASS") && !strings.Contains(ev.Output, "[no test files]") {
				fmt.Fprint(out, ev.Output)
			}
		case "fail":
			fmt.Fprint(out, strings.Join(held[name], ""))
			if ev.Test == "" { // tests that had no end when the program ended
				printUnfinished(out, held, name.pkg)
			}
			o.fail(name)
		case "skip":
			if ev.Test != "" && allowed != nil && !mayBeSkipped(allowed, name) {
				fmt.Fprint(out, strings.Join(held[name], ""))
				o.skipped = append(o.skipped, name.String())
			}
		}
		if ev.Action == "pass" || ev.Action == "fail" || ev.Action == "skip" {
			delete(held, name)
		}
	}
	return o, lines.Err()
}

// printUnfinished prints the output of the unfinished tests of a package.
func printUnfinished(out io.Writer, held map[testName][]string, pkg string) {
	var names []testName
	for name := range held {
		if name.pkg == pkg && name.test != "" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b testName) int { return strings.Compare(a.test, b.test) })
	for _, name := range names {
		fmt.Fprint(out, strings.Join(held[name], ""))
		delete(held, name)
	}
}

// noAccident returns the sign in a line of output that rules out a second attempt.
func noAccident(line string) string {
	for _, sign := range []string{"panic: ", "fatal error: ", "WARNING: DATA RACE"} {
		if strings.HasPrefix(line, sign) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// fail records a failed test or package. A package that fails without a failed
// test (it ended early, or leaked) is not tried again.
func (o *outcome) fail(name testName) {
	if name.test == "" {
		for _, f := range o.failed {
			if f.pkg == name.pkg {
				return
			}
		}
		o.final = append(o.final, name.pkg)
		return
	}
	name.test, _, _ = strings.Cut(name.test, "/")
	if !slices.Contains(o.failed, name) {
		o.failed = append(o.failed, name)
	}
}

// mayBeSkipped reports whether the list has a test or one around it.
func mayBeSkipped(allowed map[string]bool, name testName) bool {
	for {
		if allowed[name.String()] {
			return true
		}
		i := strings.LastIndexByte(name.test, '/')
		if i < 0 {
			return false
		}
		name.test = name.test[:i]
	}
}

// judge decides about the suite; again runs tests of a package alone.
func judge(first outcome, again func(pkg, pattern string) (outcome, error)) error {
	if len(first.final) > 0 || len(first.failed) > maxAgain {
		return fmt.Errorf("failed: %s", strings.Join(append(names(first.failed), first.final...), ", "))
	}
	for _, name := range first.failed {
		fmt.Printf("suite: %s failed: again, alone\n", name)
		o, err := again(name.pkg, "^"+name.test+"$")
		if err == nil && len(o.failed)+len(o.final) > 0 {
			err = errors.New("it failed again")
		}
		if err != nil {
			return fmt.Errorf("failed: %s: %w", name, err)
		}
	}
	if len(first.skipped) > 0 {
		slices.Sort(first.skipped)
		return fmt.Errorf("skipped, but not on the list of tests that may be: %s", strings.Join(first.skipped, ", "))
	}
	for _, name := range first.failed {
		fmt.Printf("suite: UNSTEADY: %s failed among the others and passed three times alone: mend it\n", name)
	}
	return nil
}

func names(tests []testName) []string {
	out := make([]string, len(tests))
	for i, t := range tests {
		out[i] = t.String()
	}
	return out
}
