package main

import (
	"database/sql"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pgtest"
)

// labKey has no known form.
const labKey = "of-no-known-form"

// runAtLab runs a task with a server that repeats the key it was sent, in an
// answer or in an error, and a record of its own.
func runAtLab(t *testing.T, status int, store string) {
	t.Helper()
	answer := `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"You sent %s."}}]}`
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
	t.Setenv("LAB_KEY", labKey)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("model: lab/m\njournal: %s\nproviders:\n  lab: {base_url: %q, wire: chat, key_env: LAB_KEY}\n", store, server.URL+"/v1")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := toolpost(t, "", "run", "--config", config, "--root", dir, "Say something.")
	if status == http.StatusOK && (r.code != exitOK || !strings.Contains(r.out, "You sent")) {
		t.Fatalf("exit %d, %q, %q", r.code, r.out, r.errOut)
	}
	if strings.Contains(r.errOut, labKey) {
		t.Errorf("the key is in %q", r.errOut)
	}
}

// A key that a server repeats must not reach the record, whatever keeps it.
func TestKeysStayOutOfTheRecord(t *testing.T) {
	for name, status := range map[string]int{"in an answer": http.StatusOK, "in an error": http.StatusBadRequest} {
		for _, store := range []string{"runs", "sqlite:runs.db"} {
			t.Run(name+" "+store, func(t *testing.T) {
				dir := t.TempDir()
				runAtLab(t, status, inDir(dir, store))
				if n := searched(t, dir, labKey); n == 0 {
					t.Error("nothing was recorded")
				}
			})
		}
	}
}

func TestKeysStayOutOfPostgres(t *testing.T) {
	server := pgtest.Server(t)
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		address := pgtest.Schema(t, server)
		if !isPostgres(address) {
			t.Skip("the address of the server is no URL")
		}
		runAtLab(t, status, address)
		db, err := sql.Open("pgx", address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var lines, leaks, marks int
		row := db.QueryRowContext(t.Context(), `SELECT count(*), count(*) FILTER (WHERE strpos(line, $1) > 0), count(*) FILTER (WHERE strpos(line, '[stripped:value]') > 0) FROM toolpost_journal`, labKey)
		if err := row.Scan(&lines, &leaks, &marks); err != nil || lines == 0 || leaks > 0 || status == http.StatusOK && marks == 0 {
			t.Errorf("status %d: %d of %d lines hold the key, %d a mark; %v", status, leaks, lines, marks, err)
		}
	}
}

// A tool's output that is too long to be shown goes to a file, but no key in use
// goes with it.
func TestKeysStayOutOfLongOutput(t *testing.T) {
	bare(t, map[string]string{
		"read.txtar": "-- 1 --\ncall read_file {\"path\":\"long.txt\"}\n-- 2 --\ntext Done.\n",
		"long.txt":   strings.Repeat("a line of many\n", 2000) + "the key is " + labKey + "\n" + strings.Repeat("a line of many\n", 4000),
	})
	tmp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, tmp)
	}
	t.Setenv("OPENAI_API_KEY", labKey)
	record := t.TempDir()
	r := toolpost(t, "", "run", "-m", "sim/script:read.txtar", "--journal", filepath.Join(record, "runs"), "Read it.")
	if r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	if n := searched(t, tmp, labKey); n != 1 {
		t.Errorf("%d files hold the long output", n)
	}
	if n := searched(t, record, labKey); n != 1 {
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
