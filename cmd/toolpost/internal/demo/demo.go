// Package demo is the command demo: a tour in one minute, in which every part runs this program.
package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

type flags struct {
	noPause bool
	json    bool
	keep    bool
}

// New returns the command.
func New() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in one minute what Toolpost does, offline",
		Long: `Six scenes, each made by running this program: a broken call is repaired, a quoted call
does not run, a dangerous call is asked about, a killed run is resumed, a receipt is
verified, and one task runs on three vendors' formats.

No key and no network is needed. The answers of the model come from a script or a set of
rules; everything else is real, and each line with a ✓ was checked. Files and records are
in a temporary folder, which is removed at the end. Your configuration is not used.

On a terminal, the demo waits for Enter after each scene, and asks you about the dangerous
call. Without a terminal, or with --no-pause, the call is refused with 'toolpost runs deny'.`,
		Example: "  toolpost demo\n  toolpost demo --no-pause\n  toolpost demo --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().BoolVar(&f.noPause, "no-pause", false, "do not wait and do not ask")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object with all commands and their output")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "keep the folder with the files and records")
	return cmd
}

// demo is a run of the tour. Exactly what it prints is in its scenes.
type demo struct {
	ctx      context.Context
	program  string
	dir      string // work folder of the commands
	home     string // for configuration and records
	colours  cli.Palette
	out      io.Writer // nil with --json
	terminal *os.File  // the terminal that commands write to; nil without one
	stdin    *os.File  // the terminal of the person; nil without one
	Scenes   []*scene  `json:"scenes"`
}

// scene is a part of the tour, and what happened in it.
type scene struct {
	Title    string    `json:"title"`
	Commands []command `json:"commands"`
	Checked  []string  `json:"checked"`
}

// command is a command that was run. The output is empty if a terminal has shown it.
type command struct {
	Args   []string `json:"args"`
	Exit   int      `json:"exit"`
	Output string   `json:"output"`
}

func (f flags) run(cmd *cobra.Command) error {
	d, err := f.newDemo(cmd)
	if err != nil {
		return err
	}
	if !f.keep {
		defer os.RemoveAll(d.home)
	}
	d.printf("%s\n", d.colours.Dim("Every part runs this program. The model is a script or a set of rules; the rest is real."))
	for i, part := range tour {
		d.Scenes = append(d.Scenes, &scene{Title: part.title, Commands: []command{}, Checked: []string{}})
		d.printf("\n%s\n", d.colours.Bold(fmt.Sprintf("%d of %d  %s", i+1, len(tour), part.title)))
		if err := part.play(d); err != nil {
			return fmt.Errorf("scene %d of the demo: %w", i+1, err)
		}
		if i+1 < len(tour) && !d.wait() {
			return nil
		}
	}
	if f.keep {
		d.printf("\nfiles    %s\nrecords  %s\n", d.dir, d.records())
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), d)
	}
	d.printf("\nNext: %s finds your models. %s runs a task.\n", d.colours.Bold("toolpost doctor"), d.colours.Bold("toolpost run TASK"))
	return nil
}

func (f flags) newDemo(cmd *cobra.Command) (*demo, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "toolpost-demo-")
	if err != nil {
		return nil, err
	}
	d := &demo{ctx: cmd.Context(), program: program, home: home, dir: filepath.Join(home, "demo"), colours: cli.Colours(cmd.OutOrStdout())}
	if err := errors.Join(os.Mkdir(d.dir, 0o700), os.WriteFile(d.config(), nil, 0o600)); err != nil {
		return nil, err
	}
	if f.json {
		return d, nil
	}
	d.out = cmd.OutOrStdout()
	if out, ok := d.out.(*os.File); ok && cli.IsTerminal(out) {
		d.terminal = out
	}
	if in, ok := cmd.InOrStdin().(*os.File); ok && d.terminal != nil && !f.noPause && cli.IsTerminal(in) {
		d.stdin = in
	}
	return d, nil
}

func (d *demo) printf(format string, args ...any) {
	if d.out != nil {
		fmt.Fprintf(d.out, format, args...)
	}
}

// wait waits for Enter if there is a person. It reports whether to continue.
func (d *demo) wait() bool {
	if d.stdin == nil {
		return d.ctx.Err() == nil
	}
	d.printf("\n%s ", d.colours.Dim("Enter: next, q: end"))
	var answer strings.Builder
	for b := make([]byte, 1); ; answer.Write(b) { // a byte at a time: the rest of the input is for the next command
		if n, err := d.stdin.Read(b); n == 0 || err != nil {
			return false
		}
		if b[0] == '\n' {
			return strings.TrimSpace(answer.String()) != "q" && d.ctx.Err() == nil
		}
	}
}

// file writes a file into the work folder and shows it.
func (d *demo) file(name, text string) error {
	d.printf("%s\n", d.colours.Dim(name+":"))
	for line := range strings.Lines(text) {
		d.printf("    %s\n", strings.TrimSuffix(line, "\n"))
	}
	return os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600)
}

// anyExit matches every exit code.
const anyExit = -2

// toolpost runs a command of this program, shows it, and fails if it exits with another code.
func (d *demo) toolpost(exit int, args ...string) (output string, err error) {
	cmd, out := d.start(args)
	err = cmd.Run()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		return "", err
	}
	return d.ended(cmd, out, exit)
}

// start shows a command and prepares its process.
func (d *demo) start(args []string) (*exec.Cmd, *bytes.Buffer) {
	d.printf("%s %s\n", d.colours.Dim("$"), "toolpost "+quoted(args))
	cmd := exec.CommandContext(d.ctx, d.program, args...)
	cmd.Dir, cmd.Env = d.dir, d.environ()
	out := new(bytes.Buffer)
	if d.terminal != nil {
		cmd.Stdout, cmd.Stderr = d.terminal, d.terminal
	} else {
		cmd.Stdout, cmd.Stderr = out, out
	}
	if d.stdin != nil {
		cmd.Stdin = d.stdin
	}
	return cmd, out
}

// ended records a command that has ended.
func (d *demo) ended(cmd *exec.Cmd, out *bytes.Buffer, exit int) (string, error) {
	now := d.Scenes[len(d.Scenes)-1]
	now.Commands = append(now.Commands, command{cmd.Args[1:], cmd.ProcessState.ExitCode(), out.String()})
	d.printf("%s", out)
	if err := d.ctx.Err(); err != nil {
		return "", err
	}
	if code := cmd.ProcessState.ExitCode(); exit != anyExit && code != exit {
		return "", fmt.Errorf("toolpost %s: exit code %d instead of %d", quoted(cmd.Args[1:]), code, exit)
	}
	return out.String(), nil
}

// checked prints a statement that holds.
func (d *demo) checked(holds bool, statement string) error {
	if !holds {
		return fmt.Errorf("not true: %s", statement)
	}
	now := d.Scenes[len(d.Scenes)-1]
	now.Checked = append(now.Checked, statement)
	d.printf("%s %s\n", d.colours.Green("✓"), statement)
	return nil
}

func (d *demo) exists(name string) bool {
	_, err := os.Stat(filepath.Join(d.dir, name))
	return err == nil
}

// environ is the environment without the configuration of the person.
func (d *demo) environ() []string {
	env := os.Environ()
	for _, row := range settings.Table {
		if row.Env != "" {
			env = append(env, row.Env+"=")
		}
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData", "USERPROFILE"} {
		env = append(env, name+"="+d.home)
	}
	return append(env, "TOOLPOST_CONFIG="+d.config(), "TOOLPOST_LOCAL=none")
}

// config is the configuration of the commands.
func (d *demo) config() string { return filepath.Join(d.home, "config.yaml") }

// records is the folder of the runs.
func (d *demo) records() string { return filepath.Join(d.home, "toolpost", "runs") }

// quoted returns arguments as a person types them.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		if words[i] = arg; arg == "" || strings.ContainsAny(arg, " \"'\\$#&;|<>()*?`~") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
