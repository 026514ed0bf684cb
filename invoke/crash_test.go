package invoke_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// crashDir tells the test binary to be the process that gets killed, and where
// its world is. The store is the folder's base name.
const crashDir = "TOOLPOST_TEST_CRASH_DIR"

// crashStores are the stores that must survive. Each also returns how it is
// closed.
var crashStores = map[string]func(dir string) (journal.Store, func() error, error){
	"jsonl": func(dir string) (journal.Store, func() error, error) {
		d, err := journal.OpenDir(filepath.Join(dir, "runs"))
		return d, func() error { return nil }, err
	},
	"sqlite": func(dir string) (journal.Store, func() error, error) {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "runs.db")+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
		if err != nil {
			return nil, nil, err
		}
		s, err := journal.OpenSQL(db)
		return s, db.Close, err
	},
}

// effectsFile is the world: a tool changes it by adding the id of its call.
func effectsFile(dir string) string { return filepath.Join(dir, "effects") }

// TestKill kills a process that runs calls, at a random moment, again and
// again. Each process verifies what the one before it left behind; now and then
// the journal is held against the world.
func TestKill(t *testing.T) {
	cycles := 200
	if testing.Short() || raceDetector { // what processes leave behind is nothing it could see
		cycles = 20
	}
	for name := range crashStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			done := 0
			for start := time.Now(); done < cycles && (done < 10 || time.Since(start) < time.Minute); {
				crash(t, dir)
				if done++; done%20 == 0 {
					inspect(t, dir, name)
				}
				if t.Failed() {
					t.Fatalf("after cycle %d", done)
				}
			}
			last := inspect(t, dir, name)
			t.Logf("%d kills: %d effects, %d intents, %d receipts, %d outcomes reported as unknown (%d of them had happened)",
				done, last.effects, last.intents, last.receipts, last.unknown, last.happened)
			if last.effects == 0 {
				t.Error("the test has shown nothing: there was no effect")
			}
		})
	}
}

// crash starts the process, waits until it has done some work, and kills it a
// little later.
func crash(t *testing.T, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for range 1 + rand.IntN(6) { // "ready", then one line per outcome
		if _, err := lines.ReadString('\n'); err != nil {
			t.Errorf("the process does not work: %v", err)
			break
		}
	}
	time.Sleep(time.Duration(rand.Int64N(int64(4 * time.Millisecond))))
	_ = cmd.Process.Kill() // it may have failed by itself, which Wait says
	if err := cmd.Wait(); err == nil || errOut.Len() > 0 {
		t.Errorf("the process ended by itself: %v\n%s", err, errOut.String())
	}
}

// world is what was found after a kill.
type world struct{ effects, intents, receipts, unknown, happened int }

// inspect reads the journal and the effects and checks one against the other.
func inspect(t *testing.T, dir, name string) world {
	t.Helper()
	store, closeStore, err := crashStores[name](dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore()
	if _, err := journal.Verify(store.Read(t.Context(), "crash", 0)); err != nil {
		t.Errorf("the run cannot be read: %v", err)
	}
	effects := readEffects(t, dir)
	intents, receipts := make(map[string]bool), make(map[string]journal.Status)
	for e, err := range store.Read(t.Context(), "crash", 0) {
		if err != nil {
			t.Error(err)
			break
		}
		var r struct {
			Call   string
			Status journal.Status
		}
		if err := e.Decode(&r); err != nil {
			t.Error(err)
		}
		switch e.Kind {
		case journal.KindIntent:
			intents[r.Call] = true
		case journal.KindReceipt:
			receipts[r.Call] = r.Status
		}
	}
	w := world{effects: len(effects), intents: len(intents), receipts: len(receipts)}
	for id, n := range effects {
		if n > 1 {
			t.Errorf("%s was done %d times", id, n)
		}
		if !intents[id] {
			t.Errorf("%s was done without an intent", id)
		}
	}
	for id, status := range receipts {
		switch {
		case status == journal.OK && effects[id] == 0:
			t.Errorf("%s has a receipt and was not done", id)
		case status == journal.Unknown:
			w.unknown++
			w.happened += effects[id]
		}
	}
	return w
}

func readEffects(t *testing.T, dir string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(effectsFile(dir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	effects := make(map[string]int)
	for _, id := range strings.Fields(string(b)) {
		effects[id]++
	}
	return effects
}

// crashing is the process that gets killed. It resumes the run, sends the calls
// of its last turn again, as an agent does that does not know how far it came,
// and goes on with new ones for ever.
func crashing(dir string) error {
	ctx := context.Background()
	store, _, err := crashStores[filepath.Base(dir)](dir)
	if err != nil {
		return err
	}
	rec, err := journal.Open(ctx, store, "crash")
	if err != nil {
		return err
	}
	next := 1
	for e, err := range store.Read(ctx, "crash", 0) {
		if err != nil {
			return err
		}
		var in journal.Intent
		var n int
		if e.Kind == journal.KindIntent && e.Decode(&in) == nil {
			if _, err := fmt.Sscanf(in.Call, "c%d", &n); err == nil {
				next = max(next, n)
			}
		}
	}
	world, err := os.OpenFile(effectsFile(dir), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	change := tool.Tool{Name: "change", Origin: tool.Program, Call: func(_ context.Context, args json.RawMessage) (tool.Output, error) {
		var in struct{ ID string }
		if err := json.Unmarshal(args, &in); err != nil {
			return tool.Output{}, err
		}
		_, err := world.WriteString(in.ID + "\n")
		return tool.Text("done"), err
	}}
	s, err := (&invoke.Runner{Tools: tool.MustSet(change)}).Session(rec)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	lost := len(rec.Unknown())
	for n := max(next-2, 1); ; n += 3 {
		var calls []llm.Call
		for id := n; id < n+3; id++ {
			calls = append(calls, call(fmt.Sprintf("c%d", id), "change", fmt.Sprintf(`{"id":"c%d"}`, id)))
		}
		for ev, err := range s.Do(ctx, calls) {
			if err != nil {
				return err
			}
			if o, ok := ev.(invoke.Outcome); ok {
				fmt.Println(o.Receipt.Status)
				if o.Receipt.Status == journal.Unknown {
					lost--
				}
			}
		}
		if lost > 0 {
			return fmt.Errorf("%d calls of unknown outcome were not reported", lost)
		}
	}
}
