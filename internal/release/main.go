// Command release makes the files of a release:
//
//	go run ./internal/release -version v0.9.0
//
// It builds the command for every platform and writes to the folder dist: an archive for each platform, .deb and .rpm
// packages, an SBOM and the licences of all dependencies for each platform, a Homebrew formula, and SHA256SUMS.
// The same commit gives the same bytes on every machine with the same version of Go.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are those of a release.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

var semantic = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// versionVariable is the string variable that holds the version of a released build.
const versionVariable = "github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo.Release"

// release is what a run makes, and where.
type release struct {
	root    string // of the module
	out     string
	version string // like v0.9.0
	url     string // where the archives will be downloaded
	time    time.Time
	nfpm    []string // the command that makes packages; empty: none
}

// target is the build for one platform.
type target struct {
	os, arch string
	program  string   // path of the executable
	modules  []module // the modules in it
	notices  []byte   // their licences
}

func main() {
	version := flag.String("version", "", "`VERSION` of the release, like v0.9.0 (default: the tag of the commit)")
	out := flag.String("out", "dist", "`FOLDER` for the files; it is emptied first")
	only := flag.String("platforms", strings.Join(platforms, ","), "`LIST` of platforms")
	packages := flag.Bool("packages", true, "make .deb and .rpm packages with nfpm")
	url := flag.String("url", "https://github.com/toolpost/toolpost/releases/download", "`ADDRESS` of the releases, for the Homebrew formula")
	flag.Parse()
	if err := run(*version, *out, *url, strings.Split(*only, ","), *packages); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(version, out, url string, wanted []string, packages bool) error {
	r, err := newRelease(version, out, url, packages)
	if err != nil {
		return err
	}
	for _, platform := range wanted {
		if !slices.Contains(platforms, platform) {
			return fmt.Errorf("unknown platform %q; releases have %s", platform, strings.Join(platforms, ", "))
		}
	}
	build, err := os.MkdirTemp("", "toolpost-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(build)
	for _, platform := range wanted {
		if err := r.platform(build, platform); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if err := r.formula(); err != nil {
		return err
	}
	return r.checksums()
}

func newRelease(version, out, url string, packages bool) (*release, error) {
	root, err := command("", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	r := &release{root: root, version: version, url: url, time: time.Unix(0, 0).UTC()}
	if r.version == "" {
		if r.version, err = command(root, "git", "describe", "--tags", "--exact-match"); err != nil {
			return nil, errors.New("this commit has no tag: set -version")
		}
	}
	if !semantic.MatchString(r.version) {
		return nil, fmt.Errorf("version %q is not a semantic version like v0.9.0", r.version)
	}
	if stamp, err := sourceTime(root); err == nil {
		r.time = stamp
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if err := emptyFolder(r.out); err != nil {
		return nil, err
	}
	if packages {
		r.nfpm = nfpmCommand()
	}
	return r, nil
}

// sourceTime is the time that all files get: SOURCE_DATE_EPOCH, or the time of the commit.
func sourceTime(root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = command(root, "git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// siteFolder is the folder of the output where site/build writes. A release leaves it alone.
const siteFolder = "site"

// emptyFolder makes a folder, or empties the folder of an earlier run. It refuses any other folder.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.IsDir() && e.Name() == siteFolder })
	for _, e := range entries {
		if name := e.Name(); !e.Type().IsRegular() || name != sumsFile && !strings.HasPrefix(name, "toolpost") {
			return fmt.Errorf("%s has files that are not of a release, like %s: empty it, or name another folder with -out", dir, name)
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// platform makes all files for one platform.
func (r *release) platform(build, platform string) error {
	t, err := r.build(build, platform)
	if err != nil {
		return err
	}
	base := fmt.Sprintf("toolpost_%s_%s_%s", strings.TrimPrefix(r.version, "v"), t.os, t.arch)
	if err := r.archive(t, base); err != nil {
		return err
	}
	if err := r.sbom(t, base+".spdx.json"); err != nil {
		return err
	}
	if t.os == "linux" && r.nfpm != nil {
		return r.packages(build, t)
	}
	return nil
}

// build compiles the command and collects the licences of its modules.
func (r *release) build(dir, platform string) (*target, error) {
	goos, goarch, _ := strings.Cut(platform, "/")
	t := &target{os: goos, arch: goarch, program: filepath.Join(dir, goos+"_"+goarch, "toolpost")}
	if goos == "windows" {
		t.program += ".exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w -X "+versionVariable+"="+r.version, "-o", t.program, "./cmd/toolpost")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(t.program)
	if err != nil {
		return nil, err
	}
	if t.modules, err = r.modules(info); err != nil {
		return nil, err
	}
	t.notices, err = notices(t.modules)
	return t, err
}

const sumsFile = "SHA256SUMS"

// checksums writes SHA256SUMS in the form that sha256sum -c reads.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		if e.IsDir() || e.Name() == sumsFile {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, sumsFile), []byte(sums.String()), 0o644)
}

// command runs a program and returns the first lines that it prints, without the last line feed.
func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
