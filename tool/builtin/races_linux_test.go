package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// swapped makes a file or folder and a link to a place that is off limits
// change places, as fast as the system can, until the test is over.
func swapped(t *testing.T, victim, target string) {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, victim, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		swapping.Wait()
	})
}

// TestRaces swaps a file and a folder for links to secrets while the tools use
// them: the tools use the file that was checked, whatever has its name
// meanwhile.
func TestRaces(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	root := tree(t)
	for name, content := range map[string]string{".git/hooks/theirs.txt": secret, "victim": "fine", "sub/folder/theirs.txt": "fine"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tools := fileTools(t, root)
	swapped(t, filepath.Join(root, "victim"), ".git/hooks/theirs.txt")
	swapped(t, filepath.Join(root, "sub/folder"), "../.git/hooks")
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline) && !t.Failed(); {
		for _, c := range []struct {
			name string
			args map[string]any
		}{
			{"read_file", map[string]any{"path": "victim"}},
			{"read_file", map[string]any{"path": "sub/folder/theirs.txt"}},
			{"search_files", map[string]any{"path": "sub", "query": "unter2"}},
			{"search_files", map[string]any{"path": "sub/folder", "query": "unter2"}},
			{"list_files", map[string]any{"path": "sub/folder"}},
			{"list_files", map[string]any{"path": "sub", "depth": 3}},
			{"write_file", map[string]any{"path": "sub/folder/mine.txt", "content": "owned", "overwrite": true}},
			{"write_file", map[string]any{"path": "sub/folder/made/mine.txt", "content": "owned", "overwrite": true}},
		} {
			attacks++
			out, _ := call(t.Context(), tools[c.name], c.args)
			if strings.Contains(out, secret) || strings.Contains(out, "theirs.txt  7") {
				t.Errorf("a race of %s gave away what is off limits: %q", c.name, out)
			}
		}
		for _, inside := range []string{"mine.txt", "made"} {
			if _, err := os.Lstat(filepath.Join(root, ".git/hooks", inside)); err == nil {
				t.Errorf("a race wrote .git/hooks/%s", inside)
			}
		}
	}
}
