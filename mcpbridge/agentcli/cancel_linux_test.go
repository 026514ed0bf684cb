//go:build linux

package agentcli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// Cancelling ends the program and everything it started, and leaves no file behind.
func TestCancellingEndsEverything(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	file := filepath.Join(t.TempDir(), "pid")
	m := model(t, "leaves something behind:"+file)
	m.Program.Env["PATH"] = os.Getenv("PATH")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			if _, err := os.Stat(file); err == nil {
				cancel()
				return
			}
		}
	}()
	var err error
	for _, e := range m.Stream(ctx, ask("x")) {
		err = e
	}
	if llm.KindOf(err) != llm.Canceled {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("what it started still runs: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "toolpost-agent-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
