package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkWork is what TestIterations measures.
func BenchmarkWork(b *testing.B) {
	for b.Loop() {
		for end := cpu() + 200*time.Microsecond; cpu() < end; {
		}
	}
}

var started = time.Now()

// cpu stands for processor time well enough: nothing here waits.
func cpu() time.Duration { return time.Since(started) }

// The time of an iteration is taken from the process that runs them, and an error
// shows what that process said.
func TestIterations(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := side{dir: ".", tests: self}
	took, err := s.iterations(t.Context(), "Work", 50)
	if err != nil || took <= 0 {
		t.Errorf("an iteration took %v, %v", took, err)
	}
	if _, err := s.iterations(t.Context(), "Work(", 50); err == nil || !strings.Contains(err.Error(), "regexp") {
		t.Errorf("a benchmark that cannot be: %v", err)
	}
}
