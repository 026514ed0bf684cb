// Package programtest runs the whole program in tests: in the process of the test, as processes with signals and pipes,
// and in terminals. The tests of the program are spread over the packages of testedIn, which go test runs next to each
// other.
package programtest

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/ask"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/tool/builtin"
)

// testedIn names the package whose tests run a command, or all commands below it. The longest name counts. Package main
// tests the others.
var testedIn = map[string]string{
	"toolpost run": "run", "toolpost runs": "run", "toolpost replay": "run", "toolpost receipts": "run",
	"toolpost serve": "serve", "toolpost launch": "serve", "toolpost keys": "serve", "toolpost usage": "serve",
	"toolpost mcp":  "mcp",
	"toolpost eval": "evaluate", "toolpost models drift": "evaluate",
}

// Main is TestMain of a package that tests the program. If all tests of the package pass, each command that testedIn
// names for it must have run.
//
// The test binary can also run as the program: see BeTheProgram.
func Main(m *testing.M, pkg string) {
	builtin.Supervise()
	mcptest.Main()
	program.BeforeCommand = clitest.RecordCommand
	if os.Getenv("TOOLPOST_TEST_PROGRAM") == "1" {
		if d, err := time.ParseDuration(os.Getenv("TOOLPOST_TEST_SETTLE")); err == nil {
			ask.Settle = d
		}
		if os.Getenv("TOOLPOST_TEST_LIMIT_STACK") != "" {
			go limitStack()
		}
		program.Main()
	}
	state, err := os.MkdirTemp("", "toolpost-state")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", state)       // tests must not write to the user's store
	os.Setenv("GORACE", "atexit_sleep_ms=0") // programs do not sleep at exit under the race detector
	testkit.MostlyWait()
	code := clitest.RunAll(m, program.New, func(command string) bool { return packageOf(command) == pkg })
	os.RemoveAll(state)
	os.Exit(code)
}

// packageOf returns the package whose tests run a command.
func packageOf(command string) string {
	for name := command; name != ""; name = name[:max(0, strings.LastIndexByte(name, ' '))] {
		if pkg := testedIn[name]; pkg != "" {
			return pkg
		}
	}
	return "main"
}

// limitStack ends the program with the first stack that exceeds the limit for a stream (see
// docs/design/gateway-performance.md). The limit applies from the end of standard input.
func limitStack() {
	io.Copy(io.Discard, os.Stdin)
	debug.SetMaxStack(8 << 10)
	fmt.Fprintln(os.Stderr, "stacks are limited")
}
