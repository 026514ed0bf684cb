package run_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/llm"
)

// labKey has no known form.
const labKey = "of-no-known-form"

// runAtLab runs a task with a separate record and a server that repeats the received key in an answer or in an error.
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
	r := programtest.Run(t, "", "run", "--config", config, "--root", dir, "Say something.")
	if status == http.StatusOK && (r.Code != cli.ExitOK || !strings.Contains(r.Out, "You sent")) {
		t.Fatalf("exit %d, %q, %q", r.Code, r.Out, r.ErrOut)
	}
	if strings.Contains(r.Out+r.ErrOut, labKey) {
		t.Errorf("the key is in %q or %q", r.Out, r.ErrOut)
	}
	if status == http.StatusOK && !strings.Contains(r.ErrOut, "secret removed") {
		t.Errorf("nobody was told: %q", r.ErrOut)
	}
}

// A key that a server repeats must not reach any kind of record.
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
		if !settings.IsPostgres(address) {
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

// Long output of a tool is saved to a file without the keys in use.
func TestKeysStayOutOfLongOutput(t *testing.T) {
	clitest.Bare(t, map[string]string{
		"read.txtar": "-- 1 --\ncall read_file {\"path\":\"long.txt\"}\n-- 2 --\ntext Done.\n",
		"long.txt":   strings.Repeat("a line of many\n", 2000) + "the key is " + labKey + "\n" + strings.Repeat("a line of many\n", 4000),
	})
	tmp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, tmp)
	}
	t.Setenv("OPENAI_API_KEY", labKey)
	record := t.TempDir()
	r := programtest.Run(t, "", "run", "-m", "sim/script:read.txtar", "--journal", filepath.Join(record, "runs"), "Read it.")
	if r.Code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	if n := searched(t, tmp, labKey); n != 1 {
		t.Errorf("%d files hold the long output", n)
	}
	if n := searched(t, record, labKey); n != 1 {
		t.Errorf("%d files hold the run", n)
	}
}

// The keys of this machine and the credentials of tools, in any encoding, reach neither the model's server nor the
// screen.
func TestKeysStayOutOfResults(t *testing.T) {
	const ambient, token = "sk-proj-Ab3_9xQ7-zz81kLmN", "t0ken-of-the-crm"
	spellings := func(key string) []string {
		return []string{key, url.QueryEscape(key + "/"), base64.StdEncoding.EncodeToString([]byte("u:" + key)), base64.URLEncoding.EncodeToString([]byte(key + "!"))}
	}
	var notes strings.Builder
	for _, s := range append(spellings(ambient), spellings(token)...) {
		fmt.Fprintf(&notes, "NOTE=%s\n", s)
	}
	crm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "you are %s", r.Header.Get("X-Crm"))
	}))
	defer crm.Close()
	clitest.Bare(t, map[string]string{
		"notes.txt":  notes.String(),
		"tools.yaml": "- name: crm\n  description: Asks the CRM.\n  effects: [read_only]\n  http: {url: '" + crm.URL + "/x', method: GET, headers: {X-Crm: '${CRM_TOKEN}'}}\n",
	})
	t.Setenv("OPENAI_API_KEY", ambient)
	t.Setenv("CRM_TOKEN", token)
	var asked []string
	says := []string{
		"```json\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"notes.txt\"}}\n```",
		"```json\n{\"name\":\"crm\",\"arguments\":{}}\n```",
		"Done. The key is " + ambient + ".",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		said, _ := json.Marshal(says[min(len(asked), len(says)-1)])
		asked = append(asked, string(body))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, said)
	}))
	defer server.Close()
	r := programtest.Run(t, "", "run", "-m", server.URL+"/v1#m", "--tools", "tools.yaml", "--yes", "Read the notes; mine is "+ambient)
	if r.Code != cli.ExitOK || len(asked) != 3 || !strings.Contains(asked[1], "NOTE=") || !strings.Contains(asked[2], "you are") {
		t.Fatalf("%d requests, %+v", len(asked), r)
	}
	for _, s := range append(spellings(ambient), spellings(token)...) {
		for i, body := range asked {
			if strings.Contains(body, s) {
				t.Errorf("request %d holds %s", i+1, s)
			}
		}
		if strings.Contains(r.Out+r.ErrOut, s) {
			t.Errorf("the screen shows %s: %s %s", s, r.Out, r.ErrOut)
		}
	}
	if !strings.Contains(r.ErrOut, "secret removed") {
		t.Errorf("nobody was told: %s", r.ErrOut)
	}
	if r := programtest.Run(t, "", "tools", "call", "read_file", `{"path":"notes.txt"}`); strings.Contains(r.Out, ambient) || !strings.Contains(r.Out, "[stripped:value]") {
		t.Errorf("tools call: %+v", r)
	}
}

// For every way to split an answer into chunks, no part of a key passes, and no other text is lost.
func TestSecretsAcrossChunks(t *testing.T) {
	const key = "kA9-of_no-known-form-Zq7"
	text := "kA kA9-of it is " + key + key + ", not " + key[:10] + " kA9"
	want := strings.ReplaceAll(text, key, "[stripped:value]")
	for n := 1; n < len(text); n++ {
		m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				for piece := range slices.Chunk([]byte(text), n) {
					if !yield(llm.TextDelta{Text: string(piece)}, nil) {
						return
					}
				}
				yield(llm.Finish{Reason: llm.Stop}, nil)
			}
		})
		resp, err := llm.Generate(t.Context(), session.Redact(m, []string{key}), &llm.Request{})
		if err != nil || resp.Message.Text() != want || len(resp.Warnings) != 1 {
			t.Errorf("in pieces of %d: %q, %v, %v", n, resp.Message.Text(), resp.Warnings, err)
		}
		for range session.Redact(m, []string{key}).Stream(t.Context(), &llm.Request{}) {
			break // a caller that stops reading gets no more events
		}
	}
}

// inDir returns the name of a store in a folder.
func inDir(dir, store string) string {
	if file, ok := strings.CutPrefix(store, "sqlite:"); ok {
		return "sqlite:" + filepath.Join(dir, file)
	}
	return filepath.Join(dir, store)
}

// searched fails if a file of the record contains text, and returns the number of files.
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
