package run_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

func TestFillTask(t *testing.T) {
	for _, c := range []struct{ template, args, want string }{
		{"Read {1}.", "a.txt", "Read a.txt."}, {"Read {1} and {2}, {1}.", "a b", "Read a and b, a."}, {"Say {args}!", "a b c", "Say a b c!"}, {"List the files", "", "List the files"},
		{"List the files in", "docs", "List the files in docs"}, {"Read {1}", "{2}", "Read {2}"}, {"Read {1}", "", "error"}, {"Read {1}", "a b", "error"}, {"Read {1}, then {args}", "a b", "Read a, then a b"},
	} {
		got, err := settings.FillTask(c.template, strings.Fields(c.args))
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%q with %q: %q %v", c.template, c.args, got, err)
		}
	}
}

func TestNamedTasks(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"a.txt":     "hello from a",
		"c.yaml":    "tasks:\n  show: {task: 'read {1}', model: sim/native}\n  bad: {task: x, model: sim/nothing}\n  many: {task: x, max_turns: 9999}\n",
		"typo.yaml": "tasks:\n  show: {tsak: x}\n", "empty.yaml": "tasks:\n  show: {model: x}\n", "name.yaml": "tasks:\n  'a b': {task: x}\n",
	})
	t.Setenv("TOOLPOST_CONFIG", "c.yaml")
	programtest.Expect(t, cli.ExitOK, []string{"read_file", "hello from a", "on sim/native"}, "run", "@show", "a.txt")
	programtest.Expect(t, cli.ExitOK, []string{"on sim/offline"}, "run", "-m", "sim/offline", "@show", "a.txt")
	programtest.Expect(t, cli.ExitUsage, []string{"it needs 1 argument"}, "run", "@show")
	programtest.Expect(t, cli.ExitUsage, []string{"no task shwo", "did you mean show"}, "run", "@shwo")
	programtest.Expect(t, cli.ExitOK, []string{"read a.txt"}, "receipts", "list") // the record has the expanded task
	programtest.Expect(t, cli.ExitOK, nil, "run", "@somebody said hello")         // several words are a task, not a name
	if r := programtest.Run(t, "", "run", "@many"); r.Code == 0 || !strings.Contains(r.ErrOut, "1 to 500") {
		t.Errorf("%d %s", r.Code, r.ErrOut)
	}
	programtest.Expect(t, cli.ExitFailed, []string{"typo.yaml:2", "tsak"}, "config", "check", "--config", "typo.yaml")
	programtest.Expect(t, cli.ExitFailed, []string{"show has no task"}, "config", "check", "--config", "empty.yaml")
	programtest.Expect(t, cli.ExitFailed, []string{"a b"}, "config", "check", "--config", "name.yaml")
	programtest.Expect(t, cli.ExitOK, []string{"show"}, "config", "show", "--config", "c.yaml", "tasks")
}
