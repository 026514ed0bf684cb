//go:build unix

package builtin_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// TestDevicesAndPipes must neither wait nor read.
func TestDevicesAndPipes(t *testing.T) {
	root := tree(t)
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	listener, err := net.Listen("unix", filepath.Join(root, "s"))
	if err == nil {
		defer listener.Close()
	}
	tools := fileTools(t, root)
	done := make(chan error, 4)
	go func() {
		for _, name := range []string{"pipe", "s"} {
			_, err := call(t.Context(), tools["read_file"], map[string]any{"path": name})
			done <- err
			_, err = call(t.Context(), tools["write_file"], map[string]any{"path": name, "content": "x", "overwrite": true})
			done <- err
		}
	}()
	for range 4 {
		select {
		case err := <-done:
			if err == nil {
				t.Error("a pipe or socket was used as a file")
			}
		case <-time.After(time.Minute):
			t.Fatal("waiting for a pipe")
		}
	}
}

// TestCommandsAreStoppedWithTheirChildren starts a grandchild that would
// outlive its parent and hold the pipe.
func TestCommandsAreStoppedWithTheirChildren(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "alive"), 0o644); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		alive, err := os.Open(filepath.Join(dir, "alive")) // waits for the grandchild
		cancel()
		if err == nil {
			_, err = io.ReadAll(alive) // ends with the grandchild
		}
		gone <- err
	}()
	script := map[string]any{"program": "sh", "args": []string{"-c", "(exec 3>alive; sleep 600) & sleep 600"}}
	if _, err := call(ctx, builtin.Command{Dir: dir}.Tool(), script); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	select {
	case err := <-gone:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a grandchild lived on")
	}
	var known *tool.Error
	_, err := call(t.Context(), builtin.Command{Dir: dir, Timeout: 300 * time.Millisecond}.Tool(), map[string]any{"program": "sleep", "args": []string{"600"}})
	if !errors.As(err, &known) || known.Code != tool.Timeout {
		t.Errorf("too slow: %v", err)
	}
}
