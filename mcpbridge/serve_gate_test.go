package mcpbridge_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// A line that is no message is answered, and calls that are under way go on.
func TestServiceSurvivesBadLines(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	for name, c := range map[string]struct{ line, id, want string }{
		"words":              {"hello", "null", "-32700"},
		"null":               {"null", "null", "-32600"},
		"a number":           {"5", "null", "-32600"},
		"an empty batch":     {"[]", "null", "-32600"},
		"a batch":            {"[" + list + "]", "null", "-32600"},
		"no version":         {`{"id":7,"method":"tools/list"}`, "7", "-32600"},
		"an id that is yes":  {`{"jsonrpc":"2.0","id":true,"method":"tools/list"}`, "null", "-32600"},
		"a method that is 5": {`{"jsonrpc":"2.0","id":7,"method":5}`, "7", "-32600"},
		"no method":          {`{"jsonrpc":"2.0","id":15}`, "15", "-32600"},
		"two on a line":      {list + list, "null", "-32700"},
		"a byte order mark":  {"\ufeff" + list, "null", "-32700"},
		"deep nesting":       {`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":` + strings.Repeat(`{"a":`, 1100) + "1" + strings.Repeat("}", 1101), "null", "-32600"},
		"5 MiB":              {`{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("x", 5<<20) + `"}`, "null", "-32600"},
		"an id twice":        {`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "2", "under way"},
		"a fraction as id":   {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "1.5", `"result"`},
		"a long number":      {`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, "123456789012345678901234567890", `"result"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveOwn(t, func(o *serve.ServiceOptions) { o.Drain = 1 })
			l := byLines(t, s.ServePipe)
			l.send(initialize)
			l.answer("1")
			l.call(2, "wait", `{}`)
			<-s.started
			l.send(c.line)
			if got := l.answer(c.id); !strings.Contains(got, c.want) {
				t.Errorf("it said %.300s", got)
			}
			l.call(3, "add", `{"a":1,"b":`+"1}")
			l.cancel(2)
			<-s.ended
			if got := l.answer("3"); !strings.Contains(got, `\"total\":2`) {
				t.Errorf("behind it: %.300s", got)
			}
		})
	}
}

// A call whose id the SDK could not keep can be cancelled.
func TestServiceCancelsByAnyID(t *testing.T) {
	s := serveOwn(t, nil)
	l := byLines(t, s.ServePipe)
	l.send(initialize)
	l.answer("1")
	l.send(`{"jsonrpc":"2.0","id":7.25,"method":"tools/call","params":{"name":"wait"}}`)
	<-s.started
	l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7.25}}`)
	<-s.ended
}
