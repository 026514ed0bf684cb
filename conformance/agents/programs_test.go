package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// agent is a program, and how it is told to use the gateway. In files, args, env and steps {URL} is
// the gateway's address, {HOME} and {WORK} are folders, {MODEL} and {TASK} what the program is to use
// and to do.
type agent struct {
	name, format string
	program      string            // in node_modules/.bin or .venv/bin
	model        string            // that it asks for
	files        map[string]string // of its home
	args, env    []string
	steps        []step // of the model
	says         bool   // the last word of the model is printed
}

// step is a call of one of the program's tools, with its arguments or the text of a free-text tool.
type step struct{ tool, args string }

// find returns the installed program.
func (a agent) find(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"node_modules/.bin", os.Getenv("TOOLPOST_AGENTS_PYTHON")} {
		file, err := filepath.Abs(filepath.Join(dir, a.program))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); dir != "" && err == nil {
			return file
		}
	}
	if a.name == "claude-code" {
		if file, err := exec.LookPath(a.program); err == nil {
			return file
		}
	}
	t.Skipf("no %s: conformance/run agents installs what may be installed", a.program)
	return ""
}

// path is where programs find Node and Python.
func path(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs("node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	return bin + ":" + os.Getenv("PATH")
}

// pi returns pi in one of its formats.
func pi(name, format, api, base string) agent {
	return agent{
		name: "pi " + name, format: format, program: "pi", model: "sim-model",
		files: map[string]string{".pi/agent/models.json": `{"providers":{"gw":{"baseUrl":"{URL}` + base + `","apiKey":"none","api":"` + api + `","models":[{"id":"{MODEL}","reasoning":true}]}}}`},
		args:  []string{"--provider", "gw", "--model", "{MODEL}", "--no-session", "-p", "{TASK}"},
		env:   []string{"PI_OFFLINE=1"},
		steps: []step{
			{"read", `{"path":"calc.py"}`},
			{"edit", `{"path":"calc.py","edits":[{"oldText":"a - b","newText":"a + b"}]}`},
			{"bash", `{"command":"python3 trial.py"}`},
		},
		says: true,
	}
}

// codex returns Codex with a model that edits in some way: those that it knows write patches as free
// text.
func codex(name, model string, edit step) agent {
	return agent{
		name: name, format: "responses", program: "codex", model: model,
		files: map[string]string{".codex/config.toml": "model = \"{MODEL}\"\nmodel_provider = \"gw\"\n[model_providers.gw]\nname = \"gw\"\nbase_url = \"{URL}/v1\"\nwire_api = \"responses\"\nenv_key = \"GW_KEY\"\n"},
		args:  []string{"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "{TASK}"},
		env:   []string{"GW_KEY=none"},
		steps: []step{{"exec_command", `{"cmd":"cat calc.py"}`}, edit, {"exec_command", `{"cmd":"python3 trial.py"}`}},
		says:  true,
	}
}

var agents = []agent{
	pi("chat", "chat", "openai-completions", "/v1"),
	pi("responses", "responses", "openai-responses", "/v1"),
	pi("messages", "messages", "anthropic-messages", ""),
	pi("gemini", "gemini", "google-generative-ai", "/v1beta"),
	codex("codex", "gpt-5", step{"exec_command", `{"cmd":"sed -i 's/a - b/a + b/' calc.py"}`}),
	codex("codex patch", "gpt-5.5", step{"apply_patch", `"*** Begin Patch\n*** Update File: calc.py\n@@\n def add(a, b):\n-    return a - b\n+    return a + b\n*** End Patch\n"`}),
	{
		name: "opencode", format: "chat", program: "../opencode-linux-x64/bin/opencode", model: "sim-model",
		files: map[string]string{".config/opencode/opencode.json": `{"provider":{"gw":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"{URL}/v1","apiKey":"none"},"models":{"{MODEL}":{}}}},"small_model":"gw/{MODEL}"}`},
		args:  []string{"run", "--format", "json", "-m", "gw/{MODEL}", "{TASK}"},
		env:   []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"},
		steps: []step{
			{"read", `{"filePath":"{WORK}/calc.py"}`},
			{"edit", `{"filePath":"{WORK}/calc.py","oldString":"a - b","newString":"a + b"}`},
			{"bash", `{"command":"python3 trial.py","description":"runs the test"}`},
		},
		says: true,
	},
	{
		name: "gemini-cli", format: "gemini", program: "gemini", model: "gemini-2.5-pro",
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`},
		args:  []string{"-m", "{MODEL}", "--yolo", "-o", "json", "-p", "{TASK}"},
		env:   []string{"GOOGLE_GEMINI_BASE_URL={URL}", "GEMINI_API_KEY=none", "GEMINI_CLI_TRUST_WORKSPACE=true"},
		steps: []step{
			{"read_file", `{"file_path":"calc.py"}`},
			{"replace", `{"file_path":"calc.py","instruction":"add, do not subtract","old_string":"a - b","new_string":"a + b"}`},
			{"run_shell_command", `{"command":"python3 trial.py"}`},
		},
		says: true,
	},
	{
		name: "qwen-code", format: "chat", program: "qwen", model: "sim-model",
		files: map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}}}`},
		args:  []string{"--yolo", "-p", "{TASK}"},
		env:   []string{"OPENAI_API_KEY=none", "OPENAI_BASE_URL={URL}/v1", "OPENAI_MODEL={MODEL}"},
		steps: []step{
			{"read_file", `{"file_path":"{WORK}/calc.py"}`},
			{"edit", `{"file_path":"{WORK}/calc.py","old_string":"a - b","new_string":"a + b"}`},
			{"run_shell_command", `{"command":"python3 trial.py","is_background":false}`},
		},
		says: true,
	},
	{
		name: "continue", format: "chat", program: "cn", model: "sim-model",
		files: map[string]string{"c.yaml": "name: gw\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: gw\n    provider: openai\n    model: {MODEL}\n    apiBase: {URL}/v1\n    apiKey: none\n    roles: [chat, edit, apply]\n    capabilities: [tool_use]\n"},
		args:  []string{"-p", "--config", "{HOME}/c.yaml", "--auto", "{TASK}"},
		steps: []step{
			{"Read", `{"filepath":"{WORK}/calc.py"}`},
			{"Edit", `{"file_path":"{WORK}/calc.py","old_string":"a - b","new_string":"a + b"}`},
			{"Bash", `{"command":"python3 trial.py"}`},
		},
		says: true,
	},
	{
		name: "mini-swe-agent", format: "chat", program: "mini", model: "sim-model",
		args: []string{"-m", "openai/{MODEL}", "-y", "--exit-immediately", "-t", "{TASK}", "-o", "{HOME}/out.json"},
		env:  []string{"OPENAI_API_BASE={URL}/v1", "OPENAI_API_KEY=none", "MSWEA_CONFIGURED=true", "MSWEA_COST_TRACKING=ignore_errors"},
		steps: []step{
			{"bash", `{"command":"cat calc.py"}`},
			{"bash", `{"command":"sed -i 's/a - b/a + b/' calc.py"}`},
			{"bash", `{"command":"python3 trial.py"}`},
			{"bash", `{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}`},
		},
	},
	{
		name: "llm", format: "chat", program: "llm", model: "gw",
		files: map[string]string{".config/io.datasette.llm/extra-openai-models.yaml": "- model_id: gw\n  model_name: gw\n  api_base: {URL}/v1\n  supports_tools: true\n", "tools.py": functions},
		args:  []string{"-m", "{MODEL}", "--key", "none", "--functions", "{HOME}/tools.py", "--td", "{TASK}"},
		steps: []step{
			{"read_file", `{"path":"calc.py"}`},
			{"write_file", `{"path":"calc.py","text":"def add(a, b):\n    return a + b\n"}`},
			{"run_python", `{"path":"trial.py"}`},
		},
		says: true,
	},
	{
		name: "claude-code", format: "messages", program: "claude", model: "claude-sonnet-4-5",
		args: []string{"-p", "{TASK}", "--output-format", "json", "--allowedTools", "Read,Edit,Write,Bash"},
		env:  []string{"ANTHROPIC_BASE_URL={URL}", "ANTHROPIC_API_KEY=none", "ANTHROPIC_MODEL={MODEL}", "ANTHROPIC_SMALL_FAST_MODEL={MODEL}", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		steps: []step{
			{"Read", `{"file_path":"{WORK}/calc.py"}`},
			{"Edit", `{"file_path":"{WORK}/calc.py","old_string":"a - b","new_string":"a + b"}`},
			{"Bash", `{"command":"python3 trial.py","description":"runs the test"}`},
		},
		says: true,
	},
}

// functions are the tools that llm is given.
const functions = `import subprocess

def read_file(path: str) -> str:
    "Return the text of a file"
    return open(path).read()

def write_file(path: str, text: str) -> str:
    "Replace the text of a file"
    return str(open(path, "w").write(text))

def run_python(path: str) -> str:
    "Run a Python program and return what it prints"
    return subprocess.run(["python3", path], capture_output=True, text=True).stdout
`
