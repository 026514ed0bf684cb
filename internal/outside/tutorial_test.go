//go:build unix

package outside

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pages"
)

// TestTutorial does what docs/tutorial.md tells its reader to do, in a folder beside
// that of this module: it writes the files, runs the commands, and compares what they
// print.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{root: root, dir: t.TempDir()}
	files, commands := 0, 0
	for _, f := range pages.Fences(string(page)) {
		switch f.Kind {
		case "go":
			files++
			r.write(t, f)
		case "text":
			for _, c := range f.Commands() {
				commands++
				r.run(t, c)
			}
		}
	}
	if files < 5 || commands < 10 {
		t.Errorf("the page has %d files and %d commands", files, commands)
	}
}

// reader follows a page: dir is the folder where its shell is.
type reader struct{ root, dir string }

// write makes the file that a fence shows. The first line names it.
func (r *reader) write(t *testing.T, f pages.Fence) {
	t.Helper()
	first, _, _ := strings.Cut(f.Text, "\n")
	name, ok := strings.CutPrefix(first, "// ")
	if !ok || filepath.Base(name) != name || filepath.Ext(name) != ".go" {
		t.Fatalf("line %d names no file: %s", f.Line, first)
	}
	if neat, err := format.Source([]byte(f.Text)); err != nil || string(neat) != f.Text {
		t.Errorf("line %d: %s is not formatted as gofmt does, error %v", f.Line, name, err)
	}
	write(t, filepath.Join(r.dir, name), []byte(f.Text))
}

// run does a command in the folder that the one before left the shell in.
func (r *reader) run(t *testing.T, c pages.Command) {
	t.Helper()
	where := filepath.Join(t.TempDir(), "pwd")
	command := strings.ReplaceAll(c.Text, "../toolpost", r.root)
	sh := exec.CommandContext(t.Context(), "sh", "-c", command+"\nstatus=$?; pwd >'"+where+"'; exit $status")
	sh.Dir = r.dir
	sh.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOFLAGS=")
	var out bytes.Buffer
	sh.Stdout, sh.Stderr = &out, &out
	if err := sh.Run(); err != nil {
		t.Fatalf("line %d: $ %s\n%v\n%s", c.Line, c.Text, err, out.String())
	}
	pwd, err := os.ReadFile(where)
	if err != nil {
		t.Fatal(err)
	}
	r.dir = strings.TrimSpace(string(pwd))
	var got []string
	if s := strings.TrimRight(out.String(), "\n"); s != "" {
		got = strings.Split(s, "\n")
	}
	if !pages.Matches(c.Output, got) {
		t.Errorf("line %d: $ %s\nshown:\n%s\nreal:\n%s", c.Line, c.Text, strings.Join(c.Output, "\n"), strings.Join(got, "\n"))
	}
}
