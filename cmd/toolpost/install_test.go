package main

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/testkit"
)

// TestGoInstall installs the command the way users do, with
//
//	go install github.com/toolpost/toolpost/cmd/toolpost@VERSION
//
// from a module proxy in a folder. The test fails if go.mod has a replace or exclude directive, or if a file of the
// module cannot be put into a module zip.
func TestGoInstall(t *testing.T) {
	testkit.Long(t, "it builds the module again")
	const module = "github.com/toolpost/toolpost"
	version := time.Now().UTC().Format("v0.0.0-20060102150405-") + "0123456789ab" // new each time: versions are cached
	proxy, bin, cache := t.TempDir(), t.TempDir(), goEnv(t, "GOMODCACHE")
	writeProxy(t, filepath.Join("..", ".."), filepath.Join(proxy, filepath.FromSlash(module), "@v"), module, version)
	t.Cleanup(func() { forget(cache, module, version) })

	install := exec.Command("go", "install", "-modcacherw", module+"/cmd/toolpost@"+version)
	install.Dir = t.TempDir()
	install.Env = append(os.Environ(), "GOBIN="+bin, "GONOSUMDB="+module, "GOPROXY=file://"+filepath.ToSlash(proxy)+","+goEnv(t, "GOPROXY"))
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}

	name := "toolpost"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	out, err := exec.Command(filepath.Join(bin, name), "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("the installed command says %q (%v), which does not name %s", out, err, version)
	}
}

// forget removes a version of a module from the module cache.
func forget(cache, module, version string) {
	os.RemoveAll(filepath.Join(cache, filepath.FromSlash(module)+"@"+version))
	files, _ := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(module), "@v", version+".*"))
	for _, f := range files {
		os.Remove(f)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// writeProxy writes the files that a module proxy serves for one version.
func writeProxy(t *testing.T, root, dir, module, version string) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `","Time":"2026-11-16T00:00:00Z"}`, version + ".mod": string(mod),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	w := zip.NewWriter(archive)
	if err := zipModule(w, root, module+"@"+version+"/"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// zipModule adds the files of the module at root, without hidden folders and nested modules.
func zipModule(w *zip.Writer, root, prefix string) error {
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		entry, err := w.Create(prefix + filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(entry, file)
		return err
	})
}
