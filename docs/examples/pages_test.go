//go:build unix

package examples

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pages"
	"github.com/toolpost/toolpost/sim"
)

// TestPages does what the pages of programs tell their reader to do, in a home of its
// own and with a simulator at another address than the pages have.
func TestPages(t *testing.T) {
	server := httptest.NewServer(new(sim.Server))
	t.Cleanup(server.Close)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"context", "extraction", "media", "programs", "resume", "switch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("../" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			shell := &pages.Shell{Dir: root, Env: home(t), Replace: strings.NewReplacer("http://127.0.0.1:8231", server.URL)}
			done := 0
			for _, f := range pages.Fences(string(text)) {
				for _, c := range f.Commands() {
					if strings.HasPrefix(c.Text, "toolpost sim ") {
						continue // which goes on until the reader stops it
					}
					if err := shell.Check(t.Context(), c); err != nil {
						t.Error(err)
					}
					done++
				}
			}
			if done == 0 {
				t.Error("the page shows no command")
			}
		})
	}
}

// home returns an environment with a home of its own, where no key is set.
func home(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "MODEL="}
	for _, name := range []string{"GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOSUMDB", "GOFLAGS", "GOTOOLCHAIN"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatalf("go env %s: %v", name, err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}
