package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/sim"
)

// TestServedToolsCannotReadGatewayFiles: tools of a route cannot read the configuration or the stores of the
// gateway anywhere below root. They can read other files.
func TestServedToolsCannotReadGatewayFiles(t *testing.T) {
	dir := clitest.Bare(t, map[string]string{"notes.txt": "The tide is high.\n", "sub/gateway.yaml": "the tide of another\n", "etc/b/state.db": "", "a/state.db": "the tide of a\n", "runs/x.jsonl": "the tide of others\n"})
	script, err := sim.ParseScript([]byte(`-- 1 --
call read_file {"path":"gateway.yaml"}
call read_file {"path":"keys.db"}
call read_file {"path":"keys.db-wal"}
call read_file {"path":"etc/b/state.db"}
call read_file {"path":"link"}
call read_file {"path":"runs/x.jsonl"}
call read_file {"path":"a/state.db"}
call read_file {"path":"sub/gateway.yaml"}
call search_files {"query":"tide"}
call search_files {"query":"gateway:"}
call list_files {"depth":3}
-- 2 --
text Done.
`))
	if err != nil {
		t.Fatal(err)
	}
	model := &programtest.Heard{Model: script}
	server := httptest.NewServer(&sim.Server{Model: model})
	t.Cleanup(server.Close)
	secret := makeKey(t, "--team", "a")
	if err := os.Symlink("gateway.yaml", "link"); err != nil {
		t.Skip(err)
	}
	programtest.Place(t, "gateway.yaml", fmt.Sprintf("root: .\njournal: runs\ngateway:\n  # hunter2\n  addr: 127.0.0.1:0\n  keys: sqlite:keys.db\n  state: sqlite:etc/b/state.db\n  routes:\n    - model: a\n      to: [{model: \"openai+%s/v1#sim/native\", tools: native}]\n      tools: [read_file, search_files, list_files]\n", server.URL))
	url := programtest.StartServe(t, "--config", filepath.Join(dir, "gateway.yaml"))
	req, _ := http.NewRequest("POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"a","messages":[{"role":"user","content":"Hi"}]}`))
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		t.Fatalf("%s %s", resp.Status, b)
	}
	if n := strings.Count(model.Last, "is off limits"); n != 6 {
		t.Errorf("%d of 6 are refused: %s", n, model.Last)
	}
	for _, want := range []string{"the tide of a", "the tide of another", "The tide is high."} {
		if !strings.Contains(model.Last, want) {
			t.Errorf("no %q in %s", want, model.Last)
		}
	}
	for _, not := range []string{"hunter2", "SQLite format", "the tide of others"} {
		if strings.Contains(model.Last, not) {
			t.Errorf("%q in %s", not, model.Last)
		}
	}
}

// TestServeRootFolder: tools of a route work in the root folder. An implicit root is refused if it is the root of the file
// system, else reported. A root inside the gateway's own folders is refused.
func TestServeRootFolder(t *testing.T) {
	dir := clitest.Bare(t, nil)
	const route = "gateway:\n  addr: 127.0.0.1:0\n  routes: [{model: a, to: [{model: sim/offline}], tools: [TOOL]}]\n"
	programtest.Place(t, "files.yaml", strings.Replace(route, "TOOL", "read_file", 1))
	programtest.Place(t, "fetch.yaml", strings.Replace(route, "TOOL", "fetch_url", 1))
	programtest.Place(t, "rooted.yaml", "root: "+dir+"\n"+strings.Replace(route, "TOOL", "read_file", 1))
	programtest.Place(t, "own.yaml", "root: runs\njournal: runs\n"+strings.Replace(route, "TOOL", "read_file", 1))
	if err := os.Mkdir("runs", 0o700); err != nil {
		t.Fatal(err)
	}
	check := func(name string) programtest.Result {
		return programtest.Run(t, "", "serve", "--check", "--config", filepath.Join(dir, name))
	}
	here, _ := os.Getwd()
	programtest.Must(t, check("files.yaml"), 0, "files.yaml:3: warning: gateway.routes[0].tools[0]: read_file works in "+here+", where the gateway starts, because root is not set")
	programtest.Must(t, check("own.yaml"), 1, "where the gateway keeps its own files")
	if runtime.GOOS == "windows" {
		return
	}
	t.Chdir("/")
	programtest.Must(t, check("files.yaml"), 1, "files.yaml:3: gateway.routes[0].tools[0]", "read_file works in the folder root, which is not set, and the gateway starts in /")
	programtest.Must(t, programtest.Run(t, "", "serve", "--config", filepath.Join(dir, "files.yaml")), 1, "which is not set, and the gateway starts in /")
	for _, name := range []string{"fetch.yaml", "rooted.yaml"} {
		r := check(name)
		programtest.Must(t, r, 0)
		if strings.Contains(r.ErrOut, "root") {
			t.Errorf("%s: %s", name, r.ErrOut)
		}
	}
}

// TestServeRefusesEmptyFile: an empty configuration file that the user named is an error. Without any file
// there is no error.
func TestServeRefusesEmptyFile(t *testing.T) {
	clitest.Bare(t, nil)
	for _, text := range []string{"", "\n", "# gateway:\n", "---\n", "---\n# nothing\n", "null\n"} {
		programtest.Place(t, "gateway.yaml", text)
		programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"), 1, "gateway.yaml: the configuration is empty")
		programtest.Must(t, within(t, programtest.LongWait, "serve", "--addr", "127.0.0.1:0", "--config", "gateway.yaml"), 1, "gateway.yaml: the configuration is empty")
	}
	t.Setenv("TOOLPOST_CONFIG", "gateway.yaml")
	programtest.Must(t, programtest.Run(t, "", "serve", "--check"), 1, "the configuration is empty")
	t.Setenv("TOOLPOST_CONFIG", "")
	programtest.Must(t, programtest.Run(t, "", "serve", "--check"), 0)
}

// TestServeWarnsOfReadableKeyFiles: key files that every user may read are reported.
func TestServeWarnsOfReadableKeyFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such bits")
	}
	clitest.Bare(t, nil)
	makeKey(t, "--team", "a")
	programtest.Place(t, "gateway.yaml", "gateway:\n  keys: sqlite:keys.db\n  routes: [{model: a, to: [{model: sim/offline}]}]\n")
	if r := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"); r.Code != 0 || strings.Contains(r.ErrOut, "may read") {
		t.Errorf("%d %s", r.Code, r.ErrOut)
	}
	if err := os.Chmod("keys.db", 0o644); err != nil {
		t.Fatal(err)
	}
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"), 0, "gateway.yaml:2: warning: gateway.keys: every user of this machine may read keys.db; run chmod 600 on it")
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--keys", keysFile), 0, "warning: --keys: every user of this machine may read keys.db")
}

// TestUnitAndImageHaveEmptyRoot: without a root, tools see an empty folder in the shipped unit and image. The
// unit is restarted until its dependencies are up.
func TestUnitAndImageHaveEmptyRoot(t *testing.T) {
	for name, wants := range map[string][]string{
		"systemd/toolpost.service": {"\nWorkingDirectory=/run/toolpost\n", "\nRuntimeDirectory=toolpost\n", "\nRuntimeDirectoryMode=0500\n", "\nRestart=on-failure\n", "\nRestartSec=5\n", "\nStartLimitIntervalSec=0\n"},
		"container/Dockerfile":     {"\nWORKDIR /var/empty\nUSER "},
	} {
		b, err := os.ReadFile(filepath.Join(deployDir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
}
