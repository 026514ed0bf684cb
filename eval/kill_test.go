package eval_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// childDir is the variable that makes this program run the evaluation of TestKilledRunsLoseNothing in a folder.
const childDir = "TOOLPOST_EVAL_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := evaluateIn(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func killSuite() *eval.Suite {
	s := &eval.Suite{Name: "killed", Hash: "1"}
	for i := range 400 {
		s.Cases = append(s.Cases, eval.Case{ID: fmt.Sprint("case ", i), Messages: []llm.Message{llm.User(fmt.Sprint("question ", i))}, Weight: 1, Expect: eval.Expect{NoCall: true}})
	}
	return s
}

// logged notes each question in a file and answers after a moment.
type logged struct{ file *os.File }

func (l logged) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		fmt.Fprintln(l.file, req.Messages[0].Text())
		time.Sleep(time.Millisecond)
		_ = yield(llm.TextDelta{Text: "answer to " + req.Messages[0].Text()}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

func killRunner(dir string) (*eval.Evaluator, error) {
	store, err := journal.OpenDir(filepath.Join(dir, "runs"))
	return &eval.Evaluator{Store: store, Models: []string{"m"}}, err
}

func evaluateIn(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "asked"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	r, err := killRunner(dir)
	if err != nil {
		return err
	}
	r.Open = func(string) (llm.Model, error) { return logged{f}, nil }
	_, err = r.Run(context.Background(), killSuite())
	return err
}

// A run that is killed at random again and again asks nothing twice that it has recorded, and in the end has everything.
func TestKilledRunsLoseNothing(t *testing.T) {
	dir := t.TempDir()
	r, err := killRunner(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := killSuite()
	run := r.Plan(s).Run()
	recorded := func() map[string]int {
		out := make(map[string]int)
		for trial, err := range eval.Trials(t.Context(), r.Store, run) {
			if err != nil {
				t.Fatal(err)
			}
			out[strings.TrimPrefix(trial.Text, "answer to ")]++
		}
		return out
	}
	random := rand.New(rand.NewPCG(1, 2))
	cycles := 0
	for done := false; !done; cycles++ {
		before := recorded()
		if err := os.RemoveAll(filepath.Join(dir, "asked")); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childDir+"="+dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		limit := time.Minute
		if cycles < 50 {
			// Wait until the child asks something, so that every cycle kills work in progress.
			waitFor(t, filepath.Join(dir, "asked"), ended)
			limit = time.Duration(random.IntN(4)) * time.Millisecond
		}
		select {
		case err := <-ended:
			if done = err == nil; !done {
				t.Fatalf("cycle %d: %v", cycles, err)
			}
		case <-time.After(limit):
			_ = child.Process.Kill()
			<-ended
		}
		asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
		for question := range strings.Lines(string(asked)) {
			if before[strings.TrimSpace(question)] > 0 {
				t.Errorf("cycle %d: %q was asked again", cycles, question)
			}
		}
	}
	final := recorded()
	for i := range s.Cases {
		if n := final[fmt.Sprint("question ", i)]; n != 1 {
			t.Errorf("question %d has %d answers", i, n)
		}
	}
	if _, err := journal.Verify(r.Store.Read(t.Context(), run, 1)); err != nil {
		t.Error(err)
	}
	t.Logf("%d cycles", cycles)
}

// waitFor waits until a file exists or the child has ended.
func waitFor(t *testing.T, file string, ended chan error) {
	t.Helper()
	for range 60_000 {
		if _, err := os.Stat(file); err == nil {
			return
		}
		select {
		case err := <-ended:
			ended <- err
			return
		case <-time.After(time.Millisecond):
		}
	}
	t.Fatal("the child asks nothing")
}
