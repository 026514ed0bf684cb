package whole

import (
	"strings"
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
		"find_room.town = \"Siena\"\nfind_room.beds = 2":                                                                        `find_room{"town":"Siena","beds":2}`,
		"tool=find_room\nargs.town=Siena":                                                                                       `find_room{"town":"Siena"}`,
		"[tool=find_room]\n[town]Siena[/town]\n[/tool]":                                                                         `find_room{"town":"Siena"}`,
		"[tool=find_room]\n[town]a [b]c[/b][/town]\n[/tool]":                                                                    "",
		`<dl class="tool" title="find_room"><dt>town</dt><dd>Siena</dd></dl>`:                                                   `find_room{"town":"Siena"}`,
		`<tools><run name="find_room" town="Siena"/><run name="find_room" town="Bari"/></tools>`:                                `find_room{"town":"Siena"}find_room{"town":"Bari"}`,
		"→ find_room\n   town → Siena\n   beds → 2":                                                                             `find_room{"town":"Siena","beds":2}`,
		"#tool find_room\n#arg town San Gimignano\n#run":                                                                        `find_room{"town":"San Gimignano"}`,
		`{"call": "find_room", "args": [{"name": "town", "value": "Siena"}, {"name": "beds", "value": 2}]}`:                     `find_room{"town":"Siena","beds":2}`,
		`{"工具": "find_room", "参数": {"town": "Siena"}}`:                                                                          `find_room{"town":"Siena"}`,
		"1. find_room(town='Siena')\n2. find_room(town='Bari')":                                                                 `find_room{"town":"Siena"}find_room{"town":"Bari"}`,
		"### Call 1: find_room\n```json\n{\"town\": \"Siena\"}\n```\n### Call 2: find_room\n```json\n{\"town\": \"Bari\"}\n```": `find_room{"town":"Siena"}find_room{"town":"Bari"}`,
		"tool: find_room\ntown: Siena\ntool: find_room\nbeds: 2":                                                                "",
		`find_room|town=San Gimignano|beds=2`:                                                                                   `find_room{"town":"San Gimignano","beds":2}`,
		`tool://find_room?town=San%20Gimignano&beds=2`:                                                                          `find_room{"town":"San Gimignano","beds":2}`,
		"POST /tools/find_room HTTP/1.1\nContent-Type: application/json\n\n{\"town\": \"Siena\"}":                               `find_room{"town":"Siena"}`,
		"POST /tools/find_room HTTP/1.1\nX-Dry-Run: 1\n\n{\"town\": \"Siena\"}":                                                 "",
		`curl -X POST http://localhost:8000/tools/find_room -d '{"town": "Siena"}'`:                                             `find_room{"town":"Siena"}`,
		`curl -X POST https://rooms.example/tools/find_room -d '{"town": "Siena"}'`:                                             "",
		`curl http://localhost/tools/find_room -d "{\"town\": \"$TOWN\"}"`:                                                      "",
		`Invoke-Tool -Name find_room -town "Siena"`:                                                                             `find_room{"town":"Siena"}`,
		`(call find_room (town "Siena") (beds 2))`:                                                                              `find_room{"town":"Siena","beds":2}`,
		`\call{find_room}{town={San Gimignano}, beds={2}}`:                                                                      `find_room{"town":"San Gimignano","beds":2}`,
		`callTool('find_room', {town: 'Siena', with: {'a': ['b']}})`:                                                            `find_room{"town":"Siena","with":{"a":["b"]}}`,
		`callTool('find_room', {town: 'Siena', with: {a: ['b', other]}})`:                                                       "",
		"--- tool: find_room ---\n{\"town\": \"Siena\"}\n--- end ---":                                                           `find_room{"town":"Siena"}`,
		"---\ntool: find_room\ntown: Siena\n---":                                                                                `find_room{"town":"Siena"}`,
		"```toml\ntool = \"find_room\"\ntown = '''\nSiena'''\n```":                                                              `find_room{"town":"Siena"}`,
		"Tool: find_room\ntown:\n```text\nSan\nGimignano\n```":                                                                  "find_room{\"town\":\"San\\nGimignano\"}",
		"find_room: town: Siena, beds: 2":                                                                                       `find_room{"town":"Siena","beds":2}`,
		`find_room(town: string)`:                                                                                               "",
		`{"name": "find_room", "parameters": {"town": {"type": "string"}}}`:                                                     "",
		"<function=find_room><parameter=town>Siena</parameter></function> is old":                                               "",
		"<!-- find_room(town=\"Siena\") -->":                                                                                    "",
		"<|tool|>find_room\n<|town|>San Gimignano\n<|end|>":                                                                     `find_room{"town":"San Gimignano"}`,
		"Call «ping»(now).": "",
		"FIND_ROOM":         "",
		"tool: find_room; town: San Gimignano; beds: 2":                          `find_room{"town":"San Gimignano","beds":2}`,
		"TOOL=find_room TOWN=Siena BEDS=2":                                       `find_room{"town":"Siena","beds":2}`,
		"Tool name: find_room\nParam 1 - town: San Gimignano\nParam 2 - beds: 2": `find_room{"town":"San Gimignano","beds":2}`,
		"<TOOL>\n<NAME>find_room</NAME>\n<TOWN>Siena</TOWN>\n</TOOL>":            `find_room{"town":"Siena"}`,
		`<ruf werkzeug="find_room"><wert art="town">Siena</wert></ruf>`:          `find_room{"town":"Siena"}`,
		`<outil nom="find_room"><param nom="town">Siena</param></outil>`:         `find_room{"town":"Siena"}`,
		`<a href="find_room"><town>Siena</town></a>`:                             "",
		"<dict>\n<key>tool</key><string>find_room</string>\n<key>town</key><string>Siena</string>\n<key>beds</key><integer>2</integer>\n</dict>": `find_room{"town":"Siena","beds":2}`,
		"« find_room » town = « San Gimignano » beds = 2":                                       `find_room{"town":"San Gimignano","beds":2}`,
		`(call find_room ((town . "Siena") (beds . 2)))`:                                        `find_room{"town":"Siena","beds":2}`,
		`find_room(FindRoomArgs{Town: "Siena", Beds: 2})`:                                       `find_room{"town":"Siena","beds":2}`,
		`find_room(town: string = "Siena", beds: integer = 2)`:                                  "",
		"POST /find_room\nContent-Type: application/x-www-form-urlencoded\n\ntown=Siena&beds=2": `find_room{"town":"Siena","beds":2}`,
		"【呼出】find_room\n　town＝松本\n　beds＝2":                                                      `find_room{"town":"松本","beds":2}`,
		"उपकरण: find_room\nइनपुट: {\"town\": \"जयपुर\"}":                                        `find_room{"town":"जयपुर"}`,
		`｛“工具”：“find_room”，“参数”：｛“town”：“青岛”，“beds”：3｝｝`:                                        `find_room{"town":"青岛","beds":3}`,
		"const out = await find_room({town: `Siena`});":                                         `find_room{"town":"Siena"}`,
		`Ich rufe find_room mit town = "Siena" und beds = 2 auf.`:                               "",
		`ping`: "",
		`find_room（town＝“Siena”，beds＝2）`: `find_room{"town":"Siena","beds":2}`,
	} {
		got := ""
		if c, ok := Read(text, tools, Place{}); ok {
			for _, c := range c {
				got += c.Name + string(c.Args)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A sentence is a call if it announces the action and everything else in it belongs to the call.
func TestReadOfSentences(t *testing.T) {
	announces := func(s string) bool { return strings.HasPrefix(s, "Ich rufe") }
	for text, want := range map[string]string{
		`Ich rufe find_room mit town = "Siena" und beds = 2 auf.`:       `{"town":"Siena","beds":2}`,
		`Man rufe find_room mit town = "Siena" und beds = 2 auf.`:       "",
		`Ich rufe find_room mit town = "Siena" und 2 beds auf.`:         "",
		`Ich rufe find_room mit town = "Siena" und "beds" auf.`:         "",
		`Ich rufe find_room mit town = "Siena" auf, nicht "ping".`:      "",
		`Ich rufe {"name": "find_room", "args": {"town": "Siena"}} auf`: "",
		"Ich rufe `find_room(town='Siena')` auf":                        "",
	} {
		got := ""
		if c, ok := Read(text, tools, Place{Announces: announces}); ok && len(c) == 1 {
			got = string(c[0].Args)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A block that names a tool and gives all that it requires is noticed, even if it cannot be read. The description of a tool
// is not noticed.
func TestResembles(t *testing.T) {
	for text, want := range map[string]bool{
		"try {:find_room {:town \"Siena\"}} maybe":                true,
		"find_room <- list(town <- Siena)":                        true,
		"find_room needs a town":                                  false,
		"find_room with beds: 2":                                  false,
		`{"name": "find_room", "properties": {"town": "string"}}`: false,
		"town: Siena": false,
	} {
		if _, ok := Resembles(text, tools); ok != want {
			t.Errorf("%s: %v", text, ok)
		}
	}
}
