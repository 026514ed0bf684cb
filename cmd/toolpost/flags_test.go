package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// TestOneNamePerFlag: flags with the same meaning have the same name, type and letter in every command. Old names are
// hidden.
func TestOneNamePerFlag(t *testing.T) {
	types := map[string]string{
		"journal": "string", "root": "string", "allow": "stringSlice", "config": "string", "model": "string", "json": "bool",
		"batch": "bool", "yes": "bool", "quiet": "bool", "resume": "string", "continue": "bool", "file": "stringArray",
	}
	letters := make(map[string]string)
	visitCommands(program.New(), func(cmd *cobra.Command) {
		visit := func(f *pflag.Flag) {
			if want := types[f.Name]; want != "" && f.Value.Type() != want {
				t.Errorf("%s --%s is a %s, want %s", cmd.CommandPath(), f.Name, f.Value.Type(), want)
			}
			if old, ok := letters[f.Shorthand]; f.Shorthand != "" && ok && old != f.Name {
				t.Errorf("%s: -%s is --%s here and --%s elsewhere", cmd.CommandPath(), f.Shorthand, f.Name, old)
			}
			letters[f.Shorthand] = f.Name
			if (f.Name == "store" || f.Name == "dir") && !f.Hidden {
				t.Errorf("%s shows --%s", cmd.CommandPath(), f.Name)
			}
		}
		cmd.Flags().VisitAll(visit)
		cmd.PersistentFlags().VisitAll(visit)
	})
}

// TestOldNamesOfFlags: old names work, and a line on standard error gives the new name.
func TestOldNamesOfFlags(t *testing.T) {
	clitest.Bare(t, map[string]string{"below/a.txt": "one\n"})
	id := programtest.RunID(t, programtest.Run(t, "", "run", "--journal", "runs", "list the files").ErrOut)
	for _, c := range []struct {
		args string
		out  string
		says string // the note about the name; empty if all names are current
	}{
		{"receipts verify --store runs " + id, "sealed", "--store is --journal now"},
		{"receipts verify --journal runs " + id, "sealed", ""},
		{"replay --store runs " + id, "goes as it went", "--store is --journal now"},
		{"replay --journal runs " + id, "goes as it went", ""},
		{"tools call --dir below list_files", "a.txt", "--dir is --root now"},
		{"tools call --root below list_files", "a.txt", ""},
		{`tools call run_command {"program":"echo","args":["hi"]} --allow`, "hi", "--allow takes a list now"},
		{`tools call --allow run_command {"program":"echo","args":["hi"]}`, "hi", "--allow takes a list now"},
		{`tools call --allow exec run_command {"program":"echo","args":["hi"]}`, "hi", ""},
		{`tools call --allow=exec,write run_command {"program":"echo","args":["hi"]}`, "hi", ""},
	} {
		r := programtest.Run(t, "", strings.Fields(c.args)...)
		if r.Code != cli.ExitOK || !strings.Contains(r.Out, c.out) || strings.Contains(r.Out, "now") || !strings.Contains(r.ErrOut, c.says) || c.says == "" && strings.Contains(r.ErrOut, " now") {
			t.Errorf("toolpost %s: exit %d\n%s\n%s", c.args, r.Code, r.Out, r.ErrOut)
		}
	}
	r := programtest.Run(t, "", "tools", "call", "--allow", "write", "run_command", `{"program":"echo"}`)
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "--allow exec") {
		t.Errorf("a class that does not cover the tool: %+v", r)
	}
}

// TestWrongUse: usage errors have exit status 2 and one line with the mistake and a suggestion if a name is close.
func TestWrongUse(t *testing.T) {
	clitest.Bare(t, map[string]string{"order.json": "{}"})
	for _, c := range []struct{ args, says string }{
		{"rn", "did you mean run?"},
		{"recipts list", "did you mean receipts?"},
		{"models lst", "did you mean list?"},
		{"receipts verfy", "did you mean verify?"},
		{"config chekc", "did you mean check?"},
		{"nonsense", `unknown command "nonsense"`},
		{"run --modle x hi", "did you mean --model?"},
		{"run --alow write hi", "did you mean --allow?"},
		{"receipts list --jurnal x", "did you mean --journal?"},
		{"run -Z hi", "-Z"},
		{"run --allow wrte hi", "write"},
		{"run --allow everything hi", "exec, net, write"},
		{"run --max-turns 0 hi", "max_turns"},
		{"run --max-turns many hi", "max-turns"},
		{"run --temperature 9 hi", "temperature"},
		{"run --timeout soon hi", "timeout"},
		{"run --resume x --continue hi", "give one of them"},
		{"run --contnue hi", "did you mean --continue?"},
		{"parse --dialect hermes_jsn", "hermes_json"},
		{"parse --thinking maybe", "promote"},
		{"schema --vendor opnai order.json", "openai anthropic"},
		{"validate order.json", "schema"},
		{"tools call", "arg"},
		{"tools call --allow nothing list_files", "exec, net, write"},
		{"models show", "which model"},
		{"models probe", "arg"},
		{"sim --addr 0.0.0.0:1", "loopback"},
		{"receipts export x --format z", "format"},
		{"replay", "arg"},
		{"version --json=perhaps", "json"},
		{"tools select", "QUERY"},
		{"run --timeout 10 hi", `--timeout: "10" is not a duration like 90s or 10m`},
		{"run --max-turns x hi", `--max-turns: "x" is not a whole number`},
		{"run --temperature warm hi", `--temperature: "warm" is not a number`},
		{"run --yes=perhaps hi", `--yes: "perhaps" is not true or false`},
		{"help nonsense", `unknown command "nonsense"`},
		{"help recipts", "did you mean receipts?"},
		{"help receipts lst", "did you mean list?"},
		{"completion foo", `unknown command "foo" of toolpost completion`},
		{"completion bsh", "did you mean bash?"},
		{"config set model", "1 argument is given; it is used like this: toolpost config set KEY VALUE"},
		{"tools call list_files path=docs lines=3", "3 arguments are given; it is used like this: toolpost tools call NAME [ARGUMENTS|-]"},
		{"receipts show", "no argument is given; it is used like this: toolpost receipts show RUN"},
		{"receipts list all", "1 argument is given; it is used like this: toolpost receipts list"},
	} {
		r := programtest.Run(t, "", strings.Fields(c.args)...)
		if r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, c.says) || !strings.Contains(r.ErrOut, "--help") || r.Out != "" {
			t.Errorf("toolpost %s: exit %d, want a line with %q\n%s%s", c.args, r.Code, c.says, r.ErrOut, r.Out)
		}
	}
}

// TestExitStatusAfterSignal: a command that a signal ended exits with 128 plus its number, as in shells.
func TestExitStatusAfterSignal(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cli.Signalled{By: c.signal})
		var out, errOut bytes.Buffer
		clitest.Bare(t, nil)
		if code := program.Run(ctx, []string{"run", "-m", "sim/native", "hi"}, strings.NewReader(""), &out, &errOut); code != c.code || !strings.Contains(errOut.String(), "interrupted") {
			t.Errorf("%v: exit %d\n%s", c.signal, code, errOut.String())
		}
	}
}

func TestVersionFlag(t *testing.T) {
	if r, want := programtest.Run(t, "", "--version"), programtest.Run(t, "", "version"); r.Code != cli.ExitOK || r.Out != want.Out || !strings.HasPrefix(r.Out, "toolpost ") {
		t.Errorf("%+v, want %q", r, want.Out)
	}
}
