//go:build unix

package builtin_test

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
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
		case <-time.After(5 * time.Second):
			t.Fatal("waiting for a pipe")
		}
	}
}
