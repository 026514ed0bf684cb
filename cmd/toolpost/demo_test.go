package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// TestDemo: every part of the demo runs the program, offline, whatever the configuration is. The picture of README.md
// shows the same statements.
func TestDemo(t *testing.T) {
	picture, err := os.ReadFile(filepath.Join(programtest.ModuleRoot(t), "docs", "pictures", "demo.svg"))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Bare(t, map[string]string{"wrong.yaml": "no: such\nsetting: {"})
	t.Setenv("TOOLPOST_CONFIG", "wrong.yaml")
	t.Setenv("TOOLPOST_MODEL", "no/such")
	name, value, _ := strings.Cut(programtest.BeTheProgram, "=")
	t.Setenv(name, value) // child processes are the program
	temp := t.TempDir()
	for _, variable := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(variable, temp)
	}
	r := programtest.Run(t, "", "demo", "--json", "--keep")
	programtest.Must(t, r, cli.ExitOK, "repaired trailing-comma", "refused: call_1", "broken  changed.jsonl", "/v1/chat/completions, /v1/messages, /v1beta/models/")
	var tour struct {
		Scenes []struct {
			Title    string
			Commands []struct {
				Args   []string
				Exit   int
				Output string
			}
			Checked []string
		}
	}
	if err := json.Unmarshal([]byte(r.Out), &tour); err != nil || len(tour.Scenes) != 6 {
		t.Fatalf("%v: %d scenes\n%s", err, len(tour.Scenes), r.Out)
	}
	var exits []int
	for _, c := range tour.Scenes[2].Commands {
		exits = append(exits, c.Exit)
	}
	if want := []int{cli.ExitWaits, cli.ExitOK, cli.ExitFailed}; !slices.Equal(exits, want) {
		t.Errorf("the commands of scene 3 exit with %v, want %v", exits, want)
	}
	if kept, _ := filepath.Glob(filepath.Join(temp, "toolpost-demo-*", "toolpost", "runs", "*.jsonl")); len(kept) != 6 {
		t.Errorf("%d records are kept", len(kept))
	}

	for _, scene := range tour.Scenes {
		for _, shown := range append(scene.Checked, scene.Title) {
			if !strings.Contains(string(picture), shown) {
				t.Errorf("the picture does not show %q; go run ./cmd/toolpost/picture docs/pictures", shown)
			}
		}
	}
}
