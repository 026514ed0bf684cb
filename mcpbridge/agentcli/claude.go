package agentcli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/bridge"
)

// invokeClaude has Claude Code answer once, only with the tools of the bridge: without its built-in
// tools, without settings of user or project, and without other servers.
func invokeClaude(q *invocation) (*invited, error) {
	servers := make(map[string]any)
	if q.address != nil {
		servers[bridgeName(q.bridge)] = map[string]any{"type": "http", "url": q.address.URL, "headers": map[string]string{"Authorization": "Bearer " + q.address.Key}}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return nil, err
	}
	in := &invited{files: map[string][]byte{"mcp.json": config}}
	in.args = []string{
		"-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--mcp-config", filepath.Join(q.folder, "mcp.json"), "--strict-mcp-config",
		"--tools", "", "--setting-sources", "", "--permission-mode", "dontAsk", "--disable-slash-commands", "--no-session-persistence",
	}
	if names := q.bridge.Allowed(); len(names) > 0 {
		in.args = append(in.args, "--allowedTools", strings.Join(names, ","))
	}
	if q.system != "" {
		in.files["system.txt"] = []byte(q.system)
		in.args = append(in.args, "--system-prompt-file", filepath.Join(q.folder, "system.txt"))
	}
	if q.model != "" {
		in.args = append(in.args, "--model", q.model)
	}
	if q.turns > 0 {
		in.args = append(in.args, "--max-turns", strconv.Itoa(q.turns))
	}
	return in, nil
}

func bridgeName(b *bridge.Bridge) string { return cmp.Or(b.Name, bridge.DefaultName) }

// claudeLine is a line of stream-json.
type claudeLine struct {
	Type    string          `json:"type"`
	Subtype string          `json:"subtype"`
	Parent  *string         `json:"parent_tool_use_id"`
	Session string          `json:"session_id"`
	Event   json.RawMessage `json:"event"`
	Message json.RawMessage `json:"message"`

	// of system init
	Model   string   `json:"model"`
	Tools   []string `json:"tools"`
	Servers []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`

	// of the result
	IsError    bool            `json:"is_error"`
	Result     json.RawMessage `json:"result"`
	Errors     []string        `json:"errors"`
	Structured json.RawMessage `json:"structured_output"`
	Stop       string          `json:"stop_reason"`
	Usage      claudeUsage     `json:"usage"`
}

type claudeUsage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) usage() llm.Usage {
	return llm.Usage{Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// claudeBlock is a piece of a message.
type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	// of a result
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// claudeMessage is a message of the conversation. Its content may be a text.
type claudeMessage struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content"`

	blocks []claudeBlock // of Content
}

// claudeStream is an event of the message that is being written.
type claudeStream struct {
	Type    string        `json:"type"`
	Index   int           `json:"index"`
	Message claudeMessage `json:"message"`
	Block   claudeBlock   `json:"content_block"`
	Delta   struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
		JSON     string `json:"partial_json"`
	} `json:"delta"`
}

// maxBlocks bounds the pieces of a message that are open at once, and the calls of an
// answer.
const (
	maxBlocks = 64
	maxCalls  = 10_000
)

// claudeDecoder reads stream-json. Text comes in pieces from stream events; the whole
// messages that follow count only for what did not come in pieces.
type claudeDecoder struct {
	pieces map[string]bool // messages that come in pieces, by id
	open   map[int]*openCall
	order  []int           // of open
	made   map[string]bool // ids of calls
}

// openCall is a call that is being written.
type openCall struct {
	id, name string
	args     strings.Builder
	whole    json.RawMessage // its input, if a whole message has it
}

func newClaudeDecoder(*bridge.Bridge) decoder {
	return &claudeDecoder{pieces: make(map[string]bool), open: make(map[int]*openCall), made: make(map[string]bool)}
}

func (d *claudeDecoder) line(text []byte) ([]llm.Event, error) {
	var l claudeLine
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	if l.Parent != nil && *l.Parent != "" { // of an agent inside the program, which has none
		return []llm.Event{outsider{"it had another agent work"}}, nil
	}
	switch l.Type {
	case "system":
		if l.Subtype == "init" {
			return []llm.Event{llm.Start{ID: l.Session, Model: l.Model}, l.inventory()}, nil
		}
	case "stream_event":
		return d.stream(l.Event)
	case "assistant":
		return d.whole(l.Message)
	case "user":
		return d.results(l.Message)
	case "result":
		return append(d.cut(), l.ending()), nil
	}
	return nil, nil
}

func (l *claudeLine) inventory() inventory {
	inv := inventory{Tools: append([]string{}, l.Tools...), Servers: make(map[string]string)}
	for _, s := range l.Servers {
		inv.Servers[s.Name] = s.Status
	}
	return inv
}

func (l *claudeLine) ending() ending {
	e := ending{Failed: l.IsError || l.Subtype != "success", Subtype: l.Subtype, Stop: l.Stop, Usage: l.Usage.usage()}
	if string(l.Structured) != "null" {
		e.Structured = l.Structured
	}
	if err := json.Unmarshal(l.Result, &e.Text); err != nil || e.Text == "" {
		e.Text = strings.Join(l.Errors, "; ")
	}
	return e
}

// stream reads a piece of a message.
func (d *claudeDecoder) stream(text []byte) ([]llm.Event, error) {
	var s claudeStream
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	switch s.Type {
	case "message_start":
		if len(d.pieces) < maxCalls {
			d.pieces[s.Message.ID] = true
		}
		return d.cut(), nil // the calls of a message that never ended
	case "content_block_start":
		return d.begin(s.Index, s.Block)
	case "content_block_delta":
		switch s.Delta.Type {
		case "text_delta":
			return []llm.Event{llm.TextDelta{Text: s.Delta.Text}}, nil
		case "thinking_delta":
			return []llm.Event{llm.ThinkingDelta{Text: s.Delta.Thinking}}, nil
		case "input_json_delta":
			if c := d.open[s.Index]; c != nil {
				c.args.WriteString(s.Delta.JSON)
			}
		}
	case "content_block_stop":
		if c := d.open[s.Index]; c != nil {
			return d.close(s.Index), nil
		}
		return []llm.Event{llm.PartEnd{}}, nil
	}
	return nil, nil
}

func (d *claudeDecoder) begin(index int, b claudeBlock) ([]llm.Event, error) {
	switch {
	case !isCall(b.Type):
		return nonEmpty(b), nil
	case len(d.open) >= maxBlocks || len(d.made) >= maxCalls:
		return nil, fmt.Errorf("it makes more than %d calls at once, or %d in all", maxBlocks, maxCalls)
	case d.made[b.ID]:
		return nil, nil // the same again
	}
	events := d.close(index)
	d.made[b.ID] = true
	c := &openCall{id: b.ID, name: b.Name}
	if in := strings.TrimSpace(string(b.Input)); in != "" && in != "{}" && in != "null" {
		c.whole = b.Input
	}
	d.open[index] = c
	d.order = append(d.order, index)
	return append(events, llm.CallStart{ID: b.ID, Name: b.Name}), nil
}

// nonEmpty are the events of a piece that is complete.
func nonEmpty(b claudeBlock) []llm.Event {
	switch {
	case b.Type == "text" && b.Text != "":
		return []llm.Event{llm.TextDelta{Text: b.Text}}
	case b.Type == "thinking" && b.Thinking != "":
		return []llm.Event{llm.ThinkingDelta{Text: b.Thinking}}
	}
	return nil
}

// isCall reports whether a piece is a call, of any runner.
func isCall(kind string) bool {
	return kind == "tool_use" || kind == "mcp_tool_use" || kind == "server_tool_use"
}

// close ends a call that was being written.
func (d *claudeDecoder) close(index int) []llm.Event {
	c := d.open[index]
	if c == nil {
		return nil
	}
	delete(d.open, index)
	for i, n := range d.order {
		if n == index {
			d.order = append(d.order[:i], d.order[i+1:]...)
			break
		}
	}
	args := strings.TrimSpace(c.args.String())
	if !json.Valid([]byte(args)) && c.whole != nil {
		args = string(c.whole)
	}
	return finished(c.id, c.name, args)
}

// finished returns the events of a call whose arguments are complete.
func finished(id, name, args string) []llm.Event {
	if args == "" || args == "null" {
		args = "{}"
	}
	if !json.Valid([]byte(args)) {
		return []llm.Event{llm.InvalidCall{ID: id, Name: name, Raw: args, Reason: llm.CutOff, Problem: "the call was cut off before its arguments were complete"}}
	}
	return []llm.Event{llm.CallDelta{ID: id, Args: args}, llm.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
}

// cut ends the calls that are open: those whose arguments are complete count.
func (d *claudeDecoder) cut() []llm.Event {
	var events []llm.Event
	for len(d.order) > 0 {
		events = append(events, d.close(d.order[0])...)
	}
	return events
}

// readMessage reads a message whose content is a text, or pieces.
func readMessage(text []byte) (m claudeMessage, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	switch {
	case len(m.Content) == 0:
	case m.Content[0] == '"':
		block := claudeBlock{Type: "text"}
		err = json.Unmarshal(m.Content, &block.Text)
		m.blocks = []claudeBlock{block}
	default:
		err = json.Unmarshal(m.Content, &m.blocks)
	}
	return m, err
}

// whole reads a message of the model that is complete.
func (d *claudeDecoder) whole(text []byte) ([]llm.Event, error) {
	m, err := readMessage(text)
	if err != nil {
		return nil, err
	}
	var events []llm.Event
	for _, b := range m.blocks {
		switch {
		case isCall(b.Type) && d.made[b.ID]:
			d.complete(b)
		case isCall(b.Type):
			if len(d.made) >= maxCalls {
				return nil, fmt.Errorf("it makes more than %d calls", maxCalls)
			}
			d.made[b.ID] = true
			events = append(events, llm.CallStart{ID: b.ID, Name: b.Name})
			events = append(events, finished(b.ID, b.Name, strings.TrimSpace(string(b.Input)))...)
		case !d.pieces[m.ID]:
			if said := nonEmpty(b); said != nil {
				events = append(append(events, said...), llm.PartEnd{})
			}
		}
	}
	return events, nil
}

// complete keeps the input of a call whose pieces may be cut off.
func (d *claudeDecoder) complete(b claudeBlock) {
	for _, c := range d.open {
		if c.id == b.ID {
			c.whole = b.Input
		}
	}
}

// results reads the results of calls.
func (d *claudeDecoder) results(text []byte) ([]llm.Event, error) {
	m, err := readMessage(text)
	if err != nil {
		return nil, err
	}
	var events []llm.Event
	for _, b := range m.blocks {
		if b.Type != "tool_result" && b.Type != "mcp_tool_result" {
			continue
		}
		events = append(events, llm.HostedResult{Result: llm.Result{CallID: b.ToolUseID, Parts: contents(b.Content), Failed: b.IsError, Hosted: true}})
	}
	return events, nil
}

// contents are the parts of a result whose content is a text, or pieces. Other content
// is named.
func contents(raw json.RawMessage) []llm.Part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []llm.Part{llm.Text{Text: text}}
	}
	var pieces []struct{ Type, Text string }
	if json.Unmarshal(raw, &pieces) != nil {
		return []llm.Part{llm.Text{Text: "[a result that cannot be read]"}}
	}
	var parts []llm.Part
	for _, p := range pieces {
		if p.Type != "text" {
			p.Text = fmt.Sprintf("[a part of the type %.40q]", p.Type)
		}
		parts = append(parts, llm.Text{Text: p.Text})
	}
	return parts
}
