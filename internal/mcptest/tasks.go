package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Tasks is a server whose tools run as tasks, except plain. It writes what happens to a file, a line each.
type Tasks struct {
	File   string
	Newest bool // revision 2026-07-28, with the extension for tasks; else 2025-11-25

	mu      sync.Mutex
	polls   map[string]int
	results map[string]string // ids of requests for results that wait for an answer of the client, by the ids of questions
}

// taskTools are the tools of a [Tasks]. The tool of a task is its id.
var taskTools = []string{"order", "slow", "fails", "refused", "forgets", "cancels", "odd", "asks"}

// tasks serves a [Tasks] by standard input and output.
func tasks(file string) {
	file, newest := strings.CutPrefix(file, "newest ")
	s := &Tasks{File: file, Newest: newest}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		for _, line := range s.Answer(in.Bytes()) {
			fmt.Println(line)
		}
	}
}

func (s *Tasks) note(line string) {
	f, err := os.OpenFile(s.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintln(f, line)
		_ = f.Close()
	}
}

// Answer returns the messages after a message of the client.
func (s *Tasks) Answer(message []byte) []string {
	var m struct {
		ID     json.RawMessage
		Method string
		Result json.RawMessage
		Params struct {
			Name, TaskID string
			Task         *struct{ TTL int64 }
			Meta         struct {
				Can struct{ Extensions map[string]any } `json:"io.modelcontextprotocol/clientCapabilities"`
			} `json:"_meta"`
			InputResponses json.RawMessage
		}
	}
	_ = json.Unmarshal(message, &m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.polls == nil {
		s.polls, s.results = make(map[string]int), make(map[string]string)
	}
	answer := func(text string) []string {
		return []string{`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + text + `}`}
	}
	failed := func(code int, text string) []string {
		return answer(fmt.Sprintf(`"error":{"code":%d,"message":%q}`, code, text))
	}
	if s.Newest && len(m.ID) > 0 {
		_, can := m.Params.Meta.Can.Extensions["io.modelcontextprotocol/tasks"]
		text, code, problem := s.newest(m.Method, m.Params.Name, m.Params.TaskID, can, m.Params.InputResponses)
		if problem != "" {
			return failed(code, problem)
		}
		if !strings.HasPrefix(text, `"resultType"`) {
			text = `"resultType":"complete",` + text
		}
		return answer(`"result":{` + text + `}`)
	}
	switch {
	case len(m.ID) == 0:
		return nil
	case m.Method == "": // the answer to a question
		result := `"result":{"content":[{"type":"text","text":"answered"}]}`
		return []string{`{"jsonrpc":"2.0","id":` + s.results[string(m.ID)] + `,` + result + `}`}
	case m.Method == "initialize":
		return answer(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"tasks","version":"1"}}`)
	case m.Method == "ping":
		return answer(`"result":{}`)
	case m.Method == "tools/list":
		tools := []string{`{"name":"plain","inputSchema":{"type":"object"}}`}
		for _, name := range taskTools {
			tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`)
		}
		return answer(`"result":{"tools":[` + strings.Join(tools, ",") + `]}`)
	case m.Method == "tools/call" && m.Params.Name == "plain":
		return answer(`"result":{"content":[{"type":"text","text":"plain"}]}`)
	case m.Method == "tools/call" && m.Params.Task == nil:
		return failed(-32601, "this tool runs only as a task")
	case m.Method == "tools/call":
		s.note("began " + m.Params.Name)
		return answer(`"result":{"task":` + taskOf(m.Params.Name, "working") + `}`)
	case m.Method == "tasks/get" && m.Params.TaskID == "forgets":
		return failed(-32602, "unknown task")
	case m.Method == "tasks/get":
		s.polls[m.Params.TaskID]++
		return answer(`"result":` + taskOf(m.Params.TaskID, s.status(m.Params.TaskID)))
	case m.Method == "tasks/cancel":
		s.note("cancelled " + m.Params.TaskID)
		return answer(`"result":` + taskOf(m.Params.TaskID, "cancelled"))
	case m.Method == "tasks/result" && m.Params.TaskID == "asks":
		question := `"question"`
		s.results[question] = string(m.ID)
		return []string{`{"jsonrpc":"2.0","id":` + question + `,"method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}}`}
	case m.Method == "tasks/result" && m.Params.TaskID == "refused":
		return failed(-32603, "out of paper")
	case m.Method == "tasks/result" && m.Params.TaskID == "fails":
		return answer(`"result":{"isError":true,"content":[{"type":"text","text":"no stock"}]}`)
	case m.Method == "tasks/result":
		return answer(`"result":{"content":[{"type":"text","text":"placed"}],"structuredContent":{"order":1234567890123456789}}`)
	}
	return failed(-32601, "no such method")
}

// newest is the answer of revision 2026-07-28, without its type.
func (s *Tasks) newest(method, tool, id string, can bool, responses json.RawMessage) (result string, code int, problem string) {
	switch {
	case method == "server/discover":
		return `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"serverInfo":{"name":"tasks","version":"1"},"ttlMs":0,"cacheScope":"public"`, 0, ""
	case method == "tools/list":
		tools := []string{`{"name":"plain","inputSchema":{"type":"object"}}`}
		for _, name := range taskTools {
			tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
		}
		return `"tools":[` + strings.Join(tools, ",") + `],"ttlMs":0,"cacheScope":"public"`, 0, ""
	case method == "tools/call" && tool == "plain":
		return `"content":[{"type":"text","text":"plain"}]`, 0, ""
	case method == "tools/call" && !can:
		return "", -32021, "the client does not know tasks"
	case method == "tools/call":
		s.note("began " + tool)
		return `"resultType":"task",` + newestTask(tool, "working"), 0, ""
	case method == "tasks/update":
		s.note("answered " + id + " " + string(responses))
		s.results[id] = "answered"
		return `"_meta":{}`, 0, ""
	case method == "tasks/cancel":
		s.note("cancelled " + id)
		return `"_meta":{}`, 0, ""
	case method == "tasks/get" && id == "forgets":
		return "", -32602, "unknown task"
	case method != "tasks/get":
		return "", -32601, "no such method"
	}
	s.polls[id]++
	status := s.status(id)
	state := `,"result":{"resultType":"complete","content":[{"type":"text","text":"placed"}],"structuredContent":{"order":1234567890123456789}}`
	switch {
	case status == "working":
		state = ""
	case id == "fails":
		status, state = "completed", `,"result":{"isError":true,"content":[{"type":"text","text":"no stock"}]}`
	case id == "refused":
		state = `,"error":{"code":-32603,"message":"out of paper"}`
	case id == "asks" && s.results[id] != "":
		status, state = "completed", `,"result":{"content":[{"type":"text","text":"answered"}]}`
	case id == "asks":
		state = `,"inputRequests":{"sure":{"method":"elicitation/create","params":{"mode":"form","message":"sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}}}`
	}
	return newestTask(id, status) + state, 0, ""
}

func newestTask(id, status string) string {
	return fmt.Sprintf(`"taskId":%q,"status":%q,"statusMessage":"step of %s","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":50`, id, status, id)
}

func taskOf(id, status string) string {
	return fmt.Sprintf(`{"taskId":%q,"status":%q,"statusMessage":"step of %s","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000,"pollInterval":50}`, id, status, id)
}

// status is the status of a task: the first poll finds each at work.
func (s *Tasks) status(id string) string {
	if s.polls[id] == 1 || id == "slow" {
		return "working"
	}
	switch id {
	case "fails", "refused":
		return "failed"
	case "cancels":
		return "cancelled"
	case "odd":
		return "asleep"
	case "asks":
		return "input_required"
	}
	return "completed"
}
