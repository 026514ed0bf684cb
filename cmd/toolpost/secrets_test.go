package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server repeats the key it was sent, in an answer and in an error. The key
// has no known form, and must not reach the record, whatever keeps it.
func TestKeysStayOutOfTheRecord(t *testing.T) {
	const key = "of-no-known-form"
	answer := `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"You sent %s."}}]}`
	for name, status := range map[string]int{"in an answer": http.StatusOK, "in an error": http.StatusBadRequest} {
		for _, store := range []string{"runs", "sqlite:runs.db"} {
			t.Run(name+" "+store, func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					if status != http.StatusOK {
						fmt.Fprintf(w, `{"error":{"message":"no such key: %s"}}`, sent)
						return
					}
					fmt.Fprintf(w, answer, sent)
				}))
				defer server.Close()
				dir := t.TempDir()
				t.Setenv("LAB_KEY", key)
				config := filepath.Join(dir, "config.yaml")
				text := fmt.Sprintf("model: lab/m\njournal: %s\nproviders:\n  lab: {base_url: %q, wire: chat, key_env: LAB_KEY}\n", inDir(dir, store), server.URL+"/v1")
				if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				r := toolpost(t, "", "run", "--config", config, "--root", dir, "Say something.")
				if status == http.StatusOK && (r.code != exitOK || !strings.Contains(r.out, "You sent")) {
					t.Fatalf("exit %d, %q, %q", r.code, r.out, r.errOut)
				}
				if strings.Contains(r.errOut, key) {
					t.Errorf("the key is in %q", r.errOut)
				}
				if n := searched(t, dir, key); n == 0 {
					t.Error("nothing was recorded")
				}
			})
		}
	}
}

// A tool's output that is too long to be shown goes to a file, but no key in use
// goes with it.
func TestKeysStayOutOfLongOutput(t *testing.T) {
	const key = "of-no-known-form"
	bare(t, map[string]string{
		"read.txtar": "-- 1 --\ncall read_file {\"path\":\"long.txt\"}\n-- 2 --\ntext Done.\n",
		"long.txt":   strings.Repeat("a line of many\n", 2000) + "the key is " + key + "\n" + strings.Repeat("a line of many\n", 4000),
	})
	tmp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, tmp)
	}
	t.Setenv("OPENAI_API_KEY", key)
	record := t.TempDir()
	r := toolpost(t, "", "run", "-m", "sim/script:read.txtar", "--journal", filepath.Join(record, "runs"), "Read it.")
	if r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	if n := searched(t, tmp, key); n != 1 {
		t.Errorf("%d files hold the long output", n)
	}
	if n := searched(t, record, key); n != 1 {
		t.Errorf("%d files hold the run", n)
	}
}

// inDir puts a store into a folder.
func inDir(dir, store string) string {
	if file, ok := strings.CutPrefix(store, "sqlite:"); ok {
		return "sqlite:" + filepath.Join(dir, file)
	}
	return filepath.Join(dir, store)
}

// searched fails if a file of the record holds text, and returns how many
// files there are.
func searched(t *testing.T, dir, text string) int {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "config.yaml" {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), text) {
			t.Errorf("%s holds the key", filepath.Base(path))
		}
		files++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
