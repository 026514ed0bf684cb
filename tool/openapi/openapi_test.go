package openapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/openapi"
)

// document is a document with these paths, in JSON.
func document(paths string, more ...string) string {
	return `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"servers":[{"url":"https://api.example.org/v1"}],"paths":{` + paths + `}` + strings.Join(more, "") + `}`
}

// op is a path with one operation that has these parameters.
func op(path, method, params, more string) string {
	return fmt.Sprintf(`%q:{%q:{"operationId":"f","parameters":[%s]%s,"responses":{"200":{"description":"ok"}}}}`, path, method, params, more)
}

func parse(t *testing.T, text string) *openapi.Document {
	t.Helper()
	d, err := openapi.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// one returns the only tool of a document.
func one(t *testing.T, text string, c openapi.Config) (tool.Tool, []openapi.Loss) {
	t.Helper()
	tools, losses, err := parse(t, text).Tools(c, "test")
	if err != nil || len(tools) != 1 {
		t.Fatalf("%d tools, %v, %v", len(tools), losses, err)
	}
	return tools[0], losses
}

// echo answers with the unchanged request.
func echo(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.Method, r.RequestURI)
		for _, name := range []string{"X-List", "Cookie", "Content-Type", "Authorization", "X-Key"} {
			if v := r.Header.Get(name); v != "" {
				fmt.Fprintf(w, " | %s: %s", name, v)
			}
		}
		if len(body) > 0 {
			fmt.Fprintf(w, " | %s", body)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func call(t *testing.T, tl tool.Tool, args string) string {
	t.Helper()
	out, err := tl.Call(t.Context(), json.RawMessage(args))
	if err != nil {
		return "error: " + err.Error()
	}
	return out.Parts[0].(llm.Text).Text
}

// TestStyles writes values into each place in each style.
func TestStyles(t *testing.T) {
	server := echo(t)
	param := func(name, in, more string) string {
		return fmt.Sprintf(`{"name":%q,"in":%q,"required":%t,"schema":{}%s}`, name, in, in == "path", more)
	}
	for _, c := range []struct{ why, path, params, args, want string }{
		{"path", "/a/{x}", param("x", "path", ""), `{"x":"b/c d?"}`, "/a/b%2Fc%20d%3F"},
		{"path, list", "/a/{x}", param("x", "path", ""), `{"x":[1,2]}`, "/a/1,2"},
		{"path, label", "/a/{x}", param("x", "path", `,"style":"label"`), `{"x":[1,2]}`, "/a/.1,2"},
		{"path, matrix", "/a/{x}", param("x", "path", `,"style":"matrix","explode":true`), `{"x":[1,2]}`, "/a/;x=1;x=2"},
		{"path, two dots", "/a/{x}", param("x", "path", ""), `{"x":".."}`, "error"},
		{"path, nothing", "/a/{x}", param("x", "path", ""), `{"x":""}`, "error"},
		{"path, braces in a value", "/a/{x}/{y}", param("x", "path", "") + "," + param("y", "path", ""), `{"x":"{y}","y":"z"}`, "/a/%7By%7D/z"},
		{"query", "/a", param("q", "query", ""), `{"q":"a b&c=d"}`, "/a?q=a+b%26c%3Dd"},
		{"query, list", "/a", param("q", "query", ""), `{"q":["a","b,c"]}`, "/a?q=a&q=b%2Cc"},
		{"query, list in one", "/a", param("q", "query", `,"explode":false`), `{"q":["a","b"]}`, "/a?q=a,b"},
		{"query, spaces", "/a", param("q", "query", `,"style":"spaceDelimited"`), `{"q":["a","b"]}`, "/a?q=a%20b"},
		{"query, pipes", "/a", param("q", "query", `,"style":"pipeDelimited"`), `{"q":["a","b"]}`, "/a?q=a|b"},
		{"query, object", "/a", param("q", "query", ""), `{"q":{"x":1,"y":2}}`, "/a?x=1&y=2"},
		{"query, deep object", "/a", param("q", "query", `,"style":"deepObject"`), `{"q":{"x":1,"y":{"z":[2,3]}}}`, "/a?q%5Bx%5D=1&q%5By%5D%5Bz%5D%5B%5D=2&q%5By%5D%5Bz%5D%5B%5D=3"},
		{"query, reserved", "/a", param("q", "query", `,"allowReserved":true`), `{"q":"a/b:c&d"}`, "/a?q=a/b:c%26d"},
		{"query, JSON", "/a", `{"name":"q","in":"query","content":{"application/json":{"schema":{}}}}`, `{"q":{"x":1}}`, "/a?q=%7B%22x%22%3A1%7D"},
		{"query, numbers and words", "/a", param("q", "query", "") + "," + param("r", "query", ""), `{"q":12345678901234567890,"r":true}`, "/a?q=12345678901234567890&r=true"},
		{"query, nothing", "/a", param("q", "query", ""), `{"q":null}`, "/a"},
		{"header", "/a", param("X-List", "header", ""), `{"X-List":[1,2]}`, "/a | X-List: 1,2"},
		{"header with a new line", "/a", param("X-List", "header", ""), `{"X-List":"a\nX-Key: b"}`, "error"},
		{"cookie", "/a", param("c", "cookie", ""), `{"c":"x y"}`, "/a | Cookie: c=x%20y"},
		{"one name in two places", "/a/{x}", param("x", "path", "") + "," + param("x", "query", ""), `{"x":"p","x_query":"q"}`, "/a/p?x=q"},
	} {
		tl, _ := one(t, document(op(c.path, "get", c.params, "")), openapi.Config{Server: server.URL + "/v2/"})
		got := call(t, tl, c.args)
		if want := "GET /v2" + c.want; !strings.HasPrefix(got, want) && !(c.want == "error" && strings.HasPrefix(got, "error")) {
			t.Errorf("%s: got %s, want %s", c.why, got, want)
		}
	}
}

func TestBodies(t *testing.T) {
	server := echo(t)
	body := func(content string) string { return `,"requestBody":{"required":true,"content":{` + content + `}}` }
	for _, c := range []struct{ why, content, args, want string }{
		{"JSON", `"application/json":{"schema":{}}`, `{"body":{"a":[1]}}`, `application/json | {"a":[1]}`},
		{"JSON of a vendor", `"application/vnd.x+json":{"schema":{}}`, `{"body":1}`, `application/vnd.x+json | 1`},
		{"a form", `"application/x-www-form-urlencoded":{"schema":{}}`, `{"body":{"a":["x y","z"],"b":1}}`, `application/x-www-form-urlencoded | a=x+y&a=z&b=1`},
		{"a deep form", `"application/x-www-form-urlencoded":{"schema":{},"encoding":{"a":{"style":"deepObject","explode":true}}}`, `{"body":{"a":{"b":{"c":1}}}}`, `a%5Bb%5D%5Bc%5D=1`},
		{"text", `"text/plain":{"schema":{"type":"string"}}`, `{"body":"hello"}`, `text/plain | hello`},
		{"the best of several", `"application/xml":{"schema":{}},"text/plain":{"schema":{}},"application/json":{"schema":{}}`, `{"body":"x"}`, `application/json | "x"`},
	} {
		tl, losses := one(t, document(op("/a", "post", "", body(c.content))), openapi.Config{Server: server.URL})
		if got := call(t, tl, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.why, got)
		}
		if several := strings.Count(c.content, `"schema"`) > 1; several != (len(losses) == 1) {
			t.Errorf("%s: %v", c.why, losses)
		}
		if tl.Effects != 0 {
			t.Errorf("a POST promises %v", tl.Effects)
		}
	}
	for _, media := range []string{"multipart/form-data", "application/octet-stream", "application/xml"} {
		tools, losses, err := parse(t, document(op("/a", "post", "", body(`"`+media+`":{"schema":{}}`)))).Tools(openapi.Config{}, "")
		if err != nil || len(tools) != 0 || len(losses) != 1 || !losses[0].Omitted || !strings.Contains(losses[0].String(), media) {
			t.Errorf("%s: %v %v %v", media, tools, losses, err)
		}
	}
}

// TestAuth sends each kind of credential, and none where none is needed.
func TestAuth(t *testing.T) {
	server := echo(t)
	t.Setenv("THE_KEY", "sesame-open")
	const schemes = `,"components":{"securitySchemes":{"h":{"type":"apiKey","in":"header","name":"X-Key"},"q":{"type":"apiKey","in":"query","name":"key"},"c":{"type":"apiKey","in":"cookie","name":"sid"},
		"bearer":{"type":"http","scheme":"bearer"},"basic":{"type":"http","scheme":"basic"},"oauth":{"type":"oauth2","flows":{}},"mtls":{"type":"mutualTLS"}}}`
	for _, c := range []struct{ why, security, auth, want string }{
		{"header", `[{"h":[]}]`, "h", "X-Key: sesame-open"},
		{"query", `[{"q":[]}]`, "q", "/a?key=sesame-open"},
		{"cookie", `[{"c":[]}]`, "c", "Cookie: sid=sesame-open"},
		{"bearer", `[{"bearer":[]}]`, "bearer", "Authorization: Bearer sesame-open"},
		{"basic", `[{"basic":[]}]`, "basic", "Authorization: Basic c2VzYW1lLW9wZW4="},
		{"a token of OAuth", `[{"oauth":["read"]}]`, "oauth", "Authorization: Bearer sesame-open"},
		{"the alternative that there is a key for", `[{"basic":[]},{"h":[]}]`, "h", "X-Key: sesame-open"},
		{"both", `[{"h":[],"bearer":[]}]`, "h bearer", "Authorization: Bearer sesame-open | X-Key: sesame-open"},
		{"none needed", `[]`, "h", "GET /a"},
	} {
		config := openapi.Config{Server: server.URL, Auth: make(map[string]string)}
		for _, name := range strings.Fields(c.auth) {
			config.Auth[name] = "THE_KEY"
		}
		tl, losses := one(t, document(op("/a", "get", "", `,"security":`+c.security), schemes), config)
		if got := call(t, tl, `{}`); !strings.Contains(got, c.want) || len(losses) != 0 || c.security == "[]" && got != c.want {
			t.Errorf("%s: %s %v", c.why, got, losses)
		}
		plan, err := tl.Preview(t.Context(), json.RawMessage(`{}`))
		if err != nil || strings.Contains(plan.Request, "sesame") {
			t.Errorf("%s: the plan shows the key: %v %v", c.why, plan, err)
		}
	}
	for _, c := range []struct {
		why    string
		config openapi.Config
		says   string
	}{
		{"no server", openapi.Config{Auth: map[string]string{"h": "THE_KEY"}}, "need a server"},
		{"no such scheme", openapi.Config{Server: server.URL, Auth: map[string]string{"x": "THE_KEY"}}, "it has basic, bearer"},
		{"a value for a name", openapi.Config{Server: server.URL, Auth: map[string]string{"h": "${THE_KEY}"}}, "name of an environment variable"},
		{"a password in the address", openapi.Config{Server: "https://u:p@host"}, "password"},
		{"no address", openapi.Config{Server: "host"}, "not an address"},
	} {
		if _, _, err := parse(t, document(op("/a", "get", "", ""), schemes)).Tools(c.config, ""); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
	tl, losses := one(t, document(op("/a", "get", "", `,"security":[{"h":[]}]`), schemes), openapi.Config{Server: server.URL})
	if got := call(t, tl, `{}`); len(losses) != 1 || !strings.Contains(losses[0].String(), "needs credentials (h)") || strings.Contains(got, "X-Key") {
		t.Errorf("%s %v", got, losses)
	}
	tl, _ = one(t, document(op("/a", "get", "", `,"security":[{"h":[]}]`), schemes), openapi.Config{Server: server.URL, Auth: map[string]string{"h": "NOT_SET"}})
	if got := call(t, tl, `{}`); !strings.Contains(got, "NOT_SET, which is not set") {
		t.Error(got)
	}
	config := openapi.Config{Server: server.URL, Auth: map[string]string{"h": "THE_KEY"}, Headers: map[string]string{"X": "${THE_KEY}"}}
	if got := config.Secrets(); len(got) != 2 || got[0] != "sesame-open" {
		t.Errorf("%q", got)
	}
}

// A key goes to the server of the configuration, whatever server the document names.
func TestKeysStayWithTheServer(t *testing.T) {
	t.Setenv("THE_KEY", "sesame-open")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked: %v", r.Header)
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/steal", http.StatusFound))
	defer server.Close()
	text := document(fmt.Sprintf(`"/a":{"servers":[{"url":%q}],"get":{"operationId":"f","servers":[{"url":%q}],"security":[{"h":[]}],"responses":{}}}`, elsewhere.URL, elsewhere.URL),
		`,"components":{"securitySchemes":{"h":{"type":"apiKey","in":"header","name":"X-Key"}}}`)
	tl, _ := one(t, text, openapi.Config{Server: server.URL, Auth: map[string]string{"h": "THE_KEY"}})
	if got := call(t, tl, `{}`); !strings.HasPrefix(got, "error") {
		t.Error(got)
	}
}

// References are never fetched: a reference to another document is a hole, and an operation that needs it reports this.
func TestHoles(t *testing.T) {
	asked := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a reference was fetched") }))
	defer asked.Close()
	far := asked.URL + "/x.json"
	tools, losses, err := parse(t, document(
		`"/gone":{"$ref":"`+far+`#/p"},`+
			`"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"query","schema":{"$ref":"`+far+`"}},{"name":"r","in":"query","schema":{"$ref":"#/components/schemas/none"}}],"responses":{"200":{"$ref":"`+far+`"}}}},`+
			`"/b":{"get":{"operationId":"b","parameters":[{"$ref":"other.yaml#/p"}],"responses":{}}},`+
			`"/c":{"post":{"operationId":"c","requestBody":{"$ref":"/etc/passwd"},"responses":{}}},`+
			`"/d":{"get":{"operationId":"d","parameters":[{"name":"q","in":"query","schema":{"$ref":"#/components/schemas/round"}}],"responses":{}}}`,
		`,"components":{"schemas":{"round":{"$ref":"#/components/schemas/trip"},"trip":{"$ref":"#/components/schemas/round"}}}`)).Tools(openapi.Config{}, "")
	if err != nil {
		t.Fatal(err)
	}
	var names, said []string
	for _, tl := range tools {
		names = append(names, tl.Name)
	}
	for _, l := range losses {
		said = append(said, l.String())
	}
	if got := strings.Join(names, " "); got != "a d" {
		t.Error(got)
	}
	for _, want := range []string{"/gone: left out", "GET /a, q: its schema is not in the document", "GET /a, r: its schema", "GET /b: left out", "POST /c: left out", "GET /d, q: its schema"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("no %q in\n%s", want, strings.Join(said, "\n"))
		}
	}
}

// TestSchemas turns the schemas of OpenAPI into JSON Schema.
func TestSchemas(t *testing.T) {
	body := func(s string) string {
		return document(op("/a", "post", "", `,"requestBody":{"required":true,"content":{"application/json":{"schema":`+s+`}}}`),
			`,"components":{"schemas":{"node":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/node"},"name":{"type":"string"}}},"id":{"type":"integer","readOnly":true}}}`)
	}
	for _, c := range []struct{ why, schema, good, bad string }{
		{"nullable", `{"type":"string","nullable":true}`, `null`, `1`},
		{"nullable, of a few", `{"type":"string","nullable":true,"enum":["a"]}`, `null`, `"b"`},
		{"nullable, by reference", `{"nullable":true,"allOf":[{"$ref":"#/components/schemas/node"}]}`, `null`, `1`},
		{"exclusive as 3.0 has it", `{"type":"integer","minimum":1,"exclusiveMinimum":true}`, `2`, `1`},
		{"not exclusive", `{"type":"integer","minimum":1,"exclusiveMinimum":false}`, `1`, `0`},
		{"exclusive as 3.1 has it", `{"type":"integer","exclusiveMinimum":1}`, `2`, `1`},
		{"types as 3.1 has them", `{"type":["string","null"]}`, `null`, `1`},
		{"a schema that holds itself", `{"$ref":"#/components/schemas/node"}`, `{"next":{"next":{"name":"x"}}}`, `{"next":{"next":{"name":1}}}`},
		{"what the server sets", `{"type":"object","required":["id","name"],"properties":{"id":{"type":"integer","readOnly":true},"name":{"type":"string"},"uid":{"$ref":"#/components/schemas/id"}},"additionalProperties":false}`, `{"name":"x"}`, `{"name":"x","uid":1}`},
		{"a pattern of another language", `{"type":"string","pattern":"(?<!a)b(?P<x"}`, `"b"`, `1`},
	} {
		tl, _ := one(t, body(c.schema), openapi.Config{})
		compiled, err := schema.Compile(tl.Input)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if faults := compiled.Validate(json.RawMessage(`{"body":` + c.good + `}`)); len(faults) > 0 {
			t.Errorf("%s: %s is refused: %v\n%s", c.why, c.good, faults, tl.Input)
		}
		if faults := compiled.Validate(json.RawMessage(`{"body":` + c.bad + `}`)); len(faults) == 0 {
			t.Errorf("%s: %s is taken\n%s", c.why, c.bad, tl.Input)
		}
	}
}

func TestChoosing(t *testing.T) {
	var paths []string
	for i, tag := range []string{"red", "red", "blue"} {
		paths = append(paths, fmt.Sprintf(`"/%s/%d":{"get":{"operationId":"%s/get-%d","tags":[%q],"responses":{}},"delete":{"tags":[%q],"responses":{}}}`, tag, i, tag, i, tag, tag))
	}
	d := parse(t, document(strings.Join(paths, ",")))
	for _, c := range []struct {
		why    string
		config openapi.Config
		want   string
	}{
		{"all", openapi.Config{}, "blue_get-2 delete_blue_2 delete_red_0 delete_red_1 red_get-0 red_get-1"},
		{"one", openapi.Config{Operations: []string{"red/get-1"}}, "red_get-1"},
		{"a pattern", openapi.Config{Operations: []string{"red/*"}}, "red_get-0 red_get-1"},
		{"a tag", openapi.Config{Tags: []string{"blue"}}, "blue_get-2 delete_blue_2"},
		{"paths", openapi.Config{Paths: []string{"/*/0"}}, "delete_red_0 red_get-0"},
		{"a method", openapi.Config{Paths: []string{"DELETE *"}}, "delete_blue_2 delete_red_0 delete_red_1"},
		{"this or that", openapi.Config{Operations: []string{"red/get-0"}, Tags: []string{"blue"}}, "blue_get-2 delete_blue_2 red_get-0"},
		{"with a prefix", openapi.Config{Operations: []string{"red/get-0"}, Prefix: "x"}, "x__red_get-0"},
		{"nothing", openapi.Config{Tags: []string{"green"}}, "error: openapi: none of its 6 operations is chosen by operations, tags or paths"},
	} {
		tools, _, err := d.Tools(c.config, "")
		var names []string
		for _, tl := range tools {
			names = append(names, tl.Name)
			if get := !strings.HasPrefix(tl.Name, "delete"); get != tl.Effects.Has(tool.ReadOnly) || tl.Origin != tool.File {
				t.Errorf("%s promises %v", tl.Name, tl.Effects)
			}
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s", c.why, got)
		}
	}
}

// TestRefused: the error describes the mistake of a document in one line.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ why, text, says string }{
		{"nothing", "", "empty"},
		{"no document", `{"a":1}`, "not a supported version"},
		{"a list", `- a`, "not a supported version"},
		{"Swagger 2", `{"swagger":"2.0","paths":{}}`, "version 2 (Swagger)"},
		{"version 4", `{"openapi":"4.0.0","paths":{}}`, `"4.0.0"`},
		{"broken JSON", `{"openapi":"3.0.0",`, "EOF"},
		{"broken YAML", "openapi: 3.0.0\npaths: [", "line 2"},
		{"no paths", `{"openapi":"3.0.0","info":{"title":"t","version":"1"},"paths":{}}`, "no paths"},
		{"deep", `{"openapi":"3.0.0","paths":` + strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300) + `}`, "levels"},
		{"long", `{"openapi":"3.0.0","x":"` + strings.Repeat("x", 33<<20) + `"}`, "bytes"},
		{"aliases that multiply", "openapi: 3.0.0\na: &a [x,x,x,x,x,x,x,x,x,x]\n" + aliases(), "YAML"},
		{"a wrong type", `{"openapi":"3.0.0","paths":[1]}`, "openapi:"},
	} {
		_, err := openapi.Parse([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) && c.why != "aliases that multiply" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %.300v", c.why, err)
		}
	}
}

// A mistake in one operation does not affect the others.
func TestWrongOperations(t *testing.T) {
	for _, c := range []struct{ why, op, says string }{
		{"a wrong type", `{"parameters":"x"}`, "parameters is a string"},
		{"no object", `[]`, "no object"},
		{"no place", `{"parameters":[{"name":"x","in":"body"}]}`, `in "body"`},
		{"no such style", `{"parameters":[{"name":"x","in":"query","style":"fancy"}]}`, "fancy"},
		{"no name", `{"parameters":[{"in":"query"}]}`, "no name"},
		{"no schema of a type that is one", `{"parameters":[{"name":"x","in":"query","schema":{"type":"strnig"}}]}`, "schema is not valid"},
		{"a body of nothing", `{"requestBody":{}}`, "no content"},
	} {
		tools, losses, err := parse(t, document(`"/good":{"get":{"operationId":"good","responses":{}}},"/bad":{"put":`+c.op+`}`)).Tools(openapi.Config{}, "")
		if err != nil || len(tools) != 1 || len(losses) != 1 || !losses[0].Omitted || !strings.Contains(losses[0].String(), c.says) {
			t.Errorf("%s: %d tools, %v, %v", c.why, len(tools), losses, err)
		}
	}
	_, losses, err := parse(t, document(`"/a/{id}":{"get":{"responses":{}}}`)).Tools(openapi.Config{}, "")
	if err != nil || len(losses) != 1 || !strings.Contains(losses[0].What, "{id}") {
		t.Errorf("%v %v", losses, err)
	}
}

// Numbers that a float cannot hold keep their digits.
func TestLargeNumbers(t *testing.T) {
	tl, _ := one(t, document(op("/a", "get", `{"name":"x","in":"query","schema":{"type":"integer","maximum":9223372036854775807}}`, "")), openapi.Config{})
	if !strings.Contains(string(tl.Input), `"maximum":9223372036854775807`) {
		t.Errorf("%s", tl.Input)
	}
}

// YAML keeps its usual meaning: numbers, keys that are numbers, strings with
// backslashes.
func TestYAML(t *testing.T) {
	tl, losses := one(t, `openapi: 3.0.0
info: {title: t, version: 1}
servers: [{url: "https://x.example.org"}]
paths:
  /a:
    get:
      operationId: f
      description: "a \\d\n\v \\v"
      parameters:
      - {name: n, in: query, schema: {type: number, maximum: 1.8446744073709552e+19, minimum: -9223372036854776000}}
      - {name: no, in: query, schema: {type: string, pattern: '^\d+\.\w$', enum: ["no", 'on']}}
      responses:
        200: {description: ok}
`, openapi.Config{})
	for _, want := range []string{`"maximum":18446744073709552000`, `"minimum":-9223372036854776000`, `"^\\d+\\.\\w$"`, `["no","on"]`} {
		if !strings.Contains(string(tl.Input), want) || len(losses) > 0 {
			t.Errorf("no %s in %s %v", want, tl.Input, losses)
		}
	}
}

func aliases() string {
	var b strings.Builder
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&b, "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	return b.String()
}

// A schema that would fill a model's context is left open where it gets too long.
func TestLongSchemas(t *testing.T) {
	var defs []string
	for i := range 400 {
		defs = append(defs, fmt.Sprintf(`"s%d":{"type":"object","description":%q,"properties":{"next":{"$ref":"#/components/schemas/s%d"}}}`, i, strings.Repeat("words ", 100), (i+1)%400))
	}
	tl, losses := one(t, document(op("/a", "post", "", `,"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/s0"}}}}`),
		`,"components":{"schemas":{`+strings.Join(defs, ",")+`}}`), openapi.Config{})
	if len(tl.Input) > 64<<10 || len(losses) == 0 {
		t.Errorf("%d bytes, %v", len(tl.Input), losses)
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]string{
		document(""): "document", "openapi: 3.1.0\ninfo: {}\n": "document", "# x\nopenapi: \"3.0.0\"\n": "document", `{"swagger":"2.0"}`: "document", "swagger: '2.0'\n": "document",
		"openapi: api.yaml\n": "config", "server: https://x\nopenapi: ./v3.json\n": "config", `{"openapi":"x.json"}`: "config",
		"- name: f\n  command: [x]\n": "", `[{"name":"f"}]`: "", "": "", "tools:\n  - name: openapi\n": "", `{"tools":[]}`: "",
	} {
		got := ""
		if openapi.Is([]byte(text)) {
			got = "document"
		} else if openapi.IsConfig([]byte(text)) {
			got = "config"
		}
		if got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
	for _, c := range []struct{ text, says string }{
		{"openapi: a.json\nserver: https://x\nauth: {h: KEY}\n", ""}, {"openapi: a.json\nsevrer: https://x\n", `unknown field "sevrer"`}, {"openapi: a.json\nauth: {h: KEY}\n", "need a server"},
		{"openapi: a.json\ntags: red\n", "cannot unmarshal"}, {"openapi: [\n", "line 1"},
	} {
		_, err := openapi.ParseConfig([]byte(c.text))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(document(op("/a/{x}", "get", `{"name":"x","in":"path","schema":{"type":"string"}}`, "")))
	f.Add("openapi: 3.0.0\npaths:\n  /a:\n    get: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := openapi.Parse([]byte(text))
		if err != nil {
			return
		}
		tools, _, err := d.Tools(openapi.Config{Server: "https://api.example.org"}, "")
		if err != nil {
			return
		}
		for _, tl := range tools {
			if !tool.ValidName(tl.Name) || !json.Valid(tl.Input) {
				t.Errorf("%q: %s", tl.Name, tl.Input)
			}
			if plan, err := tl.Preview(t.Context(), json.RawMessage(`{}`)); err == nil && !strings.Contains(plan.Request, " https://api.example.org/") {
				t.Errorf("the server is not the one that was chosen: %s", plan.Request)
			}
		}
	})
}
