package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// ollamaWith starts an Ollama server with some models and names it in the environment. It answers chats with the
// simulator.
func ollamaWith(t *testing.T, models ...string) {
	t.Helper()
	was := openmodel.Patience
	openmodel.Patience = time.Minute
	t.Cleanup(func() { openmodel.Patience = was })
	simulator := new(sim.Server)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/tags" {
			simulator.ServeHTTP(w, r)
			return
		}
		type model struct {
			Name string `json:"name"`
		}
		var list struct {
			Models []model `json:"models"`
		}
		for _, name := range models {
			list.Models = append(list.Models, model{name})
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	t.Setenv("OLLAMA_HOST", strings.TrimPrefix(server.URL, "http://"))
	t.Setenv("TOOLPOST_LOCAL", "ollama")
}

// models list shows the usable models. --all and --json show all known ones, as before.
func TestModelsListUsable(t *testing.T) {
	clitest.Bare(t, nil)
	ollamaWith(t, "qwen3:8b", "llama3.2:latest")
	t.Setenv("GROQ_API_KEY", "k")
	r := programtest.Run(t, "", "models", "list")
	lines := strings.Split(strings.TrimSpace(r.Out), "\n")
	if r.Code != cli.ExitOK || len(lines) != 4 || !strings.HasPrefix(lines[0], "groq/") || !strings.Contains(lines[0], "GROQ_API_KEY is set") || !strings.HasPrefix(lines[1], "ollama/qwen3:8b ") ||
		!strings.HasPrefix(lines[2], "ollama/llama3.2:latest ") || !strings.HasPrefix(lines[3], openmodel.OfflineID) || !strings.Contains(r.ErrOut, "--all") {
		t.Errorf("%+v", r)
	}
	var here []openmodel.Choice
	if r := programtest.Run(t, "", "models", "list", "--here", "--json", "qwen"); json.Unmarshal([]byte(r.Out), &here) != nil || len(here) != 1 || here[0].ID != "ollama/qwen3:8b" || here[0].Why == "" {
		t.Errorf("%+v", r)
	}
	if r := programtest.Run(t, "", "models", "list", "--here", "nothing"); r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "nothing") {
		t.Errorf("%+v", r)
	}
	for _, args := range []string{"--all", "--json", "claude", "--all claude"} {
		if r := programtest.Run(t, "", append([]string{"models", "list"}, strings.Fields(args)...)...); r.Code != cli.ExitOK || !strings.Contains(r.Out, "claude-sonnet-4-5") || strings.Contains(r.Out, "ollama/qwen3:8b") {
			t.Errorf("%s: %+v", args, r)
		}
	}
	if r := programtest.Run(t, "", "models", "list", "--here", "--all"); r.Code != cli.ExitUsage {
		t.Errorf("%+v", r)
	}
}

// A model without a provider is found on this machine. The error for a misspelt model suggests a close name.
func TestModelWithoutProvider(t *testing.T) {
	clitest.Bare(t, nil)
	ollamaWith(t, "sim/native", "qwen3:8b", "llama3.2:latest")
	for _, c := range []struct{ id, opens, says string }{
		{"qwen3:8b", "ollama/qwen3:8b", ""},
		{"llama3.2", "ollama/llama3.2:latest", ""},
		{"qwen3:8c", "", "did you mean ollama/qwen3:8b?"},
		{"qwen3", "", "did you mean ollama/qwen3:8b?"},
		{"qwen3:4b", "", "'ollama pull qwen3:4b' would add it"},
		{"foo", "", `nobody is known to serve "foo"; put who serves it in front, like ollama/foo, or an address, like http://host/v1#foo`},
		{"ollma/qwen3:8b", "", "did you mean ollama/qwen3:8b?"},
		{"ollma/qwen3:8b", "", `nobody is known to serve "ollma/qwen3:8b"; did`}, // without a list of all vendors
		{"sim/natve", "", "did you mean sim/native?"},
		{"sim/ofline", "", "did you mean sim/offline?"},
		{"who-knows-this", "", "nobody is known to serve"},
	} {
		s, err := settingsOf(t, "run", "-m", c.id)
		if err != nil {
			t.Fatal(err)
		}
		client, err := openmodel.Client(&s.ModelOptions)
		if err != nil {
			t.Fatal(err)
		}
		_, f, err := openmodel.Open(t.Context(), &s.ModelOptions, openmodel.Choose(t.Context(), &s.ModelOptions, ""), client.Open)
		if c.opens != "" && (err != nil || f.ID != c.opens) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %+v, %v", c.id, f, err)
		}
		if strings.HasPrefix(c.says, "nobody") && llm.KindOf(err) != llm.NotFound {
			t.Errorf("%s: the kind is %v", c.id, llm.KindOf(err))
		}
	}
	r := programtest.Run(t, "", "run", "-m", "qwen3:8b", "hi")
	if !strings.Contains(r.ErrOut, "ollama/qwen3:8b: the server at ") {
		t.Errorf("it is not said where the model is: %+v", r)
	}
}

// A shell completes the values of flags and arguments.
func TestShellCompletion(t *testing.T) {
	clitest.Bare(t, map[string]string{"c.yaml": "tasks: {review: {task: Read it}}\n", "own.yaml": "- name: count_words\n  description: Count.\n  parameters: {type: object}\n  command: [wc]\n"})
	ollamaWith(t, "qwen3:8b")
	id := programtest.RunID(t, programtest.Run(t, "", "run", "-m", "sim/native", "list the files").ErrOut)
	for _, c := range []struct{ args, want string }{
		{"run -m oll", "ollama/qwen3:8b"},
		{"run -m anth", "anthropic/"},
		{"run -m ", "anthropic/"},
		{"run --model claude-sonnet-4-", "claude-sonnet-4-5"},
		{"chat -m sim/nat", "sim/native"},
		{"run --allow ex", "exec"},
		{"tools call --allow wr", "write"},
		{"run --resume ", id},
		{"receipts show ", id},
		{"receipts verify la", "latest"},
		{"replay " + id[:8], id},
		{"parse --dialect herm", "hermes_json"},
		{"explain --dialect herm", "hermes_json"},
		{"schema --vendor g", "gemini"},
		{"models show gpt-4o-m", "gpt-4o-mini"},
		{"models probe --wire mess", "messages"},
		{"tools call read", "read_file"},
		{"tools call --tools own.yaml count", "count_words"},
		{"receipts export --format ", "b"},
		{"rece", "receipts"},
		{"run --config c.yaml @re", "@review"},
		{"runs approve " + id[:8], id},
		{"runs deny la", "latest"},
		{"config set max_to", "max_tokens"},
		{"config unset jour", "journal"},
		{"config set results con", "concise"},
		{"config set sandbox t", "true"},
		{"config set local vl", "vllm"},
		{"config set stronger claude-sonnet-4-", "claude-sonnet-4-5"},
		{"run --results min", "minimal"},
		{"chat --lanes nat", "native"},
	} {
		args := strings.Split(c.args, " ")
		r := programtest.Run(t, "", append([]string{"__complete"}, args...)...)
		found := false
		for line := range strings.Lines(r.Out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			found = found || word == c.want
		}
		if !found {
			t.Errorf("toolpost %s: %s is not offered\n%s", c.args, c.want, r.Out)
		}
	}
}

// TestServerWithoutModel: an id that names a server takes its only model, or the error lists the models.
func TestServerWithoutModel(t *testing.T) {
	clitest.Bare(t, nil)
	ollamaWith(t, "native")
	address := "ollama+http://" + os.Getenv("OLLAMA_HOST")
	for _, id := range []string{"ollama", "ollama/", address} {
		r := programtest.Run(t, "", "run", "-m", id, "--json", "hello")
		if r.Code != cli.ExitOK || !strings.Contains(r.Out, `/native"`) && !strings.Contains(r.Out, `#native"`) {
			t.Errorf("%s: %+v", id, r)
		}
	}
	ollamaWith(t, "qwen3:8b", "llama3.2:latest")
	r := programtest.Run(t, "", "run", "-m", "ollama", "hello")
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "ollama has 2 models; choose one with -m:\n  ollama/qwen3:8b\n  ollama/llama3.2:latest") {
		t.Errorf("%+v", r)
	}
	r = programtest.Run(t, "", "run", "-m", "http://127.0.0.1:9/v1", "hello")
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "no server answers at 127.0.0.1:9\nIs the server running?") || strings.Contains(r.ErrOut, "provider.Open") {
		t.Errorf("%+v", r)
	}
	t.Setenv("OLLAMA_HOST", "127.0.0.1:9")
	t.Setenv("TOOLPOST_LOCAL", "ollama")
	if r = programtest.Run(t, "", "doctor"); !strings.Contains(r.Out, "no answer at http://127.0.0.1:9/api") {
		t.Errorf("%+v", r)
	}
	for _, address := range []string{"http://user:s3cret@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key=s3cret"} {
		if r := programtest.Run(t, "", "run", "-m", address, "hello"); r.Code == cli.ExitOK || strings.Contains(r.Out+r.ErrOut, "s3cret") {
			t.Errorf("%s: %+v", address, r)
		}
	}
	t.Setenv("TOOLPOST_LOCAL", "none")
	r = programtest.Run(t, "", "run", "-m", "qwen3:14b", "hello")
	if r.Code != cli.ExitFailed || !strings.Contains(r.ErrOut, "try ollama/qwen3:14b, which needs a running Ollama") {
		t.Errorf("%+v", r)
	}
}
