// Command fuzz runs every fuzz target of the module, one after the other, each
// for the same time:
//
//	conformance/run fuzz [TIME [PATTERN]]
//
// TIME is a duration such as 10m and 10s if it is missing; PATTERN is a regular
// expression over PACKAGE.TARGET. A finding does not stop the run: go test
// writes the input to testdata/fuzz of the package, and the summary at the end
// lists every target with what became of it.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const root = ".."

// target is a fuzz function of a package.
type target struct{ Package, Name string }

func (t target) String() string { return t.Package + "." + t.Name }

func main() {
	findings, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(2)
	}
	if findings > 0 {
		os.Exit(1)
	}
}

func run(args []string) (findings int, err error) {
	each, pattern := 10*time.Second, ""
	if len(args) > 0 {
		if each, err = time.ParseDuration(args[0]); err != nil {
			return 0, err
		}
	}
	if len(args) > 1 {
		pattern = args[1]
	}
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return 0, err
	}
	targets, err := find(root)
	if err != nil {
		return 0, err
	}
	var summary []string
	for _, t := range targets {
		if !wanted.MatchString(t.String()) {
			continue
		}
		fmt.Printf("== fuzz %v for %v\n", t, each)
		line, ok := one(t, each)
		if !ok {
			findings++
		}
		fmt.Println(line)
		summary = append(summary, line)
	}
	if len(summary) == 0 {
		return 0, fmt.Errorf("no fuzz target matches %q", pattern)
	}
	fmt.Printf("\n%s\n%d targets, %d with findings\n", strings.Join(summary, "\n"), len(summary), findings)
	return findings, nil
}

var function = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// find returns the fuzz targets of the module at dir. Folders that belong to
// other modules, and testdata, are passed over.
func find(dir string) ([]target, error) {
	var targets []target
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			_, other := os.Stat(filepath.Join(path, "go.mod"))
			if path != dir && (other == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, m := range function.FindAllSubmatch(text, -1) {
			targets = append(targets, target{filepath.ToSlash(pkg), string(m[1])})
		}
		return nil
	})
	return targets, err
}

var (
	executed = regexp.MustCompile(`execs: (\d+)`)
	written  = regexp.MustCompile(`Failing input written to (\S+)`)
)

// one fuzzes a target and returns its line of the summary, and whether nothing
// was found.
func one(t target, each time.Duration) (line string, ok bool) {
	cmd := exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+t.Name+"$", "-fuzztime", each.String(), "./"+t.Package)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return summarise(t, out, err)
}

func summarise(t target, out []byte, err error) (line string, ok bool) {
	execs := "0"
	if all := executed.FindAllSubmatch(out, -1); len(all) > 0 {
		execs = string(all[len(all)-1][1])
	}
	state := "ok"
	if err != nil {
		fmt.Printf("%s", out)
		state = "FAILED: " + err.Error()
		if m := written.FindSubmatch(out); m != nil {
			state = "FOUND: " + t.Package + "/" + string(m[1])
		} else if bytes.Contains(out, []byte("context deadline exceeded")) && !bytes.Contains(out, []byte("panic")) {
			// The go command reports this when its time runs out while a worker
			// is still busy. It is not a finding about the input.
			return fmt.Sprintf("%-40v %10s inputs  ok (stopped while busy)", t, execs), true
		}
	}
	return fmt.Sprintf("%-40v %10s inputs  %s", t, execs, state), err == nil
}
