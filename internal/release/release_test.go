package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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

var at = time.Unix(1_790_000_000, 0).UTC()

// TestArchivesAreReproducible: the same files give the same bytes, with modes and names that unpack anywhere.
func TestArchivesAreReproducible(t *testing.T) {
	files := []file{{"toolpost", bytes.Repeat([]byte("program"), 9999), 0o755}, {"deploy/systemd/toolpost.service", []byte("[Unit]\n"), 0o644}}
	for name, write := range map[string]func(io.Writer, string, []file, time.Time) error{"tar": writeTar, "zip": writeZip} {
		var one, two bytes.Buffer
		if err := write(&one, "toolpost_1", files, at); err != nil {
			t.Fatal(err)
		}
		if err := write(&two, "toolpost_1", files, at); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: the same files gave other bytes", name)
		}
		got := unpack(t, name, one.Bytes())
		if len(got) != 2 || got[0].name != "toolpost_1/toolpost" || got[0].mode != 0o755 || got[1].mode != 0o644 || string(got[1].data) != "[Unit]\n" {
			t.Errorf("%s: unpacked %d files: %s %o", name, len(got), got[0].name, got[0].mode)
		}
	}
}

func unpack(t *testing.T, kind string, data []byte) (files []file) {
	t.Helper()
	if kind == "zip" {
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			entry, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, read(t, f.Name, f.Mode(), entry))
		}
		return files
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, read(t, h.Name, h.FileInfo().Mode(), r))
	}
}

func read(t *testing.T, name string, mode os.FileMode, r io.Reader) file {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return file{name, data, mode}
}

// TestLicences: licences are named by their text, and a module without a known licence, or with a GPL, stops a release.
func TestLicences(t *testing.T) {
	const mit = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software"
	for _, test := range []struct{ file, text, want, err string }{
		{"LICENSE", mit, "MIT", ""},
		{"LICENSE.txt", "Copyright\n\nPermission is hereby granted, free\nof charge, to any person obtaining  a copy", "MIT", ""},
		{"license.md", "                              Apache License\n                        Version 2.0, January 2004", "Apache-2.0", ""},
		{"COPYING", "Redistribution … Neither the name of Google Inc. nor the names of its contributors", "BSD-3-Clause", ""},
		{"LICENSE", "Redistributions in binary form must reproduce the above copyright\nnotice, this list", "BSD-2-Clause", ""},
		{"LICENCE", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee", "ISC", ""},
		{"LICENSE", "Mozilla Public License Version 2.0\n… GNU General Public License, Version 2.0 …" + strings.Repeat(" x", 300), "", "GPL"},
		{"LICENSE", "Mozilla Public License Version 2.0\n==================\n" + strings.Repeat("1. Definitions ", 60) + "GNU General Public License", "MPL-2.0", ""},
		{"LICENSE", "GNU GENERAL PUBLIC LICENSE\nVersion 3", "", "GPL"},
		{"LICENSE", "GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3", "", "GPL"},
		{"LICENSE", "GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3", "", "GPL"},
		{"LICENSE", "All rights reserved.", "", "no licence that is known"},
		{"LICENSE", "", "", "no licence that is known"},
		{"README.md", mit, "", "no licence that is known"},
		{"license.go", mit, "", "no licence that is known"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, test.file), []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := readLicence(module{path: "example.org/m"}, dir)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), "example.org/m") {
				t.Errorf("%s %.40q: %v, want an error about %s", test.file, test.text, err, test.err)
			}
			continue
		}
		if err != nil || m.licence != test.want {
			t.Errorf("%s %.40q: %s, %v, want %s", test.file, test.text, m.licence, err, test.want)
		}
	}
}

// TestTwoLicences: a module with several licence files has all of them, in the SBOM and in the notices.
func TestTwoLicences(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"LICENSE": "Apache License Version 2.0", "LICENSE-MIT": "Permission is hereby granted, free of charge, to any person obtaining a copy", "NOTICE": "This product includes …"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := readLicence(module{path: "example.org/m", version: "v1"}, dir)
	if err != nil || m.licence != "Apache-2.0 AND MIT" {
		t.Errorf("%s, %v", m.licence, err)
	}
	text, err := notices([]module{m})
	if err != nil || !strings.Contains(string(text), "This product includes") || !strings.Contains(string(text), "example.org/m v1  Apache-2.0 AND MIT") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestOutputFolder: a release empties only a folder of an earlier release.
func TestOutputFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	if err := emptyFolder(dir); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "toolpost_0.1.0_linux_amd64.tar.gz")
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := emptyFolder(dir); err != nil {
		t.Errorf("a folder of a release: %v", err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the files of the earlier release are still there")
	}
	page := filepath.Join(dir, siteFolder, "main", "index.html")
	if err := errors.Join(os.MkdirAll(filepath.Dir(page), 0o755), os.WriteFile(page, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(emptyFolder(dir), (&release{out: dir}).checksums()); err != nil {
		t.Errorf("a folder with the site: %v", err)
	}
	if _, err := os.Stat(page); err != nil {
		t.Errorf("a page of the site: %v", err)
	}
	for _, name := range []string{"thesis.tex", "SHA256SUMS.asc", "x/toolpost"} {
		mine := t.TempDir()
		for _, file := range []string{sumsFile, name} {
			path := filepath.Join(mine, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := emptyFolder(mine); err == nil || !strings.Contains(err.Error(), "not of a release") {
			t.Errorf("a folder of somebody else: %v", err)
		}
		if left, _ := os.ReadDir(mine); len(left) != 2 {
			t.Errorf("%s: %d files are left", name, len(left))
		}
	}
}

// TestWrongVersionsAndPlatforms checks what is refused before anything is built.
func TestWrongVersionsAndPlatforms(t *testing.T) {
	for _, version := range []string{"0.9.0", "v0.9", "v1.0.0;rm -rf x", "v1.0.0 -X main.a=b", "latest", "v1.0.0+build", "../v1.0.0"} {
		out := filepath.Join(t.TempDir(), "dist")
		if err := run(version, out, "", []string{"linux/amd64"}, false); err == nil || !strings.Contains(err.Error(), "semantic version") {
			t.Errorf("%s: %v", version, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a folder was made", version)
		}
	}
	for _, platform := range []string{"linux", "plan9/amd64", "", "linux/amd64/v3"} {
		if err := run("v0.9.0", filepath.Join(t.TempDir(), "dist"), "", []string{platform}, false); err == nil || !strings.Contains(err.Error(), "unknown platform") {
			t.Errorf("%q: %v", platform, err)
		}
	}
}

// TestVersionVariable: the linker ignores a name that does not exist, and the version would be missing in silence.
func TestVersionVariable(t *testing.T) {
	dot := strings.LastIndex(versionVariable, ".")
	folder := strings.TrimPrefix(versionVariable[:dot], "github.com/toolpost/toolpost/")
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "\nvar "+versionVariable[dot+1:]+" string\n") {
			return
		}
	}
	t.Errorf("no variable %s", versionVariable)
}

// TestFormula: the Homebrew formula has the checksum of each archive, and names no archive that was not made.
func TestFormula(t *testing.T) {
	r := &release{out: t.TempDir(), version: "v0.9.0", url: "https://example.org/releases"}
	data := []byte("archive")
	if err := os.WriteFile(filepath.Join(r.out, "toolpost_0.9.0_darwin_arm64.tar.gz"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.formula(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, "toolpost.rb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"on_macos do\n    on_arm do\n", "https://example.org/releases/v0.9.0/toolpost_0.9.0_darwin_arm64.tar.gz", fmt.Sprintf("%x", sha256.Sum256(data)), `version "0.9.0"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "on_linux") || strings.Contains(string(text), "intel") {
		t.Errorf("an archive that was not made:\n%s", text)
	}
}

// TestReleaseInstallsAndRuns makes the files of this platform, checks them as their user does, installs and runs them.
func TestReleaseInstallsAndRuns(t *testing.T) {
	testkit.Long(t, "it builds the command again")
	if runtime.GOOS == "windows" {
		return // its archive is a .zip, which other tests unpack
	}
	out := filepath.Join(t.TempDir(), "dist")
	_, err := exec.LookPath("nfpm")
	packages := err == nil && runtime.GOOS == "linux"
	if err := run("v0.9.0-test.1", out, "https://example.org", []string{runtime.GOOS + "/" + runtime.GOARCH}, packages); err != nil {
		t.Fatal(err)
	}
	base := fmt.Sprintf("toolpost_0.9.0-test.1_%s_%s", runtime.GOOS, runtime.GOARCH)
	checkSums(t, out)
	checkSBOM(t, filepath.Join(out, base+".spdx.json"))

	bin := t.TempDir()
	tool(t, "tar", "-xzf", filepath.Join(out, base+".tar.gz"), "-C", bin)
	runInstalled(t, filepath.Join(bin, base, "toolpost"))
	notes, err := os.ReadFile(filepath.Join(bin, base, "LICENCES.txt"))
	if err != nil || !strings.Contains(string(notes), "github.com/spf13/cobra") || !strings.Contains(string(notes), "std go1.") {
		t.Errorf("the licences lack a module (%v)", err)
	}
	debs, _ := filepath.Glob(filepath.Join(out, "*.deb"))
	rpms, _ := filepath.Glob(filepath.Join(out, "*.rpm"))
	if packages && (len(debs) != 1 || len(rpms) != 1) {
		t.Errorf("packages: %v %v", debs, rpms)
	}
	if _, err := exec.LookPath("dpkg-deb"); err == nil && packages {
		root := t.TempDir()
		tool(t, "dpkg-deb", "-x", debs[0], root)
		runInstalled(t, filepath.Join(root, "usr", "bin", "toolpost"))
		unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/toolpost.service"))
		if err != nil || !strings.Contains(string(unit), "ExecStart=/usr/bin/toolpost ") {
			t.Errorf("the unit starts another program (%v): %s", err, unit)
		}
		if listed := tool(t, "dpkg-deb", "--info", debs[0]); !strings.Contains(listed, "conffiles") {
			t.Errorf("the configuration is not kept by an upgrade:\n%s", listed)
		}
		installInCleanRoot(t, debs[0])
	}

	again := filepath.Join(t.TempDir(), "dist")
	if err := run("v0.9.0-test.1", again, "https://example.org", []string{runtime.GOOS + "/" + runtime.GOARCH}, packages); err != nil {
		t.Fatal(err)
	}
	one, err1 := os.ReadFile(filepath.Join(out, sumsFile))
	two, err2 := os.ReadFile(filepath.Join(again, sumsFile))
	if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("the same release again has other files:\n%s\n%s", one, two)
	}
}

// installInCleanRoot installs a .deb into a root file system that has nothing else, and runs the command in it.
func installInCleanRoot(t *testing.T, deb string) {
	t.Helper()
	if err := exec.Command("unshare", "-r", "true").Run(); err != nil {
		t.Logf("no user namespace, so the package is not installed: %v", err)
		return
	}
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "root", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tool(t, "unshare", "-r", "dpkg", "--root="+root, "-i", deb)
	for want, args := range map[string][]string{
		`"version": "v0.9.0-test.1"`: {"version", "--json"},
		"list_files":                 {"run", "-m", "sim/offline", "list the files"},
	} {
		cmd := exec.Command("unshare", append([]string{"-r", "chroot", root, "/usr/bin/toolpost"}, args...)...)
		cmd.Env = []string{"HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("in a clean root, %s: %v, want %s\n%s", strings.Join(args, " "), err, want, out)
		}
	}
	if out := tool(t, "unshare", "-r", "dpkg", "--root="+root, "-r", "toolpost"); !strings.Contains(out, "Removing toolpost") {
		t.Errorf("the package cannot be removed:\n%s", out)
	}
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// runInstalled runs the command in an empty home: its version, a reading of text, and a task with the offline model.
func runInstalled(t *testing.T, program string) {
	t.Helper()
	home := t.TempDir()
	for _, c := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{"version", "--json"}, "", `"version": "v0.9.0-test.1"`},
		{[]string{"parse"}, `<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>`, `call      f {"a": 1}`},
		{[]string{"run", "-m", "sim/offline", "list the files"}, "", "list_files"},
	} {
		cmd := exec.Command(program, c.args...)
		cmd.Dir, cmd.Env, cmd.Stdin = home, []string{"HOME=" + home, "PATH=/usr/bin:/bin"}, strings.NewReader(c.stdin)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want %s\n%s", strings.Join(c.args, " "), err, c.want, out)
		}
	}
}

func checkSums(t *testing.T, out string) {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(out, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == sumsFile {
			continue
		}
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil || !strings.Contains(string(sums), fmt.Sprintf("%x  %s\n", sha256.Sum256(data), e.Name())) {
			t.Errorf("%s has no correct checksum (%v)", e.Name(), err)
		}
	}
}

func checkSBOM(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		SPDXVersion   string `json:"spdxVersion"`
		Packages      []struct{ SPDXID, Name, VersionInfo, LicenseDeclared string }
		Relationships []struct{ SPDXElementID, RelatedSPDXElement string }
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.SPDXVersion != "SPDX-2.3" || len(doc.Packages) < 20 || len(doc.Relationships) != len(doc.Packages) {
		t.Errorf("%s, %d packages, %d relationships", doc.SPDXVersion, len(doc.Packages), len(doc.Relationships))
	}
	for _, p := range doc.Packages {
		if p.SPDXID == "" || p.Name == "" || p.VersionInfo == "" || p.LicenseDeclared == "" {
			t.Errorf("a package lacks a field: %+v", p)
		}
	}
}
