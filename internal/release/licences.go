package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// module is a module in a build, with its licence.
type module struct {
	path, version, sum string
	licence            string            // SPDX identifier, or a conjunction of several
	texts              map[string][]byte // licence and notice files
}

// modules returns the modules of a build, the Go standard library first.
func (r *release) modules(info *debug.BuildInfo) ([]module, error) {
	goRoot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	std, err := readLicence(module{path: "std", version: info.GoVersion}, strings.TrimSpace(string(goRoot)))
	if err != nil {
		return nil, err
	}
	list := []module{std}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced: a release is built from published modules", dep.Path)
		}
		dir, err := r.moduleDir(dep.Path, dep.Version)
		if err != nil {
			return nil, err
		}
		m, err := readLicence(module{path: dep.Path, version: dep.Version, sum: dep.Sum}, dir)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// moduleDir returns the folder of a module in the module cache.
func (r *release) moduleDir(path, version string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", path+"@"+version)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s@%s: %w", path, version, err)
	}
	var found struct{ Dir string }
	err = json.Unmarshal(out, &found)
	return found.Dir, err
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// readLicence adds the licence files of a module, and names the licence.
func readLicence(m module, dir string) (module, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return m, err
	}
	m.texts = map[string][]byte{}
	var names []string
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return m, err
		}
		m.texts[e.Name()] = text
		if name := licenceOf(text); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	m.licence = strings.Join(names, " AND ")
	if m.licence == "" {
		return m, fmt.Errorf("module %s has no licence that is known here", m.path)
	}
	if strings.Contains(m.licence, "GPL") {
		return m, fmt.Errorf("module %s has the licence %s, which a release may not contain", m.path, m.licence)
	}
	return m, nil
}

// licenceTexts are phrases of licences, the most special first.
var licenceTexts = []struct{ name, phrase string }{
	{"AGPL", "gnu affero general public license"},
	{"LGPL", "gnu lesser general public license"},
	{"GPL", "gnu general public license"},
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD-3-Clause", "neither the name of"},
	{"BSD-3-Clause", "the names of its contributors may not be used"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright notice"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
}

// licenceOf returns the SPDX identifier of a licence text, or "" if the text is another. Licences that mention another
// one in their text, like MPL-2.0, are known by their title.
func licenceOf(text []byte) string {
	flat := strings.ToLower(strings.Join(strings.Fields(string(bytes.ReplaceAll(text, []byte(","), []byte(", ")))), " "))
	head := flat[:min(len(flat), 400)]
	for _, l := range licenceTexts {
		where := flat
		if strings.HasSuffix(l.name, "GPL") || l.name == "MPL-2.0" || l.name == "Apache-2.0" {
			where = head
		}
		if strings.Contains(strings.ReplaceAll(where, ",", ""), strings.ReplaceAll(l.phrase, ",", "")) {
			return l.name
		}
	}
	return ""
}

// notices returns the licences of modules as one text.
func notices(modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("Toolpost is licensed under Apache-2.0. It contains these modules:\n\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "  %s %s  %s\n", m.path, m.version, m.licence)
	}
	for _, m := range modules {
		names := make([]string, 0, len(m.texts))
		for name := range m.texts {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("-", 80), m.path, m.version, name, bytes.TrimSpace(m.texts[name]))
		}
	}
	return b.Bytes(), nil
}
