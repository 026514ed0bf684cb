package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/sim"
)

// The findings of a probe are in the user's file, and the next request uses them.
func TestModelsProbe(t *testing.T) {
	dir := programtest.OwnHome(t)
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	for _, c := range []struct {
		wire, root, model string
		want              string // in the file
	}{
		{"chat", "/v1", "sim/native", "native_tools: true"},
		{"chat", "/v1", "sim/native+no-tools", "native_tools: false"},
		{"chat", "/v1", "sim/hermes_json", "dialect: hermes_json"},
		{"messages", "/v1", "sim/native", "wire: messages"},
		{"gemini", "/v1beta", "sim/native+ignore-choice", "tool_choice_required: false"},
		{"ollama", "/api", "sim/native", "wire: ollama"},
	} {
		r := programtest.Run(t, "", "models", "probe", "--wire", c.wire, server.URL+c.root, c.model)
		if r.Code != cli.ExitOK || !strings.Contains(r.Out, "written to") {
			t.Fatalf("%v: exit %d, %s%s", c, r.Code, r.Out, r.ErrOut)
		}
		file, err := os.ReadFile(filepath.Join(dir, "toolpost", "models.yaml"))
		if err != nil {
			file, err = os.ReadFile(filepath.Join(dir, ".config", "toolpost", "models.yaml"))
		}
		if err != nil {
			t.Skip("the configuration is elsewhere on this system")
		}
		if !strings.Contains(string(file), c.want) || !strings.Contains(string(file), "probed with") {
			t.Errorf("%v: no %q in\n%s", c, c.want, file)
		}
	}
	id := server.URL + "/v1#sim/native"
	r := programtest.Run(t, "", "models", "show", "--json", id)
	if !strings.Contains(r.Out, `"native_tools": true`) && !strings.Contains(r.Out, `"native_tools":true`) {
		t.Errorf("the next lookup says %s", r.Out)
	}
}

func TestModelsProbeMistakes(t *testing.T) {
	programtest.OwnHome(t)
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, cli.ExitUsage, ""},
		{[]string{"--wire", "smoke", server.URL, "m"}, cli.ExitUsage, "unknown format"},
		{[]string{"localhost:80", "m"}, cli.ExitUsage, "http://"},
		{[]string{server.URL + "/v1", "sim/native+401"}, cli.ExitFailed, "the key was not accepted (HTTP 401)"},
		{[]string{server.URL + "/v1", "no such model"}, cli.ExitFailed, "not found"},
		{[]string{"http://127.0.0.1:1/v1", "m"}, cli.ExitFailed, "refused"},
		{[]string{"--key-env", "NO_SUCH_KEY_VARIABLE", server.URL + "/v1", "sim/native"}, cli.ExitFailed, "is not set"},
		{[]string{"nobody/knows"}, cli.ExitFailed, "nobody is known to serve"},
	} {
		r := programtest.Run(t, "", append([]string{"models", "probe"}, c.args...)...)
		if r.Code != c.code || !strings.Contains(r.ErrOut, c.says) {
			t.Errorf("%q: exit %d, %s", c.args, r.Code, r.ErrOut)
		}
	}
}

func TestModelsProbeJSON(t *testing.T) {
	dir := programtest.OwnHome(t)
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	r := programtest.Run(t, "", "models", "probe", "--json", "--dry-run", server.URL+"/v1", "sim/native")
	var got struct {
		Requests int
		Findings []struct{ Name, Because string }
		Record   struct{ Values map[string]string }
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || got.Requests == 0 || got.Requests > 20 || len(got.Findings) == 0 || got.Record.Values["native_tools"] != "true" {
		t.Errorf("%v: %s", err, r.Out)
	}
	if _, err := os.Stat(filepath.Join(dir, "toolpost", "models.yaml")); err == nil {
		t.Error("a dry run wrote the file")
	}
}
