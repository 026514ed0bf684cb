package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// TestHelpFits80Columns: no line of any help is wider than a terminal, and the program alone fits 24 rows.
func TestHelpFits80Columns(t *testing.T) {
	lines := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		var b strings.Builder
		cmd.Root().SetOut(&b)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			lines++
			if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > 80 {
				t.Errorf("%s --help: %d columns: %s", cmd.CommandPath(), w, line)
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(program.New())
	if lines < 1000 {
		t.Errorf("only %d lines of help", lines)
	}
	if r := programtest.Run(t, ""); strings.Count(r.Out, "\n") > 22 { // and the command line itself, and the next prompt
		t.Errorf("toolpost alone has %d lines", strings.Count(r.Out, "\n"))
	}
}

var suggested = regexp.MustCompile(`toolpost( [a-z]+)+`)

// TestWordsOfOtherPrograms: an unknown command or flag suggests what exists, or nothing.
func TestWordsOfOtherPrograms(t *testing.T) {
	clitest.Bare(t, nil)
	for args, want := range map[string]string{
		"config get model":   "try 'toolpost config show KEY'",
		"config edit":        "try 'toolpost config path'",
		"config shw":         "did you mean show?",
		"manual":             "try 'toolpost man'",
		"man modles":         "did you mean models?",
		"man config get":     "try 'toolpost config show KEY'",
		"rn hi":              "did you mean run?",
		"pull qwen3":         "try 'ollama pull MODEL'",
		"logs":               "try 'toolpost receipts list'",
		"update":             "try 'toolpost upgrade --check'",
		"-m x":               "unknown flag -m of toolpost; it follows a command, like toolpost run --model",
		"--model x":          "it follows a command, like toolpost run --model",
		"-v":                 "did you mean --version?",
		"run --modle x hi":   "did you mean --model?",
		"--foo":              "unknown flag --foo of toolpost\n",
		"run --foo hi":       "unknown flag --foo of toolpost run\n",
		"frob":               "unknown command \"frob\"\n",
		"models frob":        "unknown command \"frob\" of toolpost models\n",
		"completion frobble": "unknown command \"frobble\" of toolpost completion\n",
	} {
		r := programtest.Run(t, "", strings.Fields(args)...)
		if r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, want) {
			t.Errorf("toolpost %s: status %d, %s", args, r.Code, r.ErrOut)
		}
	}
	if r := programtest.Run(t, "", "What is in config.toml?"); !strings.Contains(r.ErrOut, "a task follows run: toolpost run 'What is in config.toml?'") {
		t.Error(r.ErrOut)
	}
	root := program.New()
	for word, says := range cli.OtherWords() {
		command := suggested.FindString(says)
		if command == "" {
			continue
		}
		found, rest, err := root.Find(strings.Fields(command)[1:])
		if err != nil || len(rest) > 0 || found == root {
			t.Errorf("%q suggests %q, which does not exist", word, says)
		}
	}
}

// TestModelThatTakesNoImages: a server's failure for an image says what cannot be done, and nothing is tried again.
func TestModelThatTakesNoImages(t *testing.T) {
	clitest.Bare(t, map[string]string{"a.png": "\x89PNG\r\n\x1a\n0000"})
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked++
		}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"error":{"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","code":500,"type":"server_error"}}`)
	}))
	defer server.Close()
	r := programtest.Run(t, "", "run", "-m", server.URL+"/v1#textonly", "-f", "a.png", "what is on it?")
	if asked != 1 || !strings.Contains(r.ErrOut, "toolpost: this model does not take images: image input is not supported") ||
		!strings.Contains(r.ErrOut, "-m MODEL, with another model") || strings.Contains(r.ErrOut, "Try again") {
		t.Errorf("asked %d times: %s", asked, r.ErrOut)
	}
}

// TestCustomModelsAreNamed: a model that is not in the catalogue says what it is taken for, an entry of models.yaml
// holds wherever it is served, and one with a similar name is reported.
func TestCustomModelsAreNamed(t *testing.T) {
	clitest.Bare(t, map[string]string{"own.yaml": "models:\n  mycompany/llama3.3-code-ft: {native_tools: false}\n", "near.yaml": "models:\n  mycompany/llama3.3-code-tf: {native_tools: false}\n"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"mycompany/llama3.3-code-ft"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	for models, want := range map[string]string{
		"":          "custom model, treated like Llama 3.3 (native tools)\nHi.",
		"own.yaml":  "custom model, treated like Llama 3.3 (tools in the prompt)\nHi.",
		"near.yaml": "near.yaml:2 is about mycompany/llama3.3-code-tf, which is not the name of this model; is mycompany/llama3.3-code-ft meant?\nHi.",
	} {
		t.Setenv("TOOLPOST_MODELS", models)
		r := programtest.Run(t, "", "run", "-m", server.URL+"/v1", "hello")
		if got := strings.Replace(r.ErrOut, "\n\ndid", "\nHi.\n\ndid", 1); !strings.Contains(got, want) {
			t.Errorf("with models %q: %s", models, got)
		}
	}
}

// TestCompletionAndManAreInstalled: each shell's file is written where it looks.
func TestCompletionAndManAreInstalled(t *testing.T) {
	clitest.Bare(t, nil)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("SHELL", "/usr/bin/zsh")
	for args, file := range map[string]string{
		"completion --install":      ".zsh/completions/_toolpost",
		"completion --install=bash": ".local/share/bash-completion/completions/toolpost",
		"completion --install=fish": ".config/fish/completions/toolpost.fish",
		"man --install":             ".local/share/man/man1/toolpost-run.1",
	} {
		r := programtest.Run(t, "", strings.Fields(args)...)
		text, err := os.ReadFile(filepath.Join(home, file))
		if r.Code != cli.ExitOK || err != nil || !strings.Contains(string(text), "toolpost") {
			t.Errorf("toolpost %s: %+v, %v", args, r, err)
		}
	}
	if r := programtest.Run(t, "", "completion", "--install=tcsh"); r.Code != cli.ExitUsage || !strings.Contains(r.ErrOut, "name one, like --install=bash") {
		t.Errorf("%+v", r)
	}
}
