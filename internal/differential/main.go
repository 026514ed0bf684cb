// Command differential gives two builds of toolpost the same inputs and reports
// every difference between their outputs:
//
//	go run ./internal/differential -old COMMIT [-new COMMIT or DIRECTORY] [-only parse,gateway] [-quick]
//
// The inputs are the dialect cases and the corpora, the cells of conformance/cells.json
// and requests like those of agents through the gateway, and the journeys of the agent
// package through "toolpost run". Both builds talk to the simulator of the old one
// through a proxy that records upstream requests.
//
// The file justified.txt lists the differences that are wanted. Any other difference
// makes the exit code 1. The program runs in the root of the module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// side is one of the two builds.
type side struct {
	name string // old or new
	bin  string
	home string // HOME of every process of this side
}

// env is the environment of the processes of a side: no keys, no settings of the user.
func (s *side) env(more ...string) []string {
	return append([]string{
		"HOME=" + s.home, "XDG_STATE_HOME=" + s.home, "XDG_CONFIG_HOME=" + s.home, "XDG_CACHE_HOME=" + s.home, "XDG_DATA_HOME=" + s.home,
		"PATH=" + os.Getenv("PATH"), "TZ=UTC", "NO_COLOR=1", "GOMAXPROCS=2",
	}, more...)
}

// options are the settings of one comparison.
type options struct {
	root    string // of the module
	tmp     string
	sides   [2]*side
	quick   bool
	verbose bool
	keep    string // a directory for all outputs
}

// kind is a group of inputs.
type kind struct {
	name string
	run  func(ctx context.Context, o *options) (*comparison, error)
}

var kinds = []kind{
	{"parse", compareParse}, {"repair", compareRepair}, {"explain", compareExplain},
	{"schema", compareSchema}, {"validate", compareValidate}, {"models", compareModels}, {"select", compareSelect},
	{"sim", compareSim}, {"gateway", compareGateway}, {"run", compareRun},
}

func main() {
	var o options
	old := flag.String("old", "", "the `commit` to compare with")
	newer := flag.String("new", ".", "the commit or directory that is compared")
	oldbin := flag.String("oldbin", "", "a ready `binary` in place of -old")
	newbin := flag.String("newbin", "", "a ready `binary` in place of -new")
	only := flag.String("only", "", "the `kinds` of inputs, separated by commas: "+kindNames())
	justified := flag.String("justified", "internal/differential/justified.txt", "the `file` of wanted differences")
	show := flag.Int("show", 40, "how many `lines` of each difference to print, 0 for all")
	flag.BoolVar(&o.quick, "quick", false, "compare a sample, in less than a minute")
	flag.BoolVar(&o.verbose, "v", false, "print the name of every input")
	flag.StringVar(&o.keep, "keep", "", "a `directory` to write all outputs to")
	flag.Parse()
	if flag.NArg() > 0 || *old == "" && *oldbin == "" {
		fmt.Fprintln(os.Stderr, "usage: differential -old COMMIT [-new COMMIT or DIRECTORY] [-only KINDS] [-quick] [-v]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	n, err := run(ctx, os.Stdout, &o, sources{*old, *newer, *oldbin, *newbin}, *only, *justified, *show)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	case n > 0:
		os.Exit(1)
	}
}

func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return strings.Join(names, ",")
}

// sources are where the two binaries come from.
type sources struct{ old, new, oldbin, newbin string }

// run compares the two builds and returns the number of differences that are not justified.
func run(ctx context.Context, w io.Writer, o *options, from sources, only, justified string, show int) (_ int, err error) {
	wanted, err := selectKinds(only)
	if err != nil {
		return 0, err
	}
	rules, err := readRules(justified)
	if err != nil {
		return 0, err
	}
	if o.root, err = os.Getwd(); err != nil {
		return 0, err
	}
	if o.tmp, err = os.MkdirTemp("", "toolpost-differential-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.tmp)) }()
	if err := o.build(ctx, from); err != nil {
		return 0, err
	}
	start, total, inputs := time.Now(), 0, 0
	for _, k := range wanted {
		began := time.Now()
		c, err := k.run(ctx, o)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", k.name, err)
		}
		if o.verbose {
			for _, name := range c.names() {
				fmt.Fprintf(w, "  %s/%s\n", k.name, name)
			}
		}
		if o.keep != "" {
			if err := c.write(o.keep, k.name); err != nil {
				return 0, err
			}
		}
		diffs := c.differences(k.name)
		open := report(w, diffs, rules, show)
		fmt.Fprintf(w, "%-9s %6d inputs, %d differences, %d justified, %.1f s\n", k.name, c.len(), len(diffs), len(diffs)-open, time.Since(began).Seconds())
		total += open
		inputs += c.len()
	}
	if only == "" && !o.quick {
		for _, r := range rules {
			if r.used == 0 {
				fmt.Fprintf(w, "justified, but does not occur: %s (%s)\n", r.pattern, r.reason)
			}
		}
	}
	fmt.Fprintf(w, "%-9s %6d inputs, %d differences that are not justified, %.1f s\n", "all", inputs, total, time.Since(start).Seconds())
	return total, nil
}

func selectKinds(only string) ([]kind, error) {
	if only == "" {
		return kinds, nil
	}
	var list []kind
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown kind %q; the kinds are %s", name, kindNames())
		}
		list = append(list, kinds[i])
	}
	return list, nil
}

// build makes the two binaries.
func (o *options) build(ctx context.Context, from sources) error {
	for i, s := range []struct{ name, source, bin string }{{"old", from.old, from.oldbin}, {"new", from.new, from.newbin}} {
		made := &side{name: s.name, bin: filepath.Join(o.tmp, s.name, "toolpost"), home: filepath.Join(o.tmp, s.name, "home")}
		o.sides[i] = made
		if err := os.MkdirAll(made.home, 0o700); err != nil {
			return err
		}
		var err error
		switch {
		case s.bin != "":
			made.bin, err = filepath.Abs(s.bin)
		case isDir(s.source):
			err = buildIn(ctx, s.source, made.bin)
		default:
			err = buildCommit(ctx, s.source, filepath.Join(o.tmp, s.name, "tree"), made.bin)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// buildCommit builds the binary of a commit in a worktree that it removes.
func buildCommit(ctx context.Context, commit, tree, bin string) (err error) {
	if err := execute(exec.CommandContext(ctx, "git", "worktree", "add", "--detach", tree, commit)); err != nil {
		return err
	}
	defer func() { // even if ctx has ended
		err = errors.Join(err, execute(exec.Command("git", "worktree", "remove", "--force", tree)))
	}()
	return buildIn(ctx, tree, bin)
}

// buildIn builds without version information, which would differ.
func buildIn(ctx context.Context, dir, bin string) error {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, "./cmd/toolpost")
	c.Dir = dir
	return execute(c)
}

// execute runs a command and returns its output if it fails.
func execute(c *exec.Cmd) error {
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", c.Args, err, out)
	}
	return nil
}

// each calls f for both sides at the same time.
func (o *options) each(f func(i int, s *side) error) error {
	var errs [2]error
	var wait sync.WaitGroup
	for i, s := range o.sides {
		wait.Go(func() { errs[i] = f(i, s) })
	}
	wait.Wait()
	return errors.Join(errs[0], errs[1])
}

// workers calls f for 0 to n-1, several at a time, and stops at the first error.
func workers(n int, f func(i int) error) error {
	var mu sync.Mutex
	var first error
	next := 0
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || next == n {
			return -1
		}
		next++
		return next - 1
	}
	var wait sync.WaitGroup
	for range max(2, runtime.NumCPU()) {
		wait.Go(func() {
			for i := take(); i >= 0; i = take() {
				if err := f(i); err != nil {
					mu.Lock()
					first = cmpErr(first, err)
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	return first
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
