package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

const apiYAML = `openapi: 3.0.3
info: {title: Things, version: "1"}
servers: [{url: "https://api.example.org"}]
security: [{key: []}]
paths:
  /things/{id}:
    get:
      operationId: get_thing
      summary: Get a thing by its number.
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: ok}}
    delete:
      operationId: delete_thing
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {"204": {description: gone}}
  /files:
    post:
      operationId: send_file
      requestBody: {required: true, content: {multipart/form-data: {schema: {}}}}
      responses: {"200": {description: ok}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
`

// TestOpenAPIEverywhere uses an OpenAPI document as a tools file in every command.
func TestOpenAPIEverywhere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"did":"%s %s","key":"%s"}`, r.Method, r.URL.Path, r.Header.Get("X-Key"))
	}))
	defer server.Close()
	var many strings.Builder
	many.WriteString("openapi: 3.0.0\ninfo: {title: t, version: '1'}\nservers: [{url: 'https://x.example.org'}]\npaths:\n")
	for i := range 65 {
		fmt.Fprintf(&many, "  /p%d: {get: {operationId: p%d, tags: [t%d], responses: {}}}\n", i, i, i%2)
	}
	clitest.Bare(t, map[string]string{
		"api.yaml":  apiYAML,
		"mine.yaml": "openapi: api.yaml\nserver: " + server.URL + "\nauth: {key: THINGS_KEY}\n",
		"get.yaml":  "openapi: api.yaml\nserver: " + server.URL + "\noperations: ['get_*']\n",
		"typo.yaml": "openapi: api.yaml\nsevrer: http://x\n",
		"far.yaml":  "openapi: https://example.org/api.json\n",
		"many.yaml": many.String(),
		"half.yaml": "openapi: many.yaml\ntags: [t0]\n",
		"call.txt":  `<tool_call>{"name":"get_thing","arguments":{"id":"seven"}}</tool_call>`,
		"old.json":  `{"swagger":"2.0","info":{},"paths":{}}`,
	})
	t.Setenv("THINGS_KEY", "open-sesame-things")
	for _, c := range []struct {
		why, args string
		code      int
		says      string
	}{
		{"list", "tools list --tools api.yaml", 0, "get_thing"},
		{"list of what is lost", "tools list --tools api.yaml --losses", 0, "POST /files: left out, because its body can only be sent as multipart/form-data"},
		{"the same for programs", "tools list --tools api.yaml --losses --json", 0, `"omitted": true`},
		{"losses of no document", "tools list --losses", 2, "OpenAPI"},
		{"audit", "tools audit --tools mine.yaml", 0, "get_thing"},
		{"select", "tools select --tools api.yaml -k 1 delete", 0, "delete_thing"},
		{"parse checks arguments", "parse --tools api.yaml call.txt", 1, "integer"},
		{"call", `tools call --tools mine.yaml get_thing {"id":7}`, 0, `"did":"GET /things/7"`},
		{"call of what changes things", `tools call --tools mine.yaml delete_thing {"id":7}`, 1, "no policy allows it"},
		{"the same, allowed", `tools call --tools mine.yaml delete_thing {"id":7} --yes`, 0, "DELETE /things/7"},
		{"run", "run --tools get.yaml get_thing_7", 0, ""},
		{"a misspelt key", "tools list --tools typo.yaml", 1, `"sevrer"`},
		{"a document at an address", "tools list --tools far.yaml", 1, "nothing is fetched"},
		{"version 2", "tools list --tools old.json", 1, "version 2 (Swagger)"},
		{"more than a model is told about", "run --tools many.yaml hello", 0, "tools are offered; left out, which find_tools finds: "},
		{"a part of them", "run --tools half.yaml hello", 0, ""},
		{"a list of all of them", "tools list --tools many.yaml", 0, "65 tools"},
		{"doctor", "config check --config nowhere", 1, "nowhere"},
	} {
		r := programtest.Run(t, "", strings.Fields(c.args)...)
		if r.Code != c.code || !strings.Contains(r.Out+r.ErrOut, c.says) {
			t.Errorf("%s: toolpost %s: code %d\n%s%s", c.why, c.args, r.Code, r.Out, r.ErrOut)
		}
		if strings.Contains(r.Out+r.ErrOut, "open-sesame") {
			t.Errorf("%s: the key is printed:\n%s", c.why, r.Out)
		}
	}
}

// A run that used find_tools can be continued, and an empty budget is refused.
func TestContinueWithFoundTools(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"run", "-m", "sim/offline", "--journal", "J", "--tool-tokens", "200", "list the files in ."}, 0, "find_tools finds"},
		{[]string{"run", "-c", "--journal", "J", "hi"}, 0, "receipt"},
		{[]string{"run", "-m", "sim/offline", "--journal", "J", "--budget-usd", "", "hi"}, 2, "it is empty"},
		{[]string{"tools", "audit", "--min", "nan"}, 2, "it can be 0 to 1"},
	} {
		if r := programtest.Run(t, "", c.args...); r.Code != c.code || !strings.Contains(r.Out+r.ErrOut, c.says) {
			t.Errorf("%v: code %d\n%s%s", c.args, r.Code, r.Out, r.ErrOut)
		}
	}
}
