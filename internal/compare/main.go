// Command compare measures the speed of benchmarks relative to an earlier
// commit:
//
//	go run ./internal/compare -old COMMIT -n 20000 ./invoke TrivialCall/read-only
//
// It builds the tests of both, runs them in turn, and compares the processor
// time of the processes, less that of a run of one iteration. Other work on the
// machine disturbs processor time less than the time on the clock, and the
// fastest round least.
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
	"slices"
	"time"
)

func main() {
	old := flag.String("old", "", "the commit to compare with")
	n := flag.Int("n", 1000, "iterations of a round")
	rounds := flag.Int("rounds", 7, "rounds")
	flag.Parse()
	if *old == "" || flag.NArg() < 2 || *n < 2 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "usage: compare -old COMMIT [-n ITERATIONS] [-rounds ROUNDS] DIRECTORY BENCHMARK...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *old, flag.Arg(0), flag.Args()[1:], *n, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// side is one of the two commits.
type side struct {
	dir, tests string // where the package is, and its tests
}

// run compares the benchmarks of the package in the directory pkg with those of
// an earlier commit, and writes a line for each. It removes its temporary
// files.
func run(ctx context.Context, w io.Writer, commit, pkg string, benchmarks []string, n, rounds int) (err error) {
	tmp, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	tree := filepath.Join(tmp, "tree")
	if err := execute(exec.CommandContext(ctx, "git", "worktree", "add", "--detach", tree, commit)); err != nil {
		return err
	}
	defer func() { // even if ctx has ended
		err = errors.Join(err, execute(exec.Command("git", "worktree", "remove", "--force", tree)))
	}()
	sides := [2]side{{filepath.Join(tree, pkg), filepath.Join(tmp, "old.test")}, {pkg, filepath.Join(tmp, "new.test")}}
	for _, s := range sides {
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", s.tests, ".")
		build.Dir = s.dir
		if err := execute(build); err != nil {
			return err
		}
	}
	for _, b := range benchmarks {
		var took [2][]time.Duration
		for round := range rounds {
			for i := range sides {
				i = (i + round) % 2
				t, err := sides[i].iterations(ctx, b, n)
				if err != nil {
					return err
				}
				took[i] = append(took[i], t)
			}
		}
		was, is := took[0], took[1]
		slices.Sort(was)
		slices.Sort(is)
		fmt.Fprintf(w, "%s: %v before, %v now; before/now %.2f in the fastest round, %.2f in the median\n", b, was[0], is[0],
			was[0].Seconds()/is[0].Seconds(), was[rounds/2].Seconds()/is[rounds/2].Seconds())
	}
	return nil
}

// iterations returns the processor time of an iteration.
func (s side) iterations(ctx context.Context, benchmark string, n int) (time.Duration, error) {
	one, err := s.time(ctx, benchmark, 1)
	if err != nil {
		return 0, err
	}
	all, err := s.time(ctx, benchmark, n)
	return max(all-one, 1) / time.Duration(n-1), err
}

func (s side) time(ctx context.Context, benchmark string, n int) (time.Duration, error) {
	c := exec.CommandContext(ctx, s.tests, "-test.run=^$", "-test.bench=^(Benchmark)?"+benchmark+"$", fmt.Sprintf("-test.benchtime=%dx", n), "-test.cpu=1")
	c.Dir = s.dir
	if err := execute(c); err != nil {
		return 0, err
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

// execute runs a command, and returns its output as an error if it fails.
func execute(c *exec.Cmd) error {
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", c.Args, err, out)
	}
	return nil
}
