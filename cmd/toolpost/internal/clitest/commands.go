package clitest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commandsEnv names the file in which tests, and the programs that they start, record commands.
const commandsEnv = "TOOLPOST_TEST_COMMANDS"

// RecordCommand records that a command runs. Tests call it before each command.
func RecordCommand(cmd *cobra.Command, _ []string) {
	file := os.Getenv(commandsEnv)
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return // the command counts as not run
	}
	defer f.Close()
	fmt.Fprintln(f, cmd.CommandPath())
}

// RunAll runs the tests of a package and returns the exit code. If all tests were selected and passed, each command below
// root that the package tests must have run.
func RunAll(m *testing.M, root func() *cobra.Command, tested func(command string) bool) int {
	f, err := os.CreateTemp("", "toolpost-commands")
	if err != nil {
		panic(err)
	}
	f.Close()
	defer os.Remove(f.Name())
	os.Setenv(commandsEnv, f.Name())
	code := m.Run()
	if code != 0 || !allSelected() {
		return code
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		panic(err)
	}
	ran := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		ran[strings.TrimSpace(line)] = true
	}
	for _, path := range notRun(root(), ran) {
		if tested(path) {
			fmt.Printf("no test runs '%s'\n", path)
			code = 1
		}
	}
	return code
}

// allSelected reports whether no flag leaves tests out.
func allSelected() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

// notRun returns the commands below root that did not run. A command with subcommands need not run.
func notRun(root *cobra.Command, ran map[string]bool) (missing []string) {
	for _, cmd := range root.Commands() {
		switch {
		case cmd.Hidden || cmd.Name() == "help":
		case cmd.HasSubCommands():
			missing = append(missing, notRun(cmd, ran)...)
		case !ran[cmd.CommandPath()]:
			missing = append(missing, cmd.CommandPath())
		}
	}
	return missing
}
