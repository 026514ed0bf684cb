package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

const secret = "hunter2"

// tree makes a folder with the traps of the attacks, next to a secret that must
// not be reached.
func tree(t *testing.T) (root string) {
	t.Helper()
	base := t.TempDir()
	root = filepath.Join(base, "work")
	for name, content := range map[string]string{
		"outside.txt": secret, "work2/file.txt": secret,
		"work/ok.txt": "fine\n", "work/sub/deep.txt": "deep\n", "work/.env": secret, "work/.env.local": secret, "work/.git/config": secret,
		"work/server.pem": secret, "work/tls.KEY": secret, "work/secrets/db.txt": secret, "work/credentials.json": secret, "work/.ssh/id_rsa": secret,
		"work/sub/.npmrc": secret, "work/node_modules/x/index.js": secret, "work/private.custom": secret, "work/id_ed25519.bak": secret,
		"work/team.ppk": secret, "work/terraform.tfstate": secret, "work/prod.tfvars": secret, "work/terraform.tfstate.backup": secret, "work/kubeconfig": secret, "work/rclone.conf": secret, "work/gha-creds-1f.json": secret, "work/application_default_credentials.json": secret, "work/service-account-1.json": secret, "work/.vault-token": secret, "work/.dockercfg": secret, "work/.my.cnf": secret, "work/.s3cfg": secret, "work/.boto": secret, "work/.terraformrc": secret, "work/.flaskenv": secret, "work/.secret": secret, "work/.bash_history": secret,
		"work/.env-prod": secret, "work/.env_local": secret, "work/.env~": secret, "work/prod.env": secret, "work/.npmrc.bak": secret, "work/server.pem~": secret, "work/.netrc.orig": secret,
		"work/.config/gh/hosts.yml": secret, "work/.gitconfig": secret, "work/.config/gcloud/properties": secret, "work/db-secret.yaml": secret, "work/server.key.1": secret, "work/gh-link/x": "x", "work/hosts.yml": "fine\n",
		"work/.#.env": secret, "work/.git-credentials.swp": secret, "work/.ſsh/id": secret, "work/.g\u200cit/config": secret,
	} {
		file := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"link-out": "../outside.txt", "link-abs": filepath.Join(base, "outside.txt"), "link-dir": "..", "link-env": ".env", "link-git": ".git", "link-gh": ".config/gh", "link-hosts": ".config/gh/hosts.yml",
		"link-chain": "link-out", "link-self": "link-self", "sub/link-up": "../../outside.txt", "link-ok": "ok.txt", "link-proc": "/proc/self/environ", "link-dangling-out": "../new.txt",
	} {
		if err := os.Symlink(to, filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	return root
}

func fileTools(t *testing.T, root string) map[string]tool.Tool {
	t.Helper()
	files, err := builtin.OpenFiles(root, "*.custom")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	tools := make(map[string]tool.Tool)
	for _, x := range files.Tools() {
		tools[x.Name] = x
	}
	return tools
}

func call(ctx context.Context, x tool.Tool, args any) (string, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	out, err := x.Run(ctx, raw)
	return text(out), err
}

// pathAttacks are paths that no file tool may follow.
var pathAttacks = []string{
	"../outside.txt", "..", "../", "./../outside.txt", "sub/../../outside.txt", "sub/../../work2/file.txt", "../work2/file.txt", "../work/../outside.txt", "a/../../outside.txt",
	"/etc/passwd", "/", "//etc/passwd", "///etc/passwd", "/proc/self/environ", "/dev/zero", "/dev/stdin",
	"~/.ssh/id_rsa", "~root/.bashrc", "~",
	`..\outside.txt`, `sub\..\..\outside.txt`, `C:\Windows\win.ini`, `c:/windows/win.ini`, `\\server\share\file`, `\outside.txt`,
	"ok.txt\x00.png", "\x00", "ok\n.txt", "..\x00/outside.txt",
	"link-out", "link-abs", "link-dir/outside.txt", "link-dir/work2/file.txt", "link-chain", "link-self", "sub/link-up", "link-proc", "link-dir",
	".env", ".env.local", "./.env", "sub/../.env", ".ENV", ".Env.Local", ".git/config", ".GIT/config", ".git", "server.pem", "tls.KEY", "secrets/db.txt", "credentials.json", ".ssh/id_rsa",
	"sub/.npmrc", "node_modules/x/index.js", "private.custom", "id_ed25519.bak", "link-env", "link-git/config", ".env.", ".env ", ".env::$DATA",
	"team.ppk", "terraform.tfstate", "prod.tfvars", "terraform.tfstate.backup", "kubeconfig", "rclone.conf", "gha-creds-1f.json", "application_default_credentials.json", "service-account-1.json", ".vault-token", ".dockercfg", ".my.cnf", ".s3cfg", ".boto", ".terraformrc", ".flaskenv", ".secret", ".bash_history",
	".env-prod", ".env_local", ".env~", ".ENV-Prod", "sub/../.env_local", "prod.env", ".npmrc.bak", "server.pem~", ".netrc.orig", ".#.env", ".git-credentials.swp", ".ſsh/id", ".g\u200cit/config",
	".env\u200b", ".\u202eenv", "ok.txt/../.env", ".git/../.git/config", ".env/",
	".config/gh/hosts.yml", ".config/gh/../gh/hosts.yml", "link-gh/hosts.yml", "link-hosts", ".gitconfig", ".config/gcloud/properties", "db-secret.yaml", "server.key.1",
	strings.Repeat("a/", 3000),
}

func TestPathAttacks(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	root := tree(t)
	tools := fileTools(t, root)
	for _, p := range pathAttacks {
		for name, args := range map[string]map[string]any{
			"read_file":    {"path": p},
			"list_files":   {"path": p, "depth": 3},
			"search_files": {"path": p, "query": secret},
			"write_file":   {"path": p, "content": "owned", "overwrite": true},
			"edit_file":    {"path": p, "old_text": secret, "new_text": "owned"},
		} {
			attacks++
			out, err := call(t.Context(), tools[name], args)
			if strings.Contains(out, secret) || err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s %q gave the secret away", name, p)
			}
			if err == nil && (name == "write_file" || name == "edit_file" || name == "read_file") {
				t.Errorf("%s %q was not refused: %q", name, p, out)
			}
			if err != nil && strings.Contains(err.Error(), filepath.Dir(root)) {
				t.Errorf("%s %q: the error shows a path of the machine: %v", name, p, err)
			}
		}
	}
	for _, name := range []string{"../outside.txt", "../new.txt", ".env"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err == nil && string(data) != secret || err != nil && name != "../new.txt" {
			t.Errorf("%s is now %q, %v", name, data, err)
		}
	}
}

// TestWritesThroughLinksStayInside writes to a link that leads out to a file
// that is not there yet.
func TestWritesThroughLinksStayInside(t *testing.T) {
	root := tree(t)
	tools := fileTools(t, root)
	if out, err := call(t.Context(), tools["write_file"], map[string]any{"path": "link-dangling-out", "content": "x"}); err == nil {
		t.Errorf("written: %s", out)
	}
	if _, err := os.Stat(filepath.Join(root, "../new.txt")); err == nil {
		t.Error("a file appeared outside")
	}
}

func TestListingsAndSearchesHideSecrets(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	tools := fileTools(t, tree(t))
	list, err := call(t.Context(), tools["list_files"], map[string]any{"depth": 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{".env", ".git", "server.pem", "secrets", "private.custom", "node_modules"} {
		attacks++
		if strings.Contains(list, "\n"+hidden) || strings.HasPrefix(list, hidden) {
			t.Errorf("%s is listed:\n%s", hidden, list)
		}
	}
	if !strings.Contains(list, "hidden: off limits") || !strings.Contains(list, "ok.txt") {
		t.Errorf("listing:\n%s", list)
	}
	found, err := call(t.Context(), tools["search_files"], map[string]any{"query": secret})
	if err != nil || !strings.HasPrefix(found, "no match") {
		t.Errorf("search found %q, %v", found, err)
	}
}

// urlAttacks are addresses that must not be connected to.
var urlAttacks = []string{
	"http://127.0.0.1/", "http://localhost/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://0.0.0.0/", "http://0/",
	"http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/", "http://[fe80::1]/", "http://[fe80::1%25lo]/", "http://[fd00::1]/", "http://[fec0::1]/",
	"http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[2001:0:0:0::1]/", "http://[ff02::1]/", "http://[::127.0.0.1]/",
	"http://10.0.0.1/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/", "http://100.64.0.1/", "http://198.18.0.1/", "http://224.0.0.1/", "http://255.255.255.255/", "http://192.0.0.192/",
	"http://localhost.localdomain/", "http://127.0.0.1:22/", "http://127.0.0.1:6379/", "https://127.0.0.1:2375/",
	"http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://[::ffff:0:127.0.0.1]/", "http://2852039166/", "http://017700000001/", "http://example.org/\r\nX: y", "http://127.0.0.1:80@169.254.169.254/",
	"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:6379/_INFO", "data:text/plain,x", "javascript:alert(1)", "unix:///var/run/docker.sock", "//127.0.0.1/", "127.0.0.1", "",
	"http://", "http:///etc/passwd", "http://user:pass@127.0.0.1/", "http://example.org@127.0.0.1/", "http://127.0.0.1#@example.org/", "http://127.0.0.1?@example.org/", `http://127.0.0.1\@example.org/`, "http://a b/", "http://\x00/", "http://127.0.0.1%00.example.org/",
}

func TestURLAttacks(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	reached := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.String() }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	x := builtin.Fetch{Timeout: 2 * time.Second, Ports: []string{"80", "443", port}}.Tool()
	for _, address := range urlAttacks {
		for _, a := range []string{address, strings.Replace(address, "127.0.0.1/", "127.0.0.1:"+port+"/", 1)} {
			attacks++
			if out, err := call(t.Context(), x, map[string]any{"url": a}); err == nil {
				t.Errorf("%q was fetched: %q", a, out)
			}
		}
	}
	select {
	case u := <-reached:
		t.Errorf("the server was asked for %s", u)
	default:
	}
}

// TestRedirectsAreChecked starts at an allowed address and is redirected to a
// forbidden one.
func TestRedirectsAreChecked(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, secret) }))
	defer inner.Close()
	_, innerPort, _ := net.SplitHostPort(inner.Listener.Addr().String())
	target := ""
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) }))
	defer outer.Close()
	host, outerPort, _ := net.SplitHostPort(outer.Listener.Addr().String())
	open := netip.PrefixFrom(netip.MustParseAddr(host), 32)
	x := builtin.Fetch{Open: []netip.Prefix{open}, Ports: []string{"80", "443", outerPort}, Timeout: time.Minute}.Tool()
	for _, target = range []string{
		"http://127.0.0.1:" + innerPort + "/", "http://[::1]:" + outerPort + "/", "file:///etc/passwd", "http://169.254.169.254/", "http://10.0.0.1/", "http://user:pw@127.0.0.1:" + outerPort + "/", outer.URL + "/again",
	} {
		attacks++
		if out, err := call(t.Context(), x, map[string]any{"url": outer.URL}); err == nil || strings.Contains(out, secret) {
			t.Errorf("redirected to %s: %q %v", target, out, err)
		}
	}
}

// TestNamesAreCheckedWhenConnecting resolves a public-looking name to this
// machine: the address of the connection decides, not an earlier lookup of the
// name.
func TestNamesAreCheckedWhenConnecting(t *testing.T) {
	x := builtin.Fetch{Timeout: time.Minute}.Tool()
	_, err := call(t.Context(), x, map[string]any{"url": "http://localhost/"})
	var known *tool.Error
	if !errors.As(err, &known) || known.Code != tool.Permission {
		t.Errorf("%v", err)
	}
}

func TestFetchIsBounded(t *testing.T) {
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/binary", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Write([]byte{1, 0, 2})
	})
	mux.HandleFunc("/lying", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write([]byte{1, 0, 2})
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(release)
	host, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	fetch := builtin.Fetch{Open: []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr(host), 32)}, Ports: []string{port}, MaxBytes: 1000, Timeout: time.Minute}
	x := fetch.Tool()
	if out, err := call(t.Context(), x, map[string]any{"url": server.URL + "/endless"}); err != nil || !strings.HasSuffix(out, "[cut after 1000 bytes]") || len(out) > 1100 {
		t.Errorf("endless: %d bytes, %v", len(out), err)
	}
	fetch.Timeout = 100 * time.Millisecond
	var known *tool.Error
	if _, err := call(t.Context(), fetch.Tool(), map[string]any{"url": server.URL + "/slow"}); !errors.As(err, &known) || known.Code != tool.Timeout {
		t.Errorf("slow: %v", err)
	}
	for _, path := range []string{"/binary", "/lying"} {
		if out, err := call(t.Context(), x, map[string]any{"url": server.URL + path}); err == nil {
			t.Errorf("%s: %q", path, out)
		}
	}
}
