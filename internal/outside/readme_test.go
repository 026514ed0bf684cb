package outside

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pages"
)

// around is the program around the example of README.md.
const around = `package main

import (
	"context"
	"fmt"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

type place struct{ City string }

func weather(context.Context, place) (string, error) { return "sunny", nil }

func ask(ctx context.Context) error {
	EXAMPLE
	fmt.Println(done.Text)
	return err
}

func main() { fmt.Println(ask(context.Background())) }
`

// TestReadmeExampleCompiles puts the example of README.md into a program of another module.
func TestReadmeExampleCompiles(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, examples := t.TempDir(), 0
	for _, f := range pages.Fences(string(text)) {
		if f.Kind == "go" {
			write(t, filepath.Join(dir, "main.go"), []byte(strings.Replace(around, "EXAMPLE", f.Text, 1)))
			examples++
		}
	}
	if examples != 1 {
		t.Fatalf("README.md has %d examples in Go", examples)
	}
	module(t, dir)
	vet := exec.Command("go", "vet", ".")
	vet.Dir = dir
	vet.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
