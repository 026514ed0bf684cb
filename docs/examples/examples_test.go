// Package examples holds the test that runs the programs of this folder.
package examples

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/testkit"
)

// maxLines bounds the lines of a program, without its imports: what takes more is
// no example.
const maxLines = 60

// longer are the programs that may have more lines: that on extension has six parts.
var longer = map[string]int{"extend/main.go": 120}

// TestShort: every program is at most maxLines lines of at most 100 columns.
func TestShort(t *testing.T) {
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(src), "\n)\n")
		most := cmp.Or(longer[filepath.ToSlash(file)], maxLines)
		if n := strings.Count(strings.TrimSpace(code), "\n") + 1; n > most {
			t.Errorf("%s has %d lines without its imports, want at most %d", file, n, most)
		}
		for i, line := range strings.Split(string(src), "\n") {
			if n := len([]rune(strings.ReplaceAll(line, "\t", "    "))); n > 100 {
				t.Errorf("%s:%d has %d columns", file, i+1, n)
			}
		}
	}
}

// TestApproval: one process asks and ends; another serves the question, takes the
// decision, and goes on.
func TestApproval(t *testing.T) {
	program, dir := testkit.Build(t, "approval"), t.TempDir()
	ask := exec.CommandContext(t.Context(), program, "ask", "Pay invoice \"2026-17\"")
	ask.Dir = dir
	out, err := ask.Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) != 3 || words[0] != "pending" || strings.Contains(string(out), "paying") {
		t.Fatalf("%s %v", out, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	serve := exec.CommandContext(t.Context(), program, "serve", address)
	serve.Dir = dir
	printed, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
	url := "http://" + address + "/" + words[1]
	var waiting []struct {
		Call string          `json:"call_id"`
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal([]byte(get(t, url)), &waiting); err != nil || len(waiting) != 1 || string(waiting[0].Args) != `{"invoice":"2026-17"}` {
		t.Fatalf("%v %v", waiting, err)
	}
	for grant, want := range map[string]int{`[{"call":"other","allowed":true}]`: http.StatusConflict, `no JSON`: http.StatusConflict} {
		if code, body := post(t, url, grant); code != want {
			t.Errorf("%s: %d %s", grant, code, body)
		}
	}
	if code, body := post(t, url, `[{"call":"`+waiting[0].Call+`","allowed":true,"by":"ada"}]`); code != http.StatusOK || !strings.Contains(body, `"status":"finished"`) || !strings.Contains(body, "2026-17 is paid") {
		t.Errorf("%d %s", code, body)
	}
	if line, err := bufio.NewReader(printed).ReadString('\n'); err != nil || line != "paying 2026-17 under the key "+words[1]+"/"+waiting[0].Call+"\n" {
		t.Errorf("%q %v", line, err)
	}
}

// get waits for the server.
func get(t *testing.T, url string) string {
	t.Helper()
	var last error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(url)
		if last = err; err != nil {
			continue
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	t.Fatal(last)
	return ""
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
