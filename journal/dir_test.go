package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/journal"
)

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing on Windows")
	}
	path := filepath.Join(t.TempDir(), "state", "runs")
	d := openDir(t, path)
	open(t, d, "r").Write(t.Context(), "note", struct{}{})
	for name, want := range map[string]os.FileMode{path: 0o700, d.File("r"): 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", name, info.Mode().Perm(), err, want)
		}
	}
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{shared, link, d.File("r")} {
		if _, err := journal.OpenDir(bad); err == nil {
			t.Errorf("%s is accepted as a directory of runs", bad)
		}
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.WriteFile(victim, nil, 0o600), os.Symlink(victim, d.File("linked"))); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Append(t.Context(), journal.Entry{Run: "linked", Kind: "note", Body: []byte(`{}`)}); err == nil {
		t.Error("a run that is a symbolic link is written to")
	}
}

// The policy decides which entries wait for the disk; the name of the file is
// made safe with the first that does.
func TestSyncPolicy(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be synced on Windows")
	}
	for policy, want := range map[journal.Sync]string{
		journal.SyncIntents: "intent:file intent:dir approval:file seal:file",
		journal.SyncAll:     "start:file start:dir intent:file receipt:file approval:file seal:file",
		journal.SyncNone:    "",
	} {
		path := t.TempDir()
		d := openDir(t, path)
		d.Sync = policy
		var now journal.Kind
		var got []string
		d.OnSync(func(name string) error {
			what := "file"
			if name == path {
				what = "dir"
			}
			got = append(got, string(now)+":"+what)
			return nil
		})
		r := open(t, d, "r")
		for _, now = range []journal.Kind{journal.KindStart, journal.KindIntent, journal.KindReceipt, journal.KindApproval, journal.KindSeal} {
			if _, err := r.Write(t.Context(), now, struct{}{}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("policy %d:\n%s", policy, diff)
		}
	}
}

// Entries that wait for the disk together share a wait. None counts as written before a wait that began after its line.
func TestWaitsForTheDiskAreShared(t *testing.T) {
	const writers = 20
	d := openDir(t, t.TempDir())
	r := open(t, d, "r")
	lines := func() int {
		text, _ := os.ReadFile(d.File("r"))
		return bytes.Count(text, []byte("\n"))
	}
	first := make(chan struct{})
	var mu sync.Mutex
	waits, safe := 0, 0 // lines on the disk
	d.OnSync(func(name string) error {
		if name != d.File("r") {
			return nil
		}
		mu.Lock()
		waits++
		one := waits == 1
		mu.Unlock()
		there := lines()
		if one {
			<-first
		}
		mu.Lock()
		defer mu.Unlock()
		safe = max(safe, there)
		return nil
	})
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			e, err := r.Intent(t.Context(), journal.Intent{Call: fmt.Sprint("c", i), Tool: "pay"})
			mu.Lock()
			defer mu.Unlock()
			if err != nil || e.Seq > int64(safe) {
				t.Errorf("entry %d counts as written, and %d lines are on the disk: %v", e.Seq, safe, err)
			}
		})
	}
	for end := time.Now().Add(2 * time.Minute); lines() < writers; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d lines are written while one waits", lines())
		}
	}
	close(first)
	all.Wait()
	if waits > 2 { // the first may have come after all lines
		t.Errorf("there were %d waits", waits)
	}
}

// An intent that did not reach the disk is an error, so its effect never
// happens; and as nobody knows, the call is not announced again.
func TestIntentSyncFailure(t *testing.T) {
	d := openDir(t, t.TempDir())
	d.OnSync(func(string) error { return errors.New("the disk is on fire") })
	r := open(t, d, "r")
	if _, err := r.Intent(t.Context(), journal.Intent{Call: "c1", Tool: "pay"}); err == nil {
		t.Fatal("the intent counts as written")
	}
	var unknown *journal.UnknownOutcomeError
	if _, err := r.Intent(t.Context(), journal.Intent{Call: "c1", Tool: "pay"}); !errors.As(err, &unknown) {
		t.Errorf("announced again: %v", err)
	}
}

// Whatever a crash leaves of the last line, the next process reads the run,
// cuts the rest off, says so in the run, and goes on.
func TestTornLine(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	d := openDir(t, t.TempDir())
	r := open(t, d, "r")
	for i := range 3 {
		if _, err := r.Write(t.Context(), "note", map[string]int{"i": i}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(d.File("r"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	before := len(lines[0]) + len(lines[1])
	for cut := before + 1; cut < len(whole); cut++ {
		attacks++
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "r.jsonl"), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		d := openDir(t, path)
		if got := kinds(t, d, "r"); got != "note note" {
			t.Fatalf("cut at %d it reads as: %s", cut, got)
		}
		e, err := open(t, d, "r").Write(t.Context(), "note", struct{}{})
		if err != nil || e.Seq != 4 {
			t.Fatalf("cut at %d: %+v, %v", cut, e, err)
		}
		var torn journal.Torn
		for e := range d.Read(t.Context(), "r", 3) {
			if err := e.Decode(&torn); err != nil || e.Kind != journal.KindTorn || torn.Bytes != int64(cut-before) {
				t.Fatalf("cut at %d: %s says %+v, %v", cut, e.Kind, torn, err)
			}
			break
		}
		if report, err := journal.VerifyLines(d.Lines(t.Context(), "r")); err != nil || report.Entries != 4 || report.Torn != 0 {
			t.Fatalf("cut at %d: %+v, %v", cut, report, err)
		}
	}
}

func TestAppendAfterBrokenLine(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	lines := sealedFile(t, "r")
	for why, file := range map[string][]byte{
		"the last line is not an entry":     append(bytes.Clone(lines[0]), "{}\n"...),
		"the last line was changed":         bytes.Replace(lines[0], []byte("café"), []byte("cafe"), 1),
		"another run":                       sealedFile(t, "other")[0],
		"half a line stands after the seal": append(bytes.Join(lines, nil), `{"at`...),
	} {
		attacks++
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "r.jsonl"), file, 0o600); err != nil {
			t.Fatal(err)
		}
		d := openDir(t, path)
		if e, err := d.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: []byte(`{}`)}); err == nil {
			t.Errorf("%s, but %+v was written after it", why, e)
		}
		if now, _ := os.ReadFile(d.File("r")); !bytes.Equal(now, file) {
			t.Errorf("%s: the file was changed", why)
		}
	}
}

// A run whose file was replaced by that of another is not that run.
func TestFileOfAnotherRun(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "r.jsonl"), bytes.Join(sealedFile(t, "other"), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(t.Context(), openDir(t, path), "r"); err == nil || errors.Is(err, journal.ErrSealed) {
		t.Errorf("another run is taken for this one: %v", err)
	}
}

// A file that others have shortened while we were writing it is not continued.
func TestTruncatedFile(t *testing.T) {
	d := openDir(t, t.TempDir())
	r := open(t, d, "r")
	for range 2 {
		if _, err := r.Write(t.Context(), "note", struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(d.File("r"), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write(t.Context(), "note", struct{}{}); err == nil {
		t.Error("a run that lost entries is continued")
	}
}

func BenchmarkAppend(b *testing.B) {
	body := []byte(`{"call":"call_1","tool":"read_file","args":{"path":"src/auth.rs","limit":2000},"params_hash":"sha256:2432e75fcdc5b53e0c60fc6d1514682a9eb0c5b5fd4faefba9f8d6fcfef7d5fd","latency_ms":12,"status":"ok"}`)
	dir := func(s journal.Sync) func(*testing.B) journal.Store {
		return func(b *testing.B) journal.Store {
			d := openDir(b, b.TempDir())
			d.Sync = s
			return d
		}
	}
	for _, c := range []struct {
		name string
		open func(*testing.B) journal.Store
	}{
		{"memory", func(*testing.B) journal.Store { return new(journal.Memory) }},
		{"jsonl", dir(journal.SyncNone)},
		{"jsonl-fsync", dir(journal.SyncAll)},
		{"sqlite", func(b *testing.B) journal.Store { return openSQL(b, "sqlite", sqliteDSN(b)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			store := c.open(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Append(b.Context(), journal.Entry{Run: "r", Kind: journal.KindReceipt, Body: body}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A process that was stopped while it held the lock keeps nobody waiting for ever.
func TestLockTimeout(t *testing.T) {
	d := openDir(t, t.TempDir())
	note := journal.Entry{Run: "r", Kind: "note", Body: []byte(`{}`)}
	if _, err := d.Append(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(d.File("r"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if locked, err := journal.Lock(f); !locked || err != nil {
		t.Fatal(locked, err)
	}
	who := "another process"
	if runtime.GOOS == "linux" {
		who = fmt.Sprintf("process %d ", os.Getpid())
	}
	blocked := func(t *testing.T, ctx context.Context, want error) time.Duration {
		start := time.Now()
		_, err := d.Append(ctx, note)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), who) {
			t.Errorf("%v, want %v and %q", err, want, who)
		}
		return time.Since(start)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		blocked(t, ctx, context.DeadlineExceeded)
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		blocked(t, ctx, context.Canceled)
		// A receipt is written whatever happens to its context.
		if took := blocked(t, context.WithoutCancel(t.Context()), context.DeadlineExceeded); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
	time.AfterFunc(10*time.Millisecond, func() { f.Close() })
	if e, err := d.Append(t.Context(), note); err != nil || e.Seq != 2 {
		t.Errorf("after the lock is gone: %+v, %v", e, err)
	}
}
