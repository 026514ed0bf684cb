package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		err  string // expected in standard error
	}{
		{"version", cli.ExitOK, ""},
		{"--help", cli.ExitOK, ""},
		{"", cli.ExitOK, ""},
		{"nonsense", cli.ExitUsage, "toolpost --help"},
		{"version --nonsense", cli.ExitUsage, "toolpost version --help"},
		{"version too many", cli.ExitUsage, "toolpost version --help"},
		{"upgrade", cli.ExitUsage, "--check looks for a newer release"},
		{"completion bash", cli.ExitOK, ""},
		{"completion zsh", cli.ExitOK, ""},
		{"completion fish", cli.ExitOK, ""},
		{"completion powershell", cli.ExitOK, ""},
	} {
		r := programtest.Run(t, "", strings.Fields(c.args)...)
		if r.Code != c.code || !strings.Contains(r.ErrOut, c.err) {
			t.Errorf("toolpost %s: exit %d, %q", c.args, r.Code, r.ErrOut)
		}
		if strings.Contains(r.ErrOut, "goroutine") {
			t.Errorf("toolpost %s: a stack trace: %s", c.args, r.ErrOut)
		}
	}
}

// TestHelp checks the help of every command by the same rules.
func TestHelp(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		if strings.Contains(name, "completion") || cmd.Name() == "help" {
			return // cobra's own
		}
		if cmd.Short == "" {
			t.Errorf("%s says nothing about itself", name)
		}
		if !strings.Contains(cmd.Example, "toolpost ") {
			t.Errorf("%s has no example", name)
		}
		if cmd.Runnable() && cmd.Args == nil {
			t.Errorf("%s does not check its arguments", name)
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(program.New())
}

func TestVersionJSON(t *testing.T) {
	r := programtest.Run(t, "", "version", "--json")
	var b buildinfo.Info
	if err := json.Unmarshal([]byte(r.Out), &b); err != nil || b.Go == "" || b.Platform == "" {
		t.Errorf("%+v %v from %s", b, err, r.Out)
	}
}

func TestExitCodeOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{nil, cli.ExitOK, ""},
		{errors.New("it broke"), cli.ExitFailed, "toolpost: it broke\n"},
		{fmt.Errorf("reading: %w", context.Canceled), cli.ExitInterrupted, "toolpost: interrupted\n"},
		{cli.ErrReported, cli.ExitFailed, ""},
		{cli.ErrInterrupted, cli.ExitInterrupted, ""},
	} {
		var b bytes.Buffer
		if code := cli.ExitCode(&b, c.err); code != c.code || b.String() != c.says {
			t.Errorf("%v: %d %q", c.err, code, b.String())
		}
	}
}

type echoRow struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// MarshalJSON fails for an unwritable row.
func (r echoRow) MarshalJSON() ([]byte, error) {
	if r.Text == "unwritable" {
		return nil, errors.New("no")
	}
	type plain echoRow
	return cli.Marshal(plain(r), "")
}

// echo runs the batch reader over input with a command that fails on "bad".
func echo(t *testing.T, input string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetIn(strings.NewReader(input))
	cmd.SetOut(&out)
	err := cli.Batch(cmd, func(row echoRow) (echoRow, error) {
		switch row.Text {
		case "bad":
			return row, errors.New("cannot be done")
		case "panic":
			panic("a bug")
		}
		return row, nil
	})
	return out.String(), err
}

func TestBatchAnswersEveryRowInOrder(t *testing.T) {
	out, err := echo(t, `{"id":"1","text":"a<b"}

{"id":"2","text":"bad"}
{"id":3,"text":"wrong type of id"}
not json
{"id":"5","text":"x"} {"id":"6"}
{"id":"7","text":"last line without end"}`)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	want := []string{
		`{"id":"1","text":"a<b"}`,
		`{"id":"2","error":"cannot be done"}`,
		`{"id":3,"error":"\"id\" is a number and must be a string"}`,
		`{"id":null,"error":"invalid character`,
		`{"id":null,"error":"more than one JSON value on the line"}`,
		`{"id":"7","text":"last line without end"}`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d answers: %s", len(lines), out)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("row %d: %s", i, lines[i])
		}
	}
}

// A failing row does not affect the answers of the others.
func TestBatchKeepsFailuresInTheirRows(t *testing.T) {
	out, err := echo(t, strings.Repeat("x", cli.MaxLine+100)+"\n"+`{"id":"2","text":"panic"}
{"id":"3","text":"unwritable"}
{"id":"4","text":"good"}`)
	want := `{"id":null,"error":"the line is longer than 67108864 bytes"}
{"id":"2","error":"the row cannot be answered: a bug"}
{"id":"3","error":"the answer cannot be written: json: error calling MarshalJSON for type main.echoRow: no"}
{"id":"4","text":"good"}
`
	if err != nil || out != want {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestColourOnlyOnATerminal(t *testing.T) {
	var b bytes.Buffer
	if s := cli.Colours(&b).Red("x"); s != "x" {
		t.Errorf("%q", s)
	}
	if s := (cli.Palette{On: true}).Red("x"); s != "\x1b[31mx\x1b[0m" {
		t.Errorf("%q", s)
	}
}

func visitCommands(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		visitCommands(sub, f)
	}
}
