package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func dirStore(t *testing.T) (*journal.Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs")
	d, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return d, path
}

// TestALiveRunIsNotResumed: whoever resumes a run that somebody is at work on is
// refused at once, told who that is, and leaves no trace.
func TestALiveRunIsNotResumed(t *testing.T) {
	dir, path := dirStore(t)
	other, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	memory := new(journal.Memory)
	for name, c := range map[string]struct{ first, second journal.Store }{"memory": {memory, memory}, "one store": {dir, dir}, "two stores": {dir, other}} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			var refused []error
			a := &agent.Agent{Store: c.first, NewRun: func() string { return "r-" + strings.ReplaceAll(name, " ", "-") }}
			b := &agent.Agent{Store: c.second, Model: says("me too"), Tools: runner(counted("write", &ran, 0))}
			write := tool.Func("write", "Writes.", func(ctx context.Context, _ struct{}) (string, error) {
				ran++
				before := countEntries(t, c.first, a.NewRun())
				for range 3 {
					refused = append(refused, listen(b.Resume(ctx, a.NewRun())).err)
				}
				if after := countEntries(t, c.first, a.NewRun()); after != before {
					t.Errorf("%d entries were added to a run that others own", after-before)
				}
				return "written", nil
			})
			a.Model, a.Tools = says(call("1", "write", `{}`), "Done."), runner(write)
			l := run(t, a, "go")
			if l.err != nil || ran != 1 || l.done.Text != "Done." {
				t.Errorf("ran %d times: %+v, %v", ran, l.done, l.err)
			}
			host, _ := os.Hostname()
			for _, err := range refused {
				var held *journal.HeldError
				if !errors.As(err, &held) || !strings.Contains(err.Error(), fmt.Sprintf("process %d on %s", os.Getpid(), host)) {
					t.Errorf("resuming a live run: %v", err)
				}
			}
			if len(refused) != 3 {
				t.Errorf("%d attempts", len(refused))
			}
			verified(t, c.first, l.done.Run)
		})
	}
	if left, _ := filepath.Glob(filepath.Join(path, "*.owner")); len(left) > 0 {
		t.Errorf("leases are left: %v", left)
	}
}

func countEntries(t *testing.T, store journal.Store, run string) int {
	t.Helper()
	n := 0
	for _, err := range store.Read(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// plain is a store that has no leases.
type plain struct{ journal.Store }

// TestWithoutLeasesNothingIsResumed: a store that cannot say who owns a run begins
// runs, and resumes them only if it is told to.
func TestWithoutLeasesNothingIsResumed(t *testing.T) {
	wrote := 0
	a := job(&wrote)
	a.Model = byTurn{a.Model.(*actor).lines}
	a.Store = plain{a.Store}
	name, stopped := interrupt(t, a, "break", 12)
	if !stopped {
		t.Fatal("it was over too soon")
	}
	if l := listen(a.Resume(t.Context(), name)); !errors.Is(l.err, journal.ErrNoLease) {
		t.Errorf("resumed without leases: %v", l.err)
	}
	a.Store = journal.Unleased(a.Store)
	if l := listen(a.Resume(t.Context(), name)); l.err != nil || l.done.Text != "All is done." {
		t.Errorf("%q, %v", l.done.Text, l.err)
	}
	verified(t, a.Store, name)
}

// TestALostLeaseEndsTheEffects: a run whose lease is gone runs nothing more that
// may change things, and the new owner knows what was begun.
func TestALostLeaseEndsTheEffects(t *testing.T) {
	dir, path := dirStore(t)
	other, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	var lease journal.Lease
	type in struct {
		N int `json:"n"`
	}
	write := tool.Func("write", "Writes.", func(ctx context.Context, in in) (string, error) {
		ran = append(ran, fmt.Sprint(in.N))
		if in.N == 1 { // the lease is lost while it runs
			if err := os.Remove(filepath.Join(path, "r.owner")); err != nil {
				t.Error(err)
			}
			if lease, err = other.Lease(ctx, "r"); err != nil {
				t.Error(err)
			}
		}
		return "written", nil
	})
	a := &agent.Agent{Store: dir, NewRun: func() string { return "r" }, Tools: runner(write),
		Model: byTurn{says([]llm.Part{call("1", "write", `{"n":1}`), call("2", "write", `{"n":2}`)}, "Done.").lines}}
	l := run(t, a, "go")
	if !errors.Is(l.err, journal.ErrLeaseLost) || cmp.Diff([]string{"1"}, ran) != "" {
		t.Fatalf("ran %v, error %v", ran, l.err)
	}
	if err := other.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	a.Store = other
	if l := listen(a.Resume(t.Context(), "r")); l.err != nil || l.done.Text != "Done." {
		t.Errorf("%q, %v", l.done.Text, l.err)
	}
	if diff := cmp.Diff([]string{"1", "2"}, ran); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	verified(t, other, "r")
}

// TestStrippedArgumentsNeverRun: a secret that the record does not hold is not
// replaced by its mark in a call that runs, whoever runs it.
func TestStrippedArgumentsNeverRun(t *testing.T) {
	type content struct {
		Path     string `json:"path"`
		Password string `json:"password"`
	}
	for name, c := range map[string]struct {
		pending string // what the model sent before the crash
		second  string // and after it was asked again
		caller  bool
	}{
		"resumed":                {pending: `{"path":"a","password":"hunter22"}`, second: `{"path":"a","password":"given again"}`},
		"in a longer text":       {pending: `{"path":"key: sk-ant-api03-aB3aB3aB3aB3aB3aB3aB3aB3aB3","password":""}`, second: `{"path":"a","password":""}`},
		"for the caller":         {pending: `{"path":"a","password":"hunter22"}`, second: `{"path":"a","password":"given again"}`, caller: true},
		"copied by the model":    {second: `{"path":"a","password":"x"}`},
		"copied, for the caller": {second: `{"path":"a","password":"x"}`, caller: true},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			write := tool.Func("write", "Writes.", func(_ context.Context, in content) (string, error) {
				ran = append(ran, in.Path+in.Password)
				return "written", nil
			})
			store := new(journal.Memory)
			first := c.pending
			if first == "" {
				first = `{"path":"a","password":"\u005bstripped:password]"}`
			}
			a := &agent.Agent{NewRun: func() string { return "r" }, Store: store,
				Model: byTurn{says(call("1", "write", first), call("2", "write", c.second), "Done.").lines}}
			if c.caller {
				a.Caller = []llm.ToolDef{def("write", "path", "password")}
			} else {
				a.Tools = runner(write)
			}
			var l *log
			if c.pending != "" {
				a.Store = &dying{store, 5} // after the answer
				if l = run(t, a, "go"); l.err == nil {
					t.Fatalf("it went on: %v", kindsOf(t, store, "r"))
				}
				a.Store = store
				l = listen(a.Resume(t.Context(), "r"))
			} else {
				l = run(t, a, "go")
			}
			if l.err != nil {
				t.Fatal(l.err)
			}
			for _, c := range l.done.Calls {
				ran = append(ran, string(c.Args))
			}
			var want content
			if err := json.Unmarshal([]byte(c.second), &want); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(ran, " "); strings.Contains(got, "stripped") || !strings.Contains(got, want.Password) || len(ran) != 1 {
				t.Errorf("ran %q", ran)
			}
			if err := agent.Replay(t.Context(), store, "r"); err != nil {
				t.Errorf("the replay differs: %v", err)
			}
		})
	}
}

func kindsOf(t *testing.T, store journal.Store, run string) []string {
	t.Helper()
	var kinds []string
	for e, err := range store.Read(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, string(e.Kind))
	}
	return kinds
}

// TestAnotherAttemptIsGranted: a call that a person has run again is on record as
// another attempt of the first, with who wanted it, before it is run.
func TestAnotherAttemptIsGranted(t *testing.T) {
	fails := 1
	open := tool.Func("open", "Opens.", func(context.Context, struct{}) (string, error) {
		if fails--; fails >= 0 {
			return "", errors.New("permission denied")
		}
		return "it is open", nil
	})
	store := new(journal.Memory)
	a := &agent.Agent{Model: says(call("1", "open", `{}`), "fine"), Tools: runner(open), Store: store,
		Checkpoint: func(context.Context, agent.Checkpoint) (agent.Choice, error) {
			return agent.Choice{Action: agent.Retry, By: "ada"}, nil
		}}
	l := run(t, a, "go")
	if l.err != nil {
		t.Fatal(l.err)
	}
	var got []string
	for e, err := range store.Read(t.Context(), l.done.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		var b struct {
			Call, Repeats, By, Scope string
			Allowed                  bool
		}
		switch e.Kind {
		case journal.KindIntent, journal.KindApproval, journal.KindReceipt:
			if err := e.Decode(&b); err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s%s %s", e.Kind, b.Call, b.Repeats, b.By, b.Scope)))
		}
	}
	want := []string{"intent 1", "receipt 1", "approval 1 ada again", "intent call_1 1", "receipt call_1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("on record (-want +got):\n%s", diff)
	}
	if err := agent.Replay(t.Context(), store, l.done.Run); err != nil {
		t.Errorf("the replay differs: %v", err)
	}
}
