//go:build unix

package agent_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	_ "modernc.org/sqlite"
)

// The environment of a process that works on a run: where its store and the world
// are. chaosCycles asks for the long test: so many kills on each store.
const (
	chaosStore  = "TOOLPOST_TEST_CHAOS_STORE" // DRIVER ADDRESS
	chaosWorld  = "TOOLPOST_TEST_CHAOS_WORLD"
	chaosCycles = "TOOLPOST_CHAOS"
)

func init() {
	childProcess = func() {
		if os.Getenv(chaosWorld) == "" {
			return
		}
		process := chaosProcess
		if strings.HasPrefix(os.Getenv(chaosWorld), approvalWorld) {
			process = approvalProcess
		}
		if err := process(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func openChaos(name string) (journal.Store, io.Closer, error) {
	driver, address, _ := strings.Cut(name, " ")
	if driver == "jsonl" {
		d, err := journal.OpenDir(address)
		return d, io.NopCloser(nil), err
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		return nil, nil, err
	}
	s, err := journal.OpenSQL(db)
	return s, db, err
}

// chaosTurns is how many turns a run has; each makes two changes.
const chaosTurns = 25

// chaosModel makes the changes of a turn, which depend on nothing but how many
// turns there were.
var chaosModel = llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	said := 0
	for _, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			said++
		}
	}
	a := says("All is done.")
	if said < chaosTurns {
		a = says([]llm.Part{chaosCall(said, "a"), chaosCall(said, "b")})
	}
	return a.Stream(ctx, req)
})

func chaosCall(turn int, which string) llm.Call {
	id := fmt.Sprintf("c%d%s", turn, which)
	return call(id, "change", fmt.Sprintf(`{"id":%q}`, id))
}

// chaosAgent returns the agent of a run whose calls write to the world.
func chaosAgent(world io.StringWriter, store journal.Store, run string) *agent.Agent {
	type in struct {
		ID string `json:"id"`
	}
	change := tool.Func("change", "Changes.", func(_ context.Context, in in) (string, error) {
		_, err := world.WriteString(run + "/" + in.ID + "\n")
		return "done", err
	})
	return &agent.Agent{Model: chaosModel, Tools: runner(change), Store: store, MaxTurns: chaosTurns + 5, NewRun: func() string { return run }}
}

// chaosProcess takes up the run that is not over, again and again, and begins the
// next one, until it is killed. It never knows what the others do.
func chaosProcess() error {
	store, _, err := openChaos(os.Getenv(chaosStore))
	if err != nil {
		return err
	}
	dir := os.Getenv(chaosWorld)
	world, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for n := 0; ; {
		name := fmt.Sprintf("run-%d", n)
		a := chaosAgent(world, store, name)
		a.Tools.LoopLimit = -1
		l := watchChaos(a.Resume(context.Background(), name))
		var held *journal.HeldError
		switch {
		case errors.As(l.err, &held):
			fmt.Println("held")
			time.Sleep(time.Duration(rand.Int64N(int64(5 * time.Millisecond))))
		case l.err != nil && strings.Contains(l.err.Error(), "has no run"):
			l = watchChaos(a.Run(context.Background(), llm.User("Change it all.")))
			if l.err != nil && !errors.As(l.err, &held) && !errors.Is(l.err, agent.ErrBegun) && !errors.Is(l.err, journal.ErrSealed) {
				return fmt.Errorf("begin %s: %w", name, l.err)
			}
		case l.err == nil, errors.Is(l.err, journal.ErrSealed):
			n++
		default:
			return fmt.Errorf("resume %s: %w", name, l.err)
		}
	}
}

func watchChaos(events iter.Seq2[llm.Event, error]) *log {
	return listen(func(yield func(llm.Event, error) bool) {
		for ev, err := range events {
			if _, ok := ev.(agent.Turn); ok {
				fmt.Println("turn")
			}
			if !yield(ev, err) {
				return
			}
		}
	})
}

// worker is one such process.
type worker struct {
	cmd    *exec.Cmd
	errOut strings.Builder
	lines  atomic.Int64
	held   atomic.Int64
	read   sync.WaitGroup
}

func startWorker(t *testing.T, store, world string) *worker {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{cmd: exec.Command(self)}
	w.cmd.Env = append(os.Environ(), chaosStore+"="+store, chaosWorld+"="+world)
	w.cmd.Stderr = &w.errOut
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.read.Go(func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			w.lines.Add(1)
			if s.Text() == "held" {
				w.held.Add(1)
			}
		}
	})
	return w
}

func (w *worker) kill(t *testing.T) {
	t.Helper()
	_ = w.cmd.Process.Kill() // it may have failed by itself, which Wait says
	w.read.Wait()
	if err := w.cmd.Wait(); err == nil || w.errOut.Len() > 0 {
		t.Errorf("a process ended by itself: %v\n%s", err, w.errOut.String())
	}
}

// TestManyResumeOneRun has several processes resume the same run at once, kills
// and stops them at random moments, and holds the record against the world: no
// effect twice, none lost, every run readable. TOOLPOST_CHAOS=200 makes 200 kills
// on each store.
func TestManyResumeOneRun(t *testing.T) {
	t.Parallel()
	cycles := 6
	long := os.Getenv(chaosCycles) != ""
	if long {
		var err error
		if cycles, err = strconv.Atoi(os.Getenv(chaosCycles)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"jsonl", "sqlite", "pgx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			address := storeAddress(t, name, dir)
			workers := 2
			if !long {
				workers = 2 + rand.IntN(3)
			}
			c := &chaos{store: name + " " + address, world: dir, workers: make([]*worker, workers)}
			c.run(t, cycles)
		})
	}
}

type chaos struct {
	store, world string
	workers      []*worker
	kills, stops int
	held         int64
}

func (c *chaos) run(t *testing.T, cycles int) {
	defer func() {
		for _, w := range c.workers {
			if w != nil {
				w.kill(t)
			}
		}
	}()
	for c.kills < cycles && !t.Failed() {
		for i, w := range c.workers {
			if w == nil {
				c.workers[i] = startWorker(t, c.store, c.world)
			}
		}
		c.await(t, 1+rand.Int64N(8))
		if rand.IntN(4) == 0 {
			c.stop(t)
		}
		most := 1
		if rand.IntN(3) == 0 {
			most = len(c.workers)
		}
		for _, i := range rand.Perm(len(c.workers))[:most] {
			c.held += c.workers[i].held.Load()
			c.workers[i].kill(t)
			c.workers[i] = nil
			c.kills++
		}
		if c.kills%20 == 0 {
			c.inspect(t, false)
		}
	}
	c.inspect(t, true)
}

// await waits until the processes have done something, and a little longer.
func (c *chaos) await(t *testing.T, lines int64) {
	t.Helper()
	total := func() (n int64) {
		for _, w := range c.workers {
			n += w.lines.Load() - w.held.Load()
		}
		return n
	}
	deadline := time.Now().Add(5 * time.Minute)
	for before := total(); total() < before+lines; time.Sleep(200 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatal("no process gets any further")
		}
	}
	time.Sleep(time.Duration(rand.Int64N(int64(4 * time.Millisecond))))
}

// stop stops a process for a moment. If it owns the run, the others are refused
// all that time; see TestAStoppedOwnerIsNotGone.
func (c *chaos) stop(t *testing.T) {
	t.Helper()
	p := c.workers[rand.IntN(len(c.workers))].cmd.Process
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.stops++
}

// inspect holds the record against the world.
func (c *chaos) inspect(t *testing.T, last bool) {
	t.Helper()
	store, closer, err := openChaos(c.store)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var twice, lost, unreadable, unknown, runs, sealed int
	receipts := make(map[string]journal.Status)
	for name, err := range store.(journal.Lister).Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		runs++
		report, err := journal.Verify(store.Read(t.Context(), name, 0))
		if err != nil {
			unreadable++
			t.Errorf("%s: %v", name, err)
			continue
		}
		status := chaosStatus(t, store, name)
		for id, st := range status {
			receipts[name+"/"+id] = st
		}
		if report.Sealed {
			sealed++
			for turn := range chaosTurns {
				for _, which := range []string{"a", "b"} {
					if id := chaosCall(turn, which).ID; status[id] != journal.OK && status[id] != journal.Unknown {
						lost++
						t.Errorf("%s is over, and %s ended as %q", name, id, status[id])
					}
				}
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(c.world, "effects")) // after the record: what that says was done, was
	if err != nil {
		t.Fatal(err)
	}
	effects := make(map[string]int)
	for _, id := range strings.Fields(string(b)) {
		if effects[id]++; effects[id] > 1 {
			twice++
			t.Errorf("%s was done %d times", id, effects[id])
		}
	}
	for id, st := range receipts {
		switch {
		case st == journal.OK && effects[id] == 0:
			lost++
			t.Errorf("%s has a receipt and was not done", id)
		case st == journal.Refused && effects[id] > 0:
			lost++
			t.Errorf("%s was done, and the record says that it was refused", id)
		case st == journal.Unknown:
			unknown++
		}
	}
	if last {
		t.Logf("%d processes, %d kills, %d stops: %d runs (%d over), %d effects, %d of unknown outcome, %d times refused as owned; %d effects twice, %d lost, %d runs unreadable",
			len(c.workers), c.kills, c.stops, runs, sealed, len(effects), unknown, c.held, twice, lost, unreadable)
		if len(effects) == 0 {
			t.Error("the test has shown nothing: there was no effect")
		}
	}
}

// chaosStatus returns how the calls of a run ended, by id.
func chaosStatus(t *testing.T, store journal.Store, run string) map[string]journal.Status {
	t.Helper()
	out := make(map[string]journal.Status)
	for e, err := range store.Read(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		var r journal.Receipt
		if slices.Contains([]journal.Kind{journal.KindReceipt, journal.KindRefusal}, e.Kind) && e.Decode(&r) == nil {
			out[r.Call] = r.Status
		}
	}
	return out
}

// storeAddress returns where a store of the given kind is, for processes that
// share it.
func storeAddress(t *testing.T, kind, dir string) string {
	t.Helper()
	switch kind {
	case "sqlite":
		return "file:" + filepath.Join(dir, "runs.db") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	case "pgx":
		return pgtest.Schema(t, pgtest.Server(t))
	}
	return filepath.Join(dir, "runs")
}

// TestAStoppedOwnerIsNotGone: a process that was stopped keeps its run. Whoever
// resumes it is refused at once, and told which process on which host has it.
func TestAStoppedOwnerIsNotGone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"jsonl", "sqlite", "pgx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			address := storeAddress(t, name, dir)
			c := &chaos{store: name + " " + address, world: dir, workers: []*worker{startWorker(t, name+" "+address, dir)}}
			defer c.workers[0].kill(t)
			c.await(t, 2)
			pid := c.workers[0].cmd.Process.Pid
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			store, closer, err := openChaos(c.store)
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			var held *journal.HeldError
			for n := range 50 { // it may have been between two runs
				start := time.Now()
				l := listen((&agent.Agent{Model: chaosModel, Store: store}).Resume(t.Context(), fmt.Sprintf("run-%d", n)))
				if errors.As(l.err, &held) {
					if took := time.Since(start); took > time.Minute {
						t.Errorf("it took %s", took)
					}
					break
				}
				if l.err != nil { // a run that has ended gives its result
					t.Fatal(l.err)
				}
			}
			host, _ := os.Hostname()
			if held == nil || held.Owner.Process != pid || held.Owner.Host != host {
				t.Errorf("%v; want process %d on %s", held, pid, host)
			}
		})
	}
}
