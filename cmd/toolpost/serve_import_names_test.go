package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestImportHidesKeysInNames: a labelled key or a query in the name of a model is neither written nor printed.
func TestImportHidesKeysInNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	const secret = "SUPERSECRETabc123456789XYZ"
	for _, row := range []importRow{
		{liteEntry("m", `model: "openai/m?key=`+secret+`"`), "", ":3: a model is left out: its name holds what looks like a key"},
		{liteEntry("m", `model: "openai/m&api_key=`+secret+`"`), "", "its name holds what looks like a key"},
		{liteEntry("m", `model: "vertex_ai/m?x=`+secret+`"`), "", ":3: a model is left out: its name has a query or a fragment"},
		{liteEntry("m", `model: "openai/m#`+secret+`"`), "", "has a query or a fragment"},
		{liteEntry("m", `model: "nobody/m?token=`+secret+`"`), "", "its name holds what looks like a key"},
		{liteEntry(`"m?key=`+secret+`"`, "model: openai/m"), "", "its name holds what looks like a key"},
		{`router_settings: {model_group_alias: {"a?key=` + secret + `": sure}}` + "\n", "", "an alias is left out"},
		{`router_settings: {fallbacks: [{sure: ["m?key=` + secret + `"]}, {"n?key=` + secret + `": [sure]}]}` + "\n", "", "fallback"},
		{liteEntry("tokens", "model: openai/key-token:latest"), `"openai/key-token:latest"`, "2 of 2 models"},
	} {
		writeFile(t, file, "model_list:\n"+liteEntry("sure", "model: openai/gpt-4o")+row.config)
		got := toolpost(t, "", "serve", "import", file)
		if got.code != 0 || !strings.Contains(got.out, row.writes) || !strings.Contains(got.errOut, row.says) || strings.Contains(got.out+got.errOut, secret) {
			t.Errorf("%s%d\n%s%s", row.config, got.code, got.out, got.errOut)
		}
	}
}

// TestImportLowerCaseVariables: an address from a variable becomes a provider, with any case of the name. The
// variable is read where the gateway starts.
func TestImportLowerCaseVariables(t *testing.T) {
	dir := t.TempDir()
	file, ours := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "gateway.yaml")
	writeFile(t, file, "model_list:\n"+liteEntry("a", "model: openai/m, api_base: os.environ/my_base")+liteEntry("b", "model: ollama/m, api_base: os.environ/Other_Base"))
	got := toolpost(t, "", "serve", "import", file)
	if got.code != 0 || !strings.Contains(got.out, `my-base: {base_url: "${my_base}", wire: chat}`) || !strings.Contains(got.out, `{base_url: "${Other_Base}/api", wire: ollama}`) || !strings.Contains(got.errOut, "2 of 2 models") {
		t.Fatalf("%d\n%s%s", got.code, got.out, got.errOut)
	}
	writeFile(t, ours, got.out)
	t.Setenv("my_base", "http://gpu.example.org:8000/v1")
	t.Setenv("Other_Base", "http://gpu.example.org:11434")
	must(t, toolpost(t, "", "serve", "--check", "--config", ours), 0, "the routes are in order: a, b")
	t.Setenv("my_base", "no address")
	if got := toolpost(t, "", "serve", "--check", "--config", ours); got.code == 0 {
		t.Errorf("the variable is not read: %s%s", got.out, got.errOut)
	}
}
