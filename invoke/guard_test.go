package invoke_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Cycles of every length that is looked for: three times round is a warning,
// the next call is refused, and the one after ends the run.
func TestLoopGuardCycles(t *testing.T) {
	for period := 1; period <= 7; period++ {
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(echo())})
		var got []string
		for i := range 3*period + 2 {
			o := outcomes(t, s, call("", "echo", fmt.Sprintf(`{"text":"%d"}`, i%period)))[0]
			switch {
			case strings.Contains(o.Result.Text(), "[Note: "):
				got = append(got, fmt.Sprint("warned at ", i+1))
			case o.Next == tool.Abort:
				got = append(got, fmt.Sprint("stopped at ", i+1))
			case o.Receipt.Status == journal.Refused:
				got = append(got, fmt.Sprint("refused at ", i+1))
			}
		}
		want := fmt.Sprintf("[warned at %d refused at %d stopped at %d]", 3*period, 3*period+1, 3*period+2)
		if period == 7 {
			want = "[]" // longer than what is looked for
		}
		if fmt.Sprint(got) != want {
			t.Errorf("a cycle of %d: %v, want %s", period, got, want)
		}
	}
}

func TestLoopGuardVariedCalls(t *testing.T) {
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(echo())})
	refused := 0
	for i := range 40 { // three of a kind, then another: warned each time, never refused
		o := outcomes(t, s, call("", "echo", fmt.Sprintf(`{"text":"%d"}`, i/3)))[0]
		if o.Receipt.Status == journal.Refused {
			refused++
		}
	}
	if refused > 0 {
		t.Errorf("%d calls were refused", refused)
	}
}

func TestLoopGuardLongRuns(t *testing.T) {
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(echo())})
	for i := range 500 {
		if o := outcomes(t, s, call("", "echo", fmt.Sprintf(`{"text":"%d"}`, i)))[0]; o.Error != nil {
			t.Fatalf("call %d: %v", i, o.Error)
		}
	}
}

func TestLoopGuardOff(t *testing.T) {
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(echo()), LoopLimit: -1})
	for range 10 {
		if o := outcomes(t, s, call("", "echo", `{"text":"x"}`))[0]; o.Result.Text() != "x" {
			t.Fatal(o.Result.Text())
		}
	}
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, broken := 0, true
		f := doer("f", 0, func(context.Context) (string, error) {
			ran++
			if broken {
				return "", errors.New("connection refused")
			}
			return "", nil
		})
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), LoopLimit: -1})
		try := func(n int) (before int) {
			before = ran
			for range n {
				outcomes(t, s, call("", "f", ``))
			}
			return ran - before
		}
		for _, step := range []struct {
			why   string
			wait  time.Duration
			mend  bool
			calls int
			runs  int
		}{
			{"five failures are enough", 0, false, 8, 5},
			{"not yet", 59 * time.Second, false, 1, 0},
			{"one probe, which fails", 2 * time.Second, false, 3, 1},
			{"the wait begins anew", 59 * time.Second, false, 1, 0},
			{"a probe that succeeds closes it", 2 * time.Second, true, 3, 3},
		} {
			time.Sleep(step.wait)
			broken = !step.mend
			if got := try(step.calls); got != step.runs {
				t.Errorf("%s: %d of %d calls ran, want %d", step.why, got, step.calls, step.runs)
			}
		}
	})
}

// While the probe runs, nobody else does.
func TestBreakerProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		f := doer("f", tool.ReadOnly, func(context.Context) (string, error) {
			ran++
			time.Sleep(time.Second)
			return "", errors.New("it broke")
		})
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), LoopLimit: -1, Breaker: invoke.Breaker{Failures: 1, Cooldown: time.Minute}})
		outcomes(t, s, call("", "f", ``))
		time.Sleep(time.Hour)
		ran = 0
		outcomes(t, s, call("", "f", ``), call("", "f", ``), call("", "f", ``))
		if ran != 1 {
			t.Errorf("%d probes", ran)
		}
	})
}

// Wrong arguments and missing things speak against the model, not the tool.
func TestBreakerCountsOnlyToolFailures(t *testing.T) {
	ran := 0
	f := doer("f", 0, func(context.Context) (string, error) { ran++; return "", errors.New("no such file") })
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), LoopLimit: -1})
	for range 10 {
		outcomes(t, s, call("", "f", ``))
	}
	if ran != 10 {
		t.Errorf("ran %d of 10 times", ran)
	}
}

// A retry must fit into what the budget leaves, wait included.
func TestRetriesWithinTheBudget(t *testing.T) {
	for budget, attempts := range map[time.Duration]int{0: 3, 40 * time.Second: 1, 50 * time.Second: 1, time.Minute: 2, time.Hour: 3} {
		synctest.Test(t, func(t *testing.T) {
			f := doer("f", tool.Idempotent, func(context.Context) (string, error) {
				time.Sleep(25 * time.Second)
				e := tool.Errorf(tool.Network, "no route")
				e.RetryAfter = 25 * time.Second
				return "", e
			})
			s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Budget: invoke.Budget{Time: budget}})
			if o := outcomes(t, s, call("a", "f", ``))[0]; o.Receipt.Attempts != attempts || o.Error == nil {
				t.Errorf("a budget of %s: %d attempts, want %d", budget, o.Receipt.Attempts, attempts)
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	for _, c := range []struct {
		why    string
		budget invoke.Budget
		runs   int
	}{
		{"calls", invoke.Budget{Calls: 2}, 2},
		{"time", invoke.Budget{Time: 3 * time.Second}, 3},
		{"bytes", invoke.Budget{Bytes: 35}, 4},
		{"none", invoke.Budget{}, 6},
	} {
		synctest.Test(t, func(t *testing.T) {
			ran := 0
			f := doer("f", 0, func(context.Context) (string, error) { ran++; time.Sleep(time.Second); return "0123456789", nil })
			s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Budget: c.budget, LoopLimit: -1})
			var last invoke.Outcome
			for range 6 {
				last = outcomes(t, s, call("", "f", ``))[0]
			}
			if ran != c.runs || c.runs < 6 && (last.Next != tool.Abort || !strings.Contains(last.Result.Text(), "used up")) {
				t.Errorf("%s: ran %d times, want %d; the last said %s", c.why, ran, c.runs, last.Result.Text())
			}
			if spent := s.Spent(); spent.Calls != c.runs || spent.Bytes != int64(10*c.runs) {
				t.Errorf("%s: spent %+v", c.why, spent)
			}
		})
	}
}

func TestCache(t *testing.T) {
	reads := 0
	read := doer("read", tool.ReadOnly, func(context.Context) (string, error) { reads++; return fmt.Sprint("read ", reads), nil })
	write := doer("write", 0, func(context.Context) (string, error) { return "", nil })
	fail := doer("fail", tool.ReadOnly, func(context.Context) (string, error) { reads++; return "", errors.New("no such thing") })
	for _, on := range []bool{false, true} {
		reads = 0
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(read, write, fail), Cache: on, LoopLimit: -1})
		var said []string
		for _, name := range []string{"read", "read", "write", "read", "fail", "fail"} {
			o := outcomes(t, s, call("", name, ``))[0]
			said = append(said, fmt.Sprintf("%s %v", o.Result.Text()[:min(6, len(o.Result.Text()))], o.Receipt.Cached))
		}
		want := "[read 1 false read 2 false write  false read 3 false The ca false The ca false]"
		if on {
			want = "[read 1 false read 1 true write  false read 2 false The ca false The ca false]"
		}
		if got := fmt.Sprint(said); got != want {
			t.Errorf("cache %v:\n%s\n%s", on, got, want)
		}
	}
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := doer("f", tool.Idempotent, func(context.Context) (string, error) { return "", errors.New("connection reset") })
		s, _ := session(t, &invoke.Runner{
			Tools: tool.MustSet(f), Attempts: 6, Rand: func() float64 { return 1 },
			Backoff: invoke.Backoff{Initial: time.Second, Max: 5 * time.Second, Jitter: 0.5},
		})
		var delays []time.Duration
		start := time.Now()
		for ev, err := range s.Do(t.Context(), []llm.Call{call("a", "f", ``)}) {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := ev.(invoke.ToolRetry); ok {
				delays = append(delays, r.Delay)
			}
		}
		if got := fmt.Sprint(delays); got != "[1.5s 3s 6s 7.5s 7.5s]" || time.Since(start) != 25500*time.Millisecond {
			t.Errorf("waits of %s, %s together", got, time.Since(start))
		}
	})
}

// A probe that somebody cancelled has shown nothing: the next call may try.
func TestBreakerCancelledProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		f := doer("f", 0, func(ctx context.Context) (string, error) {
			if ran++; ran != 2 {
				return "", errors.New("connection refused")
			}
			<-ctx.Done()
			return "", ctx.Err()
		})
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), LoopLimit: -1, Breaker: invoke.Breaker{Failures: 1}})
		outcomes(t, s, call("", "f", ``))
		time.Sleep(2 * time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		for range s.Do(ctx, []llm.Call{call("", "f", ``)}) {
		}
		for i := range 3 { // others, since the outcome of the probe is unknown
			outcomes(t, s, call("", "f", fmt.Sprintf(`{"n":%d}`, i)))
		}
		if ran != 3 {
			t.Errorf("ran %d times, want 3: the failure, the cancelled probe, and the next probe", ran)
		}
	})
}
