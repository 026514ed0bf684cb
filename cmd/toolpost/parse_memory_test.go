//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/testkit"
)

// Parse takes at most 100 MB for an answer of 50 MB, from a file or a pipe. The test measures the released command,
// because the pages of the program itself count, and the test binary has more of them.
func TestParseMemory(t *testing.T) {
	testkit.Long(t, "it builds the command again")
	const limit = 100_000 // kB
	command, dir := released(t), t.TempDir()
	call := "Some text.\n<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":\"" + strings.Repeat("x", 900) + "\"}}\n</tool_call>\n"
	for name, line := range map[string]string{"text": strings.Repeat("The quick brown fox. ", 40) + "\n", "calls": call} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(strings.Repeat(line, 50_000_000/len(line))), 0o600); err != nil {
			t.Fatal(err)
		}
		ways := [][]string{{"parse", file}, {"parse"}}
		if name == "calls" {
			ways = [][]string{{"parse", "--json", file}}
		}
		for _, args := range ways {
			cmd := exec.CommandContext(t.Context(), command, args...)
			if len(args) == 1 {
				in, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				cmd.Stdin = struct{ io.Reader }{in} // as a pipe
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			most := make(chan int)
			go func() { most <- mostMemory(cmd.Process.Pid) }()
			err := cmd.Wait()
			if kb := <-most; err != nil || kb == 0 || kb > limit {
				t.Errorf("%s %v: %d kB, %v", name, args, kb, err)
			}
		}
	}
}

// mostMemory returns the peak memory of a process in kB, sampled until it ends. (The value from wait includes the
// memory of the parent at the start.)
func mostMemory(pid int) (kb int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, after, ok := strings.Cut(string(status), "VmHWM:")
		if err != nil || !ok {
			return kb
		}
		if n, err := strconv.Atoi(strings.Fields(after)[0]); err == nil {
			kb = n
		}
		time.Sleep(5 * time.Millisecond)
	}
}
