package realmodel

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const weatherTool = `
- name: get_weather
  description: Current weather in a city.
  parameters: {type: object, properties: {city: {type: string, description: Name of the city}}, required: [city], additionalProperties: false}
  effects: [read_only, local]
  command: [printf, "Snow, minus 7 degrees in %s", "{city}"]
`

// TestRunWithOneTool has the command do a task on the real model, from end to
// end: the tool runs, an answer comes, and the record verifies and plays again.
func TestRunWithOneTool(t *testing.T) {
	url := serve(t)
	dir := t.TempDir()
	bin := filepath.Join(dir, "toolpost")
	build := exec.Command("go", "build", "-o", bin, "./cmd/toolpost")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{
		"tools.yaml":  weatherTool,
		"config.yaml": "providers: {llamacpp: {base_url: " + url + "/v1}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	toolpost := func(args ...string) (stdout, stderr string) {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TOOLPOST_CONFIG=config.yaml", "TOOLPOST_STORE="+filepath.Join(dir, "runs"))
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := cmd.Run(); err != nil {
			t.Fatalf("toolpost %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errOut.String())
		}
		return out.String(), errOut.String()
	}
	began := time.Now()
	answer, done := toolpost("run", "-m", "llamacpp/any", "--temperature", "0", "--max-turns", "4", "--tools", "tools.yaml", "What is the weather in Oslo?")
	t.Logf("in %v:\n%s%s", time.Since(began).Round(time.Second), done, answer)
	if !strings.Contains(done, "✓ get_weather city=Oslo") || strings.TrimSpace(answer) == "" {
		t.Errorf("no call or no answer")
	}
	run := regexp.MustCompile(`receipts verify (\S+)`).FindStringSubmatch(done)
	if run == nil {
		t.Fatal("no receipt")
	}
	if verified, _ := toolpost("receipts", "verify", run[1]); !strings.HasPrefix(verified, "sealed") {
		t.Error(verified)
	}
	toolpost("replay", run[1])
}
