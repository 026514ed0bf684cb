package agents

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// agent is a program, and how it is used. In its texts {HOME} and {WORK} are folders, {TASK} and {AGAIN} what it is to
// do, and {PROBE} the MCP server. 'toolpost launch' tells it about the gateway.
type agent struct {
	name    string
	as      string // its name for launch, if that is another one
	format  string
	program string // in node_modules/.bin, the folder of Python programs or on the path
	model   string // the name that it asks for
	files   map[string]string
	env     []string

	args   []string // do the task
	keep   []string // in addition, to keep the conversation
	resume []string // continue the conversation
	image  []string // the task with a picture; nil: it reads dot.png

	read, edit, shell step // %s is the file or the command
	sub               []step
	says              string // the model's whole answer, of an agent without tools
	end               step   // the call that ends the task, if that is not the last word

	mcpFiles map[string]string
	mcpArgs  []string

	lacks  map[string]string // tasks that the agent does not have, which are not tried
	cannot map[string]string // cells that do not work, with the reason
}

// step is a call of one of the program's tools, with its arguments or the text of a free-text tool.
type step struct{ tool, args string }

func (a agent) launch() string { return cmp.Or(a.as, a.name) }

func (a agent) reading(file string) step {
	return step{a.read.tool, strings.ReplaceAll(a.read.args, "%s", file)}
}

func (a agent) running(command string) step {
	text, _ := json.Marshal(command)
	return step{a.shell.tool, strings.ReplaceAll(a.shell.args, `"%s"`, string(text))}
}

// folders are where programs are.
func folders() []string {
	return append([]string{"node_modules/.bin", "node_modules/@anthropic-ai/claude-code-linux-x64", "node_modules/@github/copilot-linux-x64", "node_modules/@aaif/goose-binary-linux-x64/bin", "node_modules/opencode-linux-x64/bin"},
		filepath.SplitList(os.Getenv("TOOLPOST_AGENTS_PYTHON"))...)
}

// find skips the test if the program is not installed.
func (a agent) find(t *testing.T) {
	t.Helper()
	for dir := range strings.SplitSeq(path(t), ":") {
		if info, err := os.Stat(filepath.Join(dir, a.program)); err == nil && !info.IsDir() {
			return
		}
	}
	if _, err := exec.LookPath(a.program); err != nil {
		t.Skipf("no %s: conformance/run agents installs what may be installed", a.program)
	}
}

// path is where programs find Node and Python. Programs of packages come before the scripts that start them.
func path(t *testing.T) string {
	t.Helper()
	var dirs []string
	for _, dir := range folders() {
		full, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append([]string{full}, dirs...)
	}
	return strings.Join(dirs, ":") + ":" + os.Getenv("PATH")
}

const mcpServers = `{"mcpServers":{"probe":{"command":"python3","args":["{PROBE}"]}}}`

// codex returns Codex with a model that edits in some way: those that it knows write patches as free text.
func codex(name, model string, edit step) agent {
	return agent{
		name: name, as: "codex", format: "responses", program: "codex", model: model,
		args:   []string{"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "{TASK}"},
		resume: []string{"exec", "resume", "--last", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "{AGAIN}"},
		image:  []string{"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "{TASK}", "-i", "{WORK}/dot.png"},
		read:   step{"exec_command", `{"cmd":"cat %s"}`}, edit: edit, shell: step{"exec_command", `{"cmd":"%s"}`},
		sub:      []step{{"spawn_agent", `{"message":"` + sub + `","task_name":"look"}`}, {"wait_agent", `{"timeout_ms":20000}`}},
		mcpFiles: map[string]string{".codex/config.toml": "[mcp_servers.probe]\ncommand = \"python3\"\nargs = [\"{PROBE}\"]\n"},
	}
}

// open adds cells that are open: what was seen, without the cause.
func (a agent) open(cells map[string]string) agent {
	a.cannot = cells
	return a
}

// pi returns pi.
func pi() agent {
	return agent{
		name: "pi", format: "chat", program: "pi", model: "sim-model",
		args: []string{"-p", "{TASK}"}, resume: []string{"-c", "-p", "{AGAIN}"}, env: []string{"PI_OFFLINE=1"},
		image: []string{"-p", "@{WORK}/dot.png", "{TASK}"},
		read:  step{"read", `{"path":"%s"}`}, edit: step{"edit", `{"path":"calc.py","edits":[{"oldText":"a - b","newText":"a + b"}]}`}, shell: step{"bash", `{"command":"%s"}`},
		lacks: map[string]string{"mcp": "it has no MCP", "sub-agent": "it has no sub-agents"},
	}
}

var agents = []agent{
	{
		name: "claude-code", format: "messages", program: "claude", model: "claude-sonnet-4-5",
		args:   []string{"-p", "{TASK}", "--output-format", "json", "--allowedTools", "Read,Edit,Write,Bash,Agent,Task,mcp__probe__lookup"},
		resume: []string{"-c", "-p", "{AGAIN}", "--output-format", "json"},
		read:   step{"Read", `{"file_path":"{WORK}/%s"}`}, edit: step{"Edit", `{"file_path":"{WORK}/calc.py","old_string":"a - b","new_string":"a + b"}`}, shell: step{"Bash", `{"command":"%s","description":"runs it"}`},
		sub:     []step{{"Agent", `{"description":"look","prompt":"` + sub + `","subagent_type":"general-purpose","run_in_background":false}`}},
		mcpArgs: []string{"--mcp-config", mcpServers}, env: []string{"ENABLE_TOOL_SEARCH=false"},
	},
	codex("codex", "gpt-5", step{"exec_command", `{"cmd":"sed -i 's/a - b/a + b/' calc.py"}`}),
	codex("codex, unknown name", "my-model", step{"exec_command", `{"cmd":"sed -i 's/a - b/a + b/' calc.py"}`}).open(map[string]string{
		"image": "open: the image does not reach the model", "sub-agent": "open: the sub-agent is not asked",
	}),
	codex("codex, patches", "gpt-5.5", step{"apply_patch", `"*** Begin Patch\n*** Update File: calc.py\n@@\n def add(a, b):\n-    return a - b  # READ-CALC\n+    return a + b  # READ-CALC\n*** End Patch\n"`}).open(map[string]string{
		"image": "open: the image does not reach the model", "mcp": "open: the tool of the server is not offered", "sub-agent": "it offers this model no sub-agents",
	}),
	{
		name: "opencode", format: "chat", program: "opencode", model: "sim-model",
		args: []string{"run", "--format", "json", "{TASK}"}, resume: []string{"run", "--format", "json", "-c", "{AGAIN}"},
		image: []string{"run", "--format", "json", "{TASK}", "-f", "{WORK}/dot.png"},
		env:   []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"},
		read:  step{"read", `{"filePath":"{WORK}/%s"}`}, edit: step{"edit", `{"filePath":"{WORK}/calc.py","oldString":"a - b","newString":"a + b"}`}, shell: step{"bash", `{"command":"%s","description":"runs it"}`},
		sub:      []step{{"task", `{"description":"look","prompt":"` + sub + `","subagent_type":"general"}`}},
		mcpFiles: map[string]string{".config/opencode/opencode.json": `{"mcp":{"probe":{"type":"local","command":["python3","{PROBE}"]}}}`},
	},
	pi(),
	{
		name: "gemini-cli", format: "gemini", program: "gemini", model: "gemini-2.5-pro",
		args: []string{"--yolo", "-o", "json", "-p", "{TASK}"}, resume: []string{"--yolo", "-o", "json", "-r", "latest", "-p", "{AGAIN}"},
		env:  []string{"GEMINI_CLI_TRUST_WORKSPACE=true"},
		read: step{"read_file", `{"file_path":"%s"}`}, edit: step{"replace", `{"file_path":"calc.py","instruction":"add, do not subtract","old_string":"a - b","new_string":"a + b"}`}, shell: step{"run_shell_command", `{"command":"%s"}`},
		sub:      []step{{"generalist", `{"request":"` + sub + `"}`}},
		mcpFiles: map[string]string{".gemini/settings.json": mcpServers},
		cannot:   map[string]string{"sub-agent": "open: the sub-agent is not asked"},
	},
	{
		name: "qwen-code", format: "chat", program: "qwen", model: "sim-model",
		args: []string{"--yolo", "-p", "{TASK}"}, resume: []string{"--yolo", "-c", "-p", "{AGAIN}"},
		read: step{"read_file", `{"file_path":"{WORK}/%s"}`}, edit: step{"edit", `{"file_path":"{WORK}/calc.py","old_string":"a - b","new_string":"a + b"}`}, shell: step{"run_shell_command", `{"command":"%s","is_background":false}`},
		sub:      []step{{"agent", `{"description":"look","prompt":"` + sub + `","subagent_type":"general-purpose"}`}},
		mcpFiles: map[string]string{".qwen/settings.json": mcpServers},
		cannot:   map[string]string{"image": "open: the image does not reach the model", "mcp": "open: the tool is offered by a search only, which is not tried"},
	},
	{
		name: "continue", format: "chat", program: "cn", model: "sim-model",
		args: []string{"-p", "--auto", "{TASK}"}, resume: []string{"-p", "--auto", "--resume", "{AGAIN}"},
		read: step{"Read", `{"filepath":"{WORK}/%s"}`}, edit: step{"Edit", `{"file_path":"{WORK}/calc.py","old_string":"a - b","new_string":"a + b"}`}, shell: step{"Bash", `{"command":"%s"}`},
		mcpFiles: map[string]string{".continue/config.yaml": "name: mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: probe\n    command: python3\n    args: [\"{PROBE}\"]\n"},
		lacks:    map[string]string{"sub-agent": "it has no sub-agents", "image": "it reads no images from the command line"},
	},
	{
		name: "cline", format: "chat", program: "cline", model: "sim-model",
		args: []string{"{TASK}"},
		read: step{"read_files", `{"files":[{"path":"{WORK}/%s"}]}`}, edit: step{"editor", `{"path":"{WORK}/calc.py","old_text":"a - b","new_text":"a + b"}`}, shell: step{"run_commands", `{"commands":["%s"]}`},
		lacks: map[string]string{"resume": "its session id is not printed", "image": "it reads no images without a terminal", "sub-agent": "not tried", "mcp": "not tried"},
	},
	{
		name: "goose", format: "chat", program: "goose", model: "sim-model",
		args: []string{"run", "-n", "conformance", "--with-builtin", "developer", "-t", "{TASK}"}, resume: []string{"run", "-n", "conformance", "-r", "--with-builtin", "developer", "-t", "{AGAIN}"},
		env:  []string{"GOOSE_MODE=auto"},
		read: step{"shell", `{"command":"cat %s"}`}, edit: step{"edit", `{"path":"{WORK}/calc.py","before":"a - b","after":"a + b"}`}, shell: step{"shell", `{"command":"%s"}`},
		sub:     []step{{"delegate", `{"instructions":"` + sub + `"}`}},
		mcpArgs: []string{"--with-extension", "python3 {PROBE}"},
		lacks:   map[string]string{"image": "it takes no images on the command line"},
		cannot:  map[string]string{"mcp": "open: it does not start the server of the suite"},
	},
	{
		name: "copilot", format: "chat", program: "copilot", model: "sim-model",
		args: []string{"-p", "{TASK}", "--allow-all-tools", "--allow-all-paths"}, resume: []string{"--continue", "-p", "{AGAIN}", "--allow-all-tools", "--allow-all-paths"},
		read: step{"view", `{"path":"{WORK}/%s"}`}, edit: step{"edit", `{"path":"{WORK}/calc.py","old_str":"a - b","new_str":"a + b"}`}, shell: step{"bash", `{"command":"%s","description":"runs it"}`},
		sub:     []step{{"task", `{"name":"look","description":"look","prompt":"` + sub + `","agent_type":"general-purpose","mode":"sync"}`}},
		mcpArgs: []string{"--additional-mcp-config", `{"mcpServers":{"probe":{"type":"local","command":"python3","args":["{PROBE}"],"tools":["*"]}}}`},
		cannot:  map[string]string{"image": "open: the image does not reach the model"},
	},
	{
		name: "mini-swe-agent", format: "chat", program: "mini", model: "sim-model",
		args: []string{"-y", "--exit-immediately", "-t", "{TASK}", "-o", "{HOME}/out.json"},
		read: step{"bash", `{"command":"cat %s"}`}, edit: step{"bash", `{"command":"sed -i 's/a - b/a + b/' calc.py"}`}, shell: step{"bash", `{"command":"%s"}`},
		end:   step{"bash", `{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}`},
		lacks: map[string]string{"resume": "it does not continue a conversation", "image": "it has no images", "mcp": "it has no MCP", "sub-agent": "it has no sub-agents"},
	},
	{
		name: "llm", format: "chat", program: "llm", model: "gw",
		files: map[string]string{"tools.py": functions},
		args:  []string{"--cl", "20", "--functions", "{HOME}/tools.py", "{TASK}"}, resume: []string{"-c", "{AGAIN}"},
		read: step{"read_file", `{"path":"%s"}`}, edit: step{"write_file", `{"path":"calc.py","text":"def add(a, b):\n    return a + b\n"}`}, shell: step{"run", `{"command":"%s"}`},
		image: []string{"-a", "{WORK}/dot.png", "{TASK}"},
		lacks: map[string]string{"mcp": "it has no MCP", "sub-agent": "it has no sub-agents"},
	},
	aider(),
}

// aider edits by text.
func aider() agent {
	const none = "it has no tools"
	return agent{
		name: "aider", format: "chat", program: "aider", model: "sim-model",
		args:  []string{"--message", "{TASK}", "--yes-always", "--no-git", "--no-check-update", "--no-show-model-warnings", "--analytics-disable", "--edit-format", "whole", "calc.py"},
		says:  "Mended.\n\ncalc.py\n```\ndef add(a, b):\n    return a + b\n```\n",
		lacks: map[string]string{"read": none, "four reads": none, "shell": none, "failing tool": none, "10 rounds": none, "mcp": none, "sub-agent": none, "resume": "it restores no conversation without a terminal", "image": "it takes images of known models only", "interruption": "its one request has no second answer"},
	}
}

// functions are the tools that llm is given.
const functions = `import subprocess

def read_file(path: str) -> str:
    "Return the text of a file"
    return open(path).read()

def write_file(path: str, text: str) -> str:
    "Replace the text of a file"
    return str(open(path, "w").write(text))

def run(command: str) -> str:
    "Run a shell command and return what it prints"
    return subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
`
