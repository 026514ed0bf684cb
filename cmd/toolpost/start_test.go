package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestStartAndSize reports how long the released command takes to start, and
// how large it is. The fastest of many starts counts, so that a busy machine
// does not fail it.
func TestStartAndSize(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds the command a second time")
	}
	command := filepath.Join(t.TempDir(), "toolpost.exe")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", command, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	fastest := time.Hour
	for range 30 {
		start := time.Now()
		if out, err := exec.Command(command, "version").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		fastest = min(fastest, time.Since(start))
	}
	info, err := os.Stat(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("toolpost version takes %v; the command has %.1f MB", fastest.Round(100*time.Microsecond), float64(info.Size())/1e6)
	if limit := 30 * time.Millisecond; fastest > limit {
		t.Errorf("toolpost version takes %v, more than %v", fastest, limit)
	}
	if limit := int64(32e6); info.Size() > limit {
		t.Errorf("the command has %d bytes, more than %d", info.Size(), limit)
	}
}
