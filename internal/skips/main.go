// Command skips reads the output of go test -json and fails on a test that was
// skipped without being on a list:
//
//	go test -json ./... | go run ./internal/skips .ci/skips.txt
//
// It prints what go test would print without -v. A line of the list is a
// package below the module, a test, and the reason why it may be skipped; a
// test stands for its subtests. So a property cannot stop being tested
// unnoticed because a program or a file is missing.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const module = "github.com/toolpost/toolpost/"

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	// ImportPath names the package of a build that failed.
	ImportPath string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ./... | skips LIST")
		os.Exit(2)
	}
	list, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(2)
	}
	allowed, err := parse(string(list))
	if err == nil {
		err = check(os.Stdin, os.Stdout, allowed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
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

// check copies what people read of the output and reports failures and skips.
func check(in io.Reader, out io.Writer, allowed map[string]bool) error {
	var failed, skipped []string
	held := make(map[string][]string) // the output of each test until it ends
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var ev event
		if json.Unmarshal(lines.Bytes(), &ev) != nil {
			fmt.Fprintln(out, lines.Text()) // not from the tests: the go command itself
			continue
		}
		pkg := strings.TrimPrefix(ev.Package, module)
		key := pkg + "." + ev.Test
		switch ev.Action {
		case "build-output":
			fmt.Fprint(out, ev.Output)
		case "build-fail":
			failed = append(failed, ev.ImportPath)
		case "output":
			if ev.Test != "" {
				held[key] = append(held[key], ev.Output)
			} else if !strings.HasPrefix(ev.Output, "PASS") && !strings.Contains(ev.Output, "[no test files]") {
				fmt.Fprint(out, ev.Output)
			}
		case "fail":
			fmt.Fprint(out, strings.Join(held[key], ""))
			failed = append(failed, key)
		case "skip":
			if ev.Test != "" && !mayBeSkipped(allowed, pkg, ev.Test) {
				fmt.Fprint(out, strings.Join(held[key], ""))
				skipped = append(skipped, key)
			}
		}
		if ev.Action == "pass" || ev.Action == "fail" || ev.Action == "skip" {
			delete(held, key)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	if len(skipped) > 0 {
		slices.Sort(skipped)
		return fmt.Errorf("skipped, but not on the list of tests that may be: %s", strings.Join(skipped, ", "))
	}
	return nil
}

// mayBeSkipped reports whether the list has a test or one around it.
func mayBeSkipped(allowed map[string]bool, pkg, test string) bool {
	for {
		if allowed[pkg+"."+test] {
			return true
		}
		i := strings.LastIndexByte(test, '/')
		if i < 0 {
			return false
		}
		test = test[:i]
	}
}
