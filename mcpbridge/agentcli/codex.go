package agentcli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/bridge"
)

// codexOff are what Codex can do besides calling tools of servers. All of it is switched
// off: shell, patches, pictures, the web, other agents, plugins and hooks.
var codexOff = []string{
	"apps", "browser_use", "browser_use_external", "code_mode", "computer_use", "goals", "hooks", "image_generation", "in_app_browser", "memories", "multi_agent",
	"plugins", "shell_snapshot", "shell_tool", "skill_mcp_dependency_install", "skill_search", "sleep_tool", "tool_suggest", "unified_exec", "view_image",
}

// invokeCodex has Codex answer once. Its servers are listed in its configuration file, and it has no
// strict mode. It therefore gets a separate home, whose file has our server and no other.
func invokeCodex(q *invocation) (*invited, error) {
	if hasServers(q.settings) {
		return nil, fmt.Errorf("its settings have mcp_servers; the tools of a question are those of the bridge")
	}
	var b strings.Builder
	// The first line closes whatever table the settings end with.
	fmt.Fprintf(&b, "%s\n", q.settings)
	if q.address != nil {
		names := make([]string, 0)
		for _, n := range q.bridge.Allowed() {
			name, _ := q.bridge.Original(n)
			names = append(names, tomlString(name))
		}
		fmt.Fprintf(&b, "\n[mcp_servers.%s]\nurl = %s\nhttp_headers = { Authorization = %s }\nenabled_tools = [%s]\ndefault_tools_approval_mode = \"approve\"\nrequired = true\ntool_timeout_sec = 86400\n",
			bridgeName(q.bridge), tomlString(q.address.URL), tomlString("Bearer "+q.address.Key), strings.Join(names, ", "))
		if q.turns == 1 { // otherwise it makes, and reports, a call only when the one before has its result
			b.WriteString("supports_parallel_tool_calls = true\n")
		}
	}
	in := &invited{files: map[string][]byte{"config.toml": []byte(b.String())}, env: map[string]string{"CODEX_HOME": q.folder}}
	in.args = []string{"exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-rules", "--sandbox", "read-only",
		"-c", `approval_policy="never"`, "-c", `web_search="disabled"`, "-c", "project_doc_max_bytes=0"}
	for _, feature := range codexOff {
		in.args = append(in.args, "--disable", feature)
	}
	if q.system != "" {
		in.files["system.txt"] = []byte(q.system)
		in.args = append(in.args, "-c", "model_instructions_file="+tomlString(q.folder+"/system.txt"))
	}
	if q.model != "" {
		in.args = append(in.args, "--model", q.model)
	}
	in.args = append(in.args, "-")
	return in, nil
}

// tomlEscape is a letter of a TOML string that is written by its number.
var tomlEscape = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}`)

// hasServers reports whether settings name MCP servers, also if a quoted key writes the
// name with escapes.
func hasServers(settings []byte) bool {
	plain := tomlEscape.ReplaceAllFunc(settings, func(m []byte) []byte {
		n, err := strconv.ParseUint(string(m[2:]), 16, 32)
		if err != nil {
			return m
		}
		return []byte(string(rune(n)))
	})
	return bytes.Contains(plain, []byte("mcp_servers"))
}

// tomlString writes a basic string of TOML.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// codexLine is an event of codex exec --json.
type codexLine struct {
	Type    string          `json:"type"`
	Thread  string          `json:"thread_id"`
	Message string          `json:"message"`
	Item    *codexItem      `json:"item"`
	Usage   codexUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type codexUsage struct {
	Input      int `json:"input_tokens"`
	CacheRead  int `json:"cached_input_tokens"`
	CacheWrite int `json:"cache_write_input_tokens"`
	Output     int `json:"output_tokens"`
	Reasoning  int `json:"reasoning_output_tokens"`
}

// codexItem is something that the agent said or did.
type codexItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Message   string          `json:"message"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Status    string          `json:"status"`
	Result    *struct {
		Content json.RawMessage `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// codexDecoder reads the events of codex exec --json. Nothing comes in pieces.
type codexDecoder struct {
	bridge *bridge.Bridge
	thread string
	made   map[string]bool
}

func newCodexDecoder(b *bridge.Bridge) decoder {
	return &codexDecoder{bridge: b, made: make(map[string]bool)}
}

func (d *codexDecoder) cut() []llm.Event { return nil }

func (d *codexDecoder) line(text []byte) ([]llm.Event, error) {
	var l codexLine
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	switch l.Type {
	case "thread.started":
		d.thread = l.Thread
		return []llm.Event{llm.Start{ID: l.Thread}}, nil
	case "item.started", "item.updated", "item.completed":
		if l.Item == nil {
			return nil, fmt.Errorf("%s has no item", l.Type)
		}
		return d.item(l.Item, l.Type == "item.completed")
	case "turn.completed":
		u := llm.Usage{Input: l.Usage.Input, Output: l.Usage.Output, CacheRead: l.Usage.CacheRead, CacheWrite: l.Usage.CacheWrite, Reasoning: l.Usage.Reasoning}
		return []llm.Event{ending{Subtype: "success", Usage: u}}, nil
	case "turn.failed":
		return []llm.Event{ending{Failed: true, Subtype: l.Type, Text: messageOf(l.Error)}}, nil
	case "error":
		return []llm.Event{llm.Warning{Code: llm.Compatibility, Feature: "agent program", Detail: l.Message}}, nil
	}
	return nil, nil
}

func messageOf(raw json.RawMessage) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Message == "" {
		return string(raw)
	}
	return e.Message
}

// item reads a text or an action of the agent. Actions other than calls of the bridge's server are
// not allowed.
func (d *codexDecoder) item(i *codexItem, done bool) ([]llm.Event, error) {
	switch i.Type {
	case "mcp_tool_call":
		return d.call(i, done)
	case "todo_list", "plan":
		return nil, nil
	}
	var ev llm.Event
	switch i.Type {
	case "agent_message":
		ev = llm.TextDelta{Text: i.Text}
	case "reasoning":
		ev = llm.ThinkingDelta{Text: i.Text}
	case "error":
		if done {
			return []llm.Event{llm.Warning{Code: llm.Compatibility, Feature: "agent program", Detail: i.Message}}, nil
		}
		return nil, nil
	default:
		return []llm.Event{outsider{fmt.Sprintf("it used %.60q", i.Type)}}, nil
	}
	if !done {
		return nil, nil
	}
	return []llm.Event{ev, llm.PartEnd{}}, nil
}

// call reads a call. Ids count from 0 in each answer, so they are made unique by the end
// of that of the thread.
func (d *codexDecoder) call(i *codexItem, done bool) ([]llm.Event, error) {
	if i.Server != bridgeName(d.bridge) {
		return []llm.Event{outsider{fmt.Sprintf("it called %.60q of the server %.60q", i.Tool, i.Server)}}, nil
	}
	id := "codex_" + d.thread[max(0, len(d.thread)-8):] + "_" + i.ID
	var events []llm.Event
	if !d.made[id] {
		if len(d.made) >= maxCalls {
			return nil, fmt.Errorf("it makes more than %d calls", maxCalls)
		}
		d.made[id] = true
		name := d.bridge.WireName(i.Tool)
		events = append(events, llm.CallStart{ID: id, Name: name})
		events = append(events, finished(id, name, strings.TrimSpace(string(i.Arguments)))...)
	}
	if !done {
		return events, nil
	}
	r := llm.Result{CallID: id, Failed: i.Status != "completed", Hosted: true}
	switch {
	case i.Error != nil:
		r.Parts = []llm.Part{llm.Text{Text: i.Error.Message}}
	case i.Result != nil:
		r.Parts = contents(i.Result.Content)
	}
	return append(events, llm.HostedResult{Result: r}), nil
}
