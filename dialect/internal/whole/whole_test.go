package whole

import (
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/llm"
)

var tools = offered.New([]llm.ToolDef{
	{Name: "find_room", Schema: []byte(`{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"},"with":{"type":"object"}},"required":["town"]}`)},
	{Name: "ping", Schema: []byte(`{"type":"object","properties":{}}`)},
})

// A block of any notation is a call if every part of it belongs to the call.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		`find_room --town "San Gimignano" --beds 2`:                                                                       `find_room{"town":"San Gimignano","beds":2}`,
		"find_room:\n  town: Siena":                                                                                       `find_room{"town":"Siena"}`,
		`<CALL><Name>find_room</Name></CALL>`:                                                                             "",
		`<CALL><name>find_room</name><args town="Siena"/></CALL>`:                                                         `find_room{"town":"Siena"}`,
		`<call name="find_room"><x town="Siena"/></call>`:                                                                 "",
		`<call name="find_room" shade="red"><town>Siena</town></call>`:                                                    "",
		`<call name="find_room"><town>Siena</town> and more</call>`:                                                       "",
		`<call name="find_room"><town>Siena</town><town>Bari</town></call>`:                                               "",
		`<call name="find_room"><beds>two</beds><town>Siena</town></call>`:                                                "",
		`<call name="find_room"><beds>2</beds><town><![CDATA[a<b]]></town></call>`:                                        `find_room{"beds":2,"town":"a<b"}`,
		`<call name="find_room"><town>Siena</call>`:                                                                       "",
		`<answer name="find_room"><town>Siena</town></answer>`:                                                            `find_room{"town":"Siena"}`,
		`<answer><name>find_room</name><town>Siena</town></answer>`:                                                       "",
		`<tool_response><name>find_room</name><town>Siena</town></tool_response>`:                                         "",
		`<config><find_room><town>Siena</town></find_room></config>`:                                                      "",
		`find_room(town="Siena"`:                                                                                          "",
		`find_room(town="Siena", town="Bari")`:                                                                            "",
		`find_room(town="Siena", colour="red")`:                                                                           "",
		`find_room(town="Siena") and ping()`:                                                                              "",
		`find_room(town: "Siena", with: {"a": [1, 2]})`:                                                                   `find_room{"town":"Siena","with":{"a": [1, 2]}}`,
		`find_room(town="Sie\na")`:                                                                                        "find_room{\"town\":\"Sie\\na\"}",
		`find_room(town="Sie\qna")`:                                                                                       "",
		`> find_room(town="Siena")`:                                                                                       "",
		`$ find_room --town Siena`:                                                                                        "",
		`-find_room(town="Siena")`:                                                                                        "",
		"```python\nfind_room(town=\"Siena\")\n```":                                                                       "",
		"```json\n{\"command\": \"find_room\", \"args\": {\"town\": \"Siena\"}}\n```":                                     `find_room{"town":"Siena"}`,
		"| tool | town | beds |\n|---|---|---|\n| find_room | Siena | 2 |":                                                `find_room{"town":"Siena","beds":2}`,
		"**Tool:** `find_room`\n\n| Argument | Value |\n|:--|--:|\n| town | Siena |\n| beds | 2 |":                        `find_room{"town":"Siena","beds":2}`,
		"| tool | town |\n|---|---|\n| find_room | Siena |\n| find_room | Bari |":                                         "",
		"| town | beds |\n|---|---|\n| Siena | 2 |":                                                                       "",
		"| find_room | town=Siena | beds=2 |":                                                                             `find_room{"town":"Siena","beds":2}`,
		"Werkzeug: find_room\nEingabe: {\"town\": \"Siena\"}":                                                             `find_room{"town":"Siena"}`,
		"Outil : find_room\nArguments :\n  town : Siena":                                                                  `find_room{"town":"Siena"}`,
		"工具：find_room\n参数：{\"town\": \"Siena\"}":                                                                          `find_room{"town":"Siena"}`,
		"Werkzeug: find_room\nHinweis: erst fragen\ntown: Siena":                                                          "",
		"🔧 find_room → {\"town\": \"Siena\"}":                                                                             `find_room{"town":"Siena"}`,
		"{ /* a room */ \"tool\": \"find_room\", \"args\": {\"town\": \"Siena\"}}":                                        `find_room{"town":"Siena"}`,
		"tool: find_room\nargs:\n  town: Siena\n  with:\n    a: 1\n    b: x":                                              `find_room{"town":"Siena","with":{"a":1,"b":"x"}}`,
		`<call>{&quot;name&quot;: &quot;find_room&quot;, &quot;args&quot;: {&quot;town&quot;: &quot;Siena&quot;}}</call>`: `find_room{"town":"Siena"}`,
		`<f:call xmlns:f="tools" f:name="find_room"><f:town>Siena</f:town></f:call>`:                                      `find_room{"town":"Siena"}`,
		`dict(name='find_room', arguments=dict(town='Siena', beds=2))`:                                                    `find_room{"town":"Siena","beds":2}`,
		`$tool(find_room, {"town": "Siena"})`:                                                                             `find_room{"town":"Siena"}`,
		`We could ask find_room(town="Siena") later`:                                                                      "",
		`{"tool": "ping"}`: `ping{}`,
		`ping`:             "",
		`find_room（town＝“Siena”，beds＝2）`: `find_room{"town":"Siena","beds":2}`,
	} {
		got := ""
		if c, ok := Read(text, tools); ok {
			got = c.Name + string(c.Args)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
