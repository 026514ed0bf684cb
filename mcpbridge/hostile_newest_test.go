package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

// The attacks of this file use what revision 2026-07-28 added: discovery, questions in results, tasks, subscriptions,
// headers and requests without sessions. They were written from docs/mcp.md and the specification, and not from the code.

// discoveredWith is the answer to server/discover.
func discoveredWith(rest string) string {
	return result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"serverInfo":{"name":"raw","version":"1"},"ttlMs":0,"cacheScope":"public",` + rest + `}`)
}

func asksInResult(requests string) string {
	return result(`{"resultType":"input_required","inputRequests":` + requests + `,"requestState":"s"}`)
}

const (
	newestTool  = `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"f","inputSchema":{"type":"object"}}]}}`
	elicitation = `{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}`
)

// working is a task that has begun.
func working(id string) string {
	return result(`{"resultType":"task","taskId":` + id + `,"status":"working","pollIntervalMs":1}`)
}

// became is a task with a state.
func became(state string) answers {
	return answers{"tools/call": working(`"t"`), "tasks/get": result(`{"resultType":"complete","taskId":"t",` + state + `}`), "tasks/cancel": result(`{}`), "tasks/update": result(`{}`)}
}

var hostileNewest = map[string]struct {
	answers answers
	want    string
	calls   int32 // at most; 0 means 1
}{
	"no supported revision":             {answers{"server/discover": result(`{"supportedVersions":[],"capabilities":{}}`)}, "is not there", 0},
	"revisions that are null":           {answers{"server/discover": result(`{"supportedVersions":null,"capabilities":null}`)}, "is not there", 0},
	"a revision of the future":          {answers{"server/discover": result(`{"supportedVersions":["2099-01-01"],"capabilities":{"tools":{}}}`)}, "is not there", 0},
	"a discovery that is a list":        {answers{"server/discover": result(`[]`)}, "is not there", 0},
	"a discovery that is null":          {answers{"server/discover": result(`null`)}, "is not there", 0},
	"extensions that are a list":        {answers{"server/discover": discoveredWith(`"capabilities":{"tools":{},"extensions":["io.modelcontextprotocol/tasks"]}`)}, "is not there", 0},
	"a discovery with terminal orders":  {answers{"server/discover": discoveredWith(`"instructions":"\u001b[2J","capabilities":{"tools":{}}`), "tools/call": result(`{"content":[]}`)}, "", 0},
	"a list that is kept for ever":      {answers{"tools/list": strings.Replace(newestTool, `"ttlMs":0`, `"ttlMs":9007199254740993`, 1), "tools/call": fine}, "", 0},
	"a list that is kept backwards":     {answers{"tools/list": strings.Replace(newestTool, `"ttlMs":0`, `"ttlMs":-1`, 1), "tools/call": fine}, "fine", 0},
	"a list that asks":                  {answers{"tools/list": asksInResult(`{"a":` + elicitation + `}`)}, "", 0},
	"a question that is null":           {answers{"tools/call": asksInResult(`{"a":null}`)}, "MCP server bad", 0},
	"questions that are null":           {answers{"tools/call": asksInResult(`null`)}, "", 3},
	"no questions":                      {answers{"tools/call": asksInResult(`{}`)}, "", 3},
	"questions that are a list":         {answers{"tools/call": asksInResult(`[1]`)}, "MCP server bad", 0},
	"a question without parameters":     {answers{"tools/call": asksInResult(`{"a":{"method":"elicitation/create"}}`)}, "MCP server bad", 0},
	"a question of an unknown method":   {answers{"tools/call": asksInResult(`{"a":{"method":"client/exec","params":{}}}`)}, "MCP server bad", 0},
	"a question without end":            {answers{"tools/call": asksInResult(`{"a":` + elicitation + `}`)}, "", 10},
	"1,000 questions":                   {answers{"tools/call": asksInResult(`{` + manyQuestions(1000) + `}`)}, "", 10},
	"a question for the model":          {answers{"tools/call": asksInResult(`{"a":{"method":"sampling/createMessage","params":{"maxTokens":5,"messages":[]}}}`)}, "MCP server bad", 0},
	"a question for roots":              {answers{"tools/call": asksInResult(`{"a":{"method":"roots/list","params":{}}}`)}, "", 10},
	"a state that is an object":         {answers{"tools/call": result(`{"resultType":"input_required","inputRequests":{"a":` + elicitation + `},"requestState":{}}`)}, "MCP server bad", 0},
	"a state of 3 MB":                   {answers{"tools/call": result(`{"resultType":"input_required","inputRequests":{"a":` + elicitation + `},"requestState":"` + strings.Repeat("s", 3<<20) + `"}`)}, "", 10},
	"a result of an unknown type":       {answers{"tools/call": result(`{"resultType":"virus","content":[{"type":"text","text":"x"}]}`)}, "MCP server bad", 0},
	"a type that is a number":           {answers{"tools/call": result(`{"resultType":7,"content":[]}`)}, "MCP server bad", 0},
	"headers that cannot be sent":       {answers{"tools/list": strings.Replace(newestTool, `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A\r\nEvil: 1"}}}`, 1)}, "is left out", 0},
	"a header for the key":              {answers{"tools/list": strings.Replace(newestTool, `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"../Authorization"}}}`, 1)}, "is left out", 0},
	"a task without an id":              {answers{"tools/call": working(`""`)}, "MCP server bad", 0},
	"a task whose id is a number":       {answers{"tools/call": working(`7`)}, "MCP server bad", 0},
	"a task with terminal orders":       {answers{"tools/call": working(`"\u001b[2J\r\nEvil: 1"`), "tasks/get": result(`{"taskId":"t","status":"\u001b]0;owned\u0007"}`), "tasks/cancel": result(`{}`)}, "is not known here", 0},
	"a task that is forgotten":          {answers{"tools/call": working(`"t"`)}, "its state cannot be read", 0},
	"a task that is never ready":        {became(`"status":"working","pollIntervalMs":1`), "did not answer within", 0},
	"a task that is polled in a year":   {became(`"status":"working","pollIntervalMs":31536000000`), "did not answer within", 0},
	"a task that is polled backwards":   {became(`"status":"working","pollIntervalMs":-5`), "did not answer within", 0},
	"a poll that is a word":             {became(`"status":"working","pollIntervalMs":"soon"`), "its state cannot be read", 0},
	"a task without a result":           {became(`"status":"completed"`), "its result cannot be read", 0},
	"a task whose result is null":       {became(`"status":"completed","result":null`), "its result cannot be read", 0},
	"a prompt that asks null":           {answers{"server/discover": discoveredWith(`"capabilities":{"tools":{},"prompts":{}}`), "tools/call": fine, "prompts/get": asksInResult(`{"a":null}`)}, "its answer cannot be read", 0},
	"a resource that asks null":         {answers{"server/discover": discoveredWith(`"capabilities":{"tools":{},"resources":{}}`), "tools/call": fine, "resources/read": asksInResult(`{"a":null}`)}, "its answer cannot be read", 0},
	"a task whose result is a task":     {became(`"status":"completed","result":{"resultType":"task","taskId":"u","status":"working"}`), "answered with a task", 0},
	"a task that failed without reason": {became(`"status":"failed"`), "its result cannot be read", 0},
	"a task that failed with orders":    {became(`"status":"failed","error":{"code":1,"message":"\u001b]0;owned\u0007"}`), "MCP server bad", 0},
	"a task that asks null":             {became(`"status":"input_required","inputRequests":{"a":null}`), "its state cannot be read", 0},
	"a task that asks nothing":          {became(`"status":"input_required","pollIntervalMs":1`), "did not answer within", 0},
	"a task that asks the model":        {became(`"status":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"maxTokens":5,"messages":[]}}}`), "asks the model", 0},
	"a task with 1,000 questions":       {became(`"status":"input_required","inputRequests":{` + manyQuestions(1000) + `}`), "more than 32 questions", 0},
	"a task of the older revision":      {answers{"tools/call": result(`{"task":{"taskId":"t","status":"working"}}`)}, "answered with a task", 0},
	"a task that is another":            {answers{"tools/call": working(`"t"`), "tasks/get": result(`{"taskId":"u","status":"completed","result":{"content":[{"type":"text","text":"of another"}]}}`)}, "", 0},
}

func manyQuestions(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"q%d":%s`, i, elicitation)
	}
	return strings.Join(all, ",")
}

// Hostile servers of the newest revision: nothing hangs or crashes, no order for a terminal gets through, and a tool that
// asks is called again only with an answer.
func TestHostileServersOfTheNewestRevision(t *testing.T) {
	t.Logf("%d attacks", len(hostileNewest))
	for name, c := range hostileNewest {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for method, text := range map[string]string{"server/discover": discoveredWith(`"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`), "tools/list": newestTool} {
				if _, own := c.answers[method]; !own {
					c.answers[method] = text
				}
			}
			url, calls := rawHTTP(t, c.answers)
			s, told := open(t, client.Options{Wait: 20 * time.Second}, config.ServerConfig{Name: "bad", URL: url, Connect: 10 * time.Second, Call: time.Second, Protocol: "2026-07-28"})
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			set, err := s.Tools(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if one, ok := set.Lookup("bad__f"); ok {
				var out tool.Output
				if out, err = one.Run(ctx, json.RawMessage(`{}`)); err != nil {
					got = err.Error()
				} else {
					got = textOf(out)
				}
			}
			if _, has := c.answers["prompts/get"]; has {
				_, err := s.Prompt(ctx, "bad", "p", nil)
				got += fmt.Sprint(err)
			}
			if one, ok := set.Lookup("bad__read_resource"); ok {
				_, err := one.Run(ctx, json.RawMessage(`{"uri":"a://b"}`))
				got += fmt.Sprint(err)
			}
			if all := got + told.String(); !strings.Contains(all, c.want) || strings.ContainsAny(all, "\x1b\x07") {
				t.Errorf("want %q: the model is told %.600q, a person %.600q", c.want, got, told)
			}
			if ctx.Err() != nil || calls.Load() > max(c.calls, 1) {
				t.Errorf("%d calls, %v", calls.Load(), ctx.Err())
			}
		})
	}
}

// newestMeta is what each request of the newest revision has.
const newestMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

const wellMeant = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"CHANGE","arguments":{"text":"x"},` + newestMeta + `}}`

// webAttacks are requests of hostile clients over HTTP.
var webAttacks = map[string]struct {
	body    string
	headers map[string]string
}{
	"nothing":                             {"", nil},
	"a method of HTTP that nobody knows":  {"", map[string]string{"METHOD": "BREW"}},
	"another host":                        {wellMeant, map[string]string{"Host": "evil.example.org"}},
	"another host that looks like ours":   {wellMeant, map[string]string{"Host": "localhost.evil.example.org"}},
	"a page of another origin":            {wellMeant, map[string]string{"Origin": "https://evil.example.org"}},
	"a page without an origin":            {wellMeant, map[string]string{"Origin": "null"}},
	"a page of a file":                    {wellMeant, map[string]string{"Origin": "file://"}},
	"a form of a page":                    {wellMeant, map[string]string{"Content-Type": "text/plain"}},
	"a form with a boundary":              {wellMeant, map[string]string{"Content-Type": "multipart/form-data; boundary=x"}},
	"a compressed body":                   {wellMeant, map[string]string{"Content-Encoding": "gzip"}},
	"another charset":                     {wellMeant, map[string]string{"Content-Type": "application/json; charset=utf-7"}},
	"a method in the header":              {strings.Replace(wellMeant, "tools/call", "ping", 1), map[string]string{"Mcp-Method": "tools/call"}},
	"a harmless method in the header":     {wellMeant, map[string]string{"Mcp-Method": "ping"}},
	"a harmless name in the header":       {wellMeant, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "harmless"}},
	"a coded name in the header":          {wellMeant, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?aGFybWxlc3M=?="}},
	"a coded name that is not code":       {wellMeant, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?!!?="}},
	"an argument in the header":           {wellMeant, map[string]string{"Mcp-Param-Text": "other"}},
	"a revision that nobody knows":        {wellMeant, map[string]string{"Mcp-Protocol-Version": "9999-01-01"}},
	"a revision of before":                {wellMeant, map[string]string{"Mcp-Protocol-Version": "1999-01-01"}},
	"a revision that is a word":           {wellMeant, map[string]string{"Mcp-Protocol-Version": "zzz"}},
	"another revision in the body":        {strings.Replace(wellMeant, "2026-07-28", "2025-06-18", 1), nil},
	"no revision in the body":             {strings.Replace(wellMeant, ","+newestMeta, "", 1), nil},
	"a session that nobody has":           {wellMeant, map[string]string{"Mcp-Session-Id": "1"}},
	"a session of 60 kB":                  {wellMeant, map[string]string{"Mcp-Session-Id": strings.Repeat("s", 60_000)}},
	"an event that nobody had":            {"", map[string]string{"METHOD": "GET", "Last-Event-Id": "1", "Accept": "text/event-stream"}},
	"the end of a session that is none":   {"", map[string]string{"METHOD": "DELETE", "Mcp-Session-Id": "1"}},
	"abilities that are a text":           {strings.Replace(wellMeant, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":"all"`, 1), nil},
	"a client without a name":             {strings.Replace(wellMeant, `{"name":"x","version":"1"}`, `null`, 1), nil},
	"a name of the client with orders":    {strings.Replace(wellMeant, `"name":"x"`, `"name":"\u001b[2J\n"`, 1), nil},
	"an ability to ask that is a lie":     {strings.Replace(wellMeant, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1), nil},
	"an answer to a question of nobody":   {strings.Replace(wellMeant, `"arguments"`, `"inputResponses":{"toolpost-question-1":{"action":"accept","content":{"allow":true}}},"arguments"`, 1), nil},
	"a state with an answer of nobody":    {strings.Replace(wellMeant, `"arguments"`, `"requestState":"toolpost.eyJhbnN3ZXJzIjp7ImEiOnsiYWN0aW9uIjoiYWNjZXB0In19fQ","arguments"`, 1), nil},
	"answers that are null":               {strings.Replace(wellMeant, `"arguments"`, `"inputResponses":{"a":null},"arguments"`, 1), nil},
	"tasks of nobody":                     {`{"jsonrpc":"2.0","id":2,"method":"tasks/update","params":{"taskId":"1","inputResponses":{},` + newestMeta + `}}`, nil},
	"a subscription to everything":        {`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///etc/passwd"]},` + newestMeta + `}}`, nil},
	"two calls in one body":               {wellMeant + wellMeant, nil},
	"a batch":                             {"[" + wellMeant + "," + wellMeant + "]", nil},
	"a call that is a notification":       {strings.Replace(wellMeant, `"id":2,`, "", 1), nil},
	"a call behind 4,000,000 spaces":      {strings.Repeat(" ", 4_000_000) + wellMeant, nil},
	"a body that is longer than it says":  {wellMeant, map[string]string{"LENGTH": "20"}},
	"a body that is shorter than it says": {wellMeant, map[string]string{"LENGTH": "100000"}},
}

// Hostile clients over HTTP: no tool runs that a person would have to allow, no request crashes the server, and the next
// client is answered.
func TestHostileClientsOverHTTP(t *testing.T) {
	t.Logf("%d attacks", 2*len(webAttacks))
	for name, c := range webAttacks {
		for _, path := range []string{"serve", "relay"} {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				address, change, calls, served := "", "shout", new(atomic.Int32), (*serving)(nil)
				if path == "serve" {
					served = serveOwn(t, nil)
					address = served.address(t, serve.HTTPAccess{BodyTime: 2 * time.Second})
				} else {
					var url string
					url, calls = rawHTTP(t, answers{"server/discover": discoveredWith(`"capabilities":{"tools":{}}`), "tools/call": fine, "tools/list": listWithText})
					r := relayOf(t, config.ServerConfig{Name: "one", URL: url, Call: 5 * time.Second}, invoke.AskFirst(nil))
					address, change = serveRelay(t, r, serve.HTTPAccess{BodyTime: 2 * time.Second}), "change"
				}
				text := send(t, address, strings.ReplaceAll(c.body, "CHANGE", change), c.headers)
				if calls.Load() != 0 || strings.Contains(text, "did {") {
					t.Errorf("the tool ran: %.600s", text)
				}
				if strings.Contains(text, "panic") || strings.Contains(text, "500 Internal") || strings.Contains(text, "\x1b") {
					t.Errorf("it said %.600s", text)
				}
				list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + newestMeta + `}}`
				if next := send(t, address, list, map[string]string{"Mcp-Method": "tools/list"}); !strings.Contains(next, `"`+change+`"`) {
					t.Errorf("the next client was told %.600s", next)
				}
			})
		}
	}
}

// send sends a request and returns the answer with its headers. It gives up after a moment.
func send(t *testing.T, address, body string, headers map[string]string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	method := http.MethodPost
	if m := headers["METHOD"]; m != "" {
		method = m
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	for name, value := range headers {
		switch name {
		case "METHOD":
		case "LENGTH":
			_, _ = fmt.Sscan(value, &req.ContentLength)
			req.Body = io.NopCloser(strings.NewReader(body))
		case "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	resp, err := new(http.Transport).RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	if name := headers["METHOD"]; name == "GET" || strings.Contains(body, "subscriptions/listen") && resp.StatusCode == http.StatusOK {
		buffer := make([]byte, 1<<16)
		time.AfterFunc(500*time.Millisecond, cancel)
		n, _ := io.ReadFull(resp.Body, buffer)
		return resp.Status + string(buffer[:n])
	}
	text, _ := io.ReadAll(resp.Body)
	return resp.Status + string(text)
}
