package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// file is an entry of an archive.
type file struct {
	name string
	data []byte
	mode os.FileMode
}

// archive writes the .tar.gz of a platform, or the .zip of Windows.
func (r *release) archive(t *target, base string) error {
	program, err := os.ReadFile(t.program)
	if err != nil {
		return err
	}
	files := []file{{filepath.Base(t.program), program, 0o755}, {"LICENCES.txt", t.notices, 0o644}}
	docs := []string{"LICENSE", "README.md", "CHANGELOG.md"}
	if t.os == "linux" {
		docs = append(docs, "deploy/systemd/toolpost.service", "deploy/systemd/gateway.yaml")
	}
	for _, name := range docs {
		data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		files = append(files, file{name, data, 0o644})
	}
	write, ext := writeTar, ".tar.gz"
	if t.os == "windows" {
		write, ext = writeZip, ".zip"
	}
	var b bytes.Buffer
	if err := write(&b, base, files, r.time); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, base+ext), b.Bytes(), 0o644)
}

func writeTar(w io.Writer, folder string, files []file, at time.Time) error {
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	for _, f := range files {
		header := &tar.Header{Name: folder + "/" + f.name, Size: int64(len(f.data)), Mode: int64(f.mode), ModTime: at, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func writeZip(w io.Writer, folder string, files []file, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// sbom writes the modules of a build as an SPDX 2.3 document.
func (r *release) sbom(t *target, name string) error {
	const us = "SPDXRef-toolpost"
	packages := []map[string]any{spdxPackage(us, "github.com/toolpost/toolpost", r.version, "Apache-2.0")}
	relations := []map[string]string{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": us}}
	for i, m := range t.modules {
		id := fmt.Sprintf("SPDXRef-module-%d", i)
		entry := spdxPackage(id, m.path, m.version, m.licence)
		if m.sum != "" {
			entry["comment"] = "go.sum: " + m.sum
		}
		packages = append(packages, entry)
		relations = append(relations, map[string]string{"spdxElementId": us, "relationshipType": "DEPENDS_ON", "relatedSpdxElement": id})
	}
	program, err := os.ReadFile(t.program)
	if err != nil {
		return err
	}
	packages[0]["checksums"] = []map[string]string{{"algorithm": "SHA256", "checksumValue": fmt.Sprintf("%x", sha256.Sum256(program))}}
	doc := map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
		"name":              strings.TrimSuffix(name, ".spdx.json"),
		"documentNamespace": r.url + "/" + r.version + "/" + name,
		"creationInfo":      map[string]any{"created": r.time.Format(time.RFC3339), "creators": []string{"Tool: toolpost-release-" + r.version}},
		"packages":          packages, "relationships": relations,
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), append(data, '\n'), 0o644)
}

func spdxPackage(id, path, version, licence string) map[string]any {
	return map[string]any{
		"SPDXID": id, "name": path, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
		"licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
		"externalRefs": []map[string]string{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:golang/" + path + "@" + version}},
	}
}

const nfpmVersion = "v2.45.2"

// nfpmCommand is nfpm of the PATH, or from the module proxy.
func nfpmCommand() []string {
	if path, err := exec.LookPath("nfpm"); err == nil {
		return []string{path}
	}
	return []string{"go", "run", "github.com/goreleaser/nfpm/v2/cmd/nfpm@" + nfpmVersion}
}

// packages makes the .deb and .rpm of a build. They install the command, and the gateway as a systemd unit that is
// not started.
func (r *release) packages(build string, t *target) error {
	dir := filepath.Join(build, "package_"+t.arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	unit, err := os.ReadFile(filepath.Join(r.root, "deploy", "systemd", "toolpost.service"))
	if err != nil {
		return err
	}
	unit = bytes.ReplaceAll(unit, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
	if err := os.WriteFile(filepath.Join(dir, "toolpost.service"), unit, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "copyright"), t.notices, 0o644); err != nil {
		return err
	}
	config, err := json.MarshalIndent(r.nfpmConfig(dir, t), "", "  ") // YAML too
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "nfpm.yaml")
	if err := os.WriteFile(path, config, 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		cmd := exec.Command(r.nfpm[0], append(r.nfpm[1:len(r.nfpm):len(r.nfpm)], "package", "--config", path, "--packager", kind, "--target", r.out)...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nfpm for %s: %w\n%s", kind, err, out)
		}
	}
	return nil
}

func (r *release) nfpmConfig(dir string, t *target) map[string]any {
	content := func(src, dst, kind string, mode os.FileMode) map[string]any {
		return map[string]any{"src": src, "dst": dst, "type": kind, "file_info": map[string]any{"mode": uint32(mode), "mtime": r.time.Format(time.RFC3339)}}
	}
	return map[string]any{
		"name": "toolpost", "arch": t.arch, "platform": "linux", "version": r.version, "mtime": r.time.Format(time.RFC3339),
		"section": "utils", "priority": "optional", "maintainer": "Toolpost <maintainers@toolpost.example>", "vendor": "Toolpost",
		"homepage": "https://github.com/toolpost/toolpost", "license": "Apache-2.0", "rpm": map[string]any{"buildhost": "toolpost"},
		"description": "Any model, any tool, a call you can trust.\nA command and a gateway for tool calls of language models.",
		"contents": []map[string]any{
			content(t.program, "/usr/bin/toolpost", "", 0o755),
			content(filepath.Join(dir, "toolpost.service"), "/usr/lib/systemd/system/toolpost.service", "", 0o644),
			content(filepath.Join(r.root, "deploy", "systemd", "gateway.yaml"), "/etc/toolpost/gateway.yaml", "config|noreplace", 0o644),
			content(filepath.Join(dir, "copyright"), "/usr/share/doc/toolpost/copyright", "", 0o644),
		},
	}
}

// formula writes a Homebrew formula for the archives that were made.
func (r *release) formula() error {
	var b strings.Builder
	fmt.Fprintf(&b, "class Toolpost < Formula\n  desc \"Any model, any tool, a call you can trust\"\n  homepage \"https://github.com/toolpost/toolpost\"\n  version %q\n  license \"Apache-2.0\"\n",
		strings.TrimPrefix(r.version, "v"))
	for _, system := range []struct{ name, goos string }{{"macos", "darwin"}, {"linux", "linux"}} {
		var inner strings.Builder
		for _, chip := range []struct{ name, arch string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := fmt.Sprintf("toolpost_%s_%s_%s.tar.gz", strings.TrimPrefix(r.version, "v"), system.goos, chip.arch)
			data, err := os.ReadFile(filepath.Join(r.out, name))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(&inner, "    on_%s do\n      url %q\n      sha256 \"%x\"\n    end\n", chip.name, r.url+"/"+r.version+"/"+name, sha256.Sum256(data))
		}
		if inner.Len() > 0 {
			fmt.Fprintf(&b, "\n  on_%s do\n%s  end\n", system.name, inner.String())
		}
	}
	b.WriteString("\n  def install\n    bin.install \"toolpost\"\n    generate_completions_from_executable(bin/\"toolpost\", \"completion\")\n  end\n\n  test do\n    assert_match version.to_s, shell_output(\"#{bin}/toolpost version\")\n  end\nend\n")
	return os.WriteFile(filepath.Join(r.out, "toolpost.rb"), []byte(b.String()), 0o644)
}
