package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// gatewayHelp describes the gateway settings without a help tag, by path.
var gatewayHelp = map[string][2]string{
	"addr":                {"where clients are answered", defaultAddr},
	"routes":              {"which model answers for which name; without any, the offline model answers for every name", ""},
	"routes.model":        {"the name that clients ask for; one that ends in `*` stands for all that begin so, and the longest that fits counts", ""},
	"routes.from":         {"the formats of the clients that the route is for: chat, responses, messages, gemini, ollama, converse", "all"},
	"routes.to":           {"who answers: the least busy one for its weight, and the next if it fails before it has said anything", ""},
	"routes.fallback":     {"names that are asked for when nobody in `to` can answer, also because the conversation is too long or a filter took the answer away", ""},
	"routes.check":        {"what becomes of calls that do not fit the schemas of their tools: said in a header or a comment; `off` does not look; `reask` has the model try again", ""},
	"routes.max_requests": {"requests that the route answers at the same time; one more is refused with status 429", "no bound"},
	"routes.thinking":     {"how much the model thinks, whatever the client says: off, low, medium, high or a word of the vendor's", ""},
	"routes.tool_choice":  {"whether the model may, must or must not call the client's tools, whatever the client says: auto, required, none", ""},
	"routes.text_calls":   {"which text of an answer becomes a call: off, marked, all", ""},
	"routes.echoes":       {"calls count whose text stands in a tool result or a document of the conversation", "false"},
	"routes.cache":        {"how long an answer is given again to the same request of the same owner", "not at all"},
	"routes.cache_tools":  {"also to requests that offer tools, whose calls may change things", "false"},
	"routes.pass":         {"other endpoints that are passed on: embeddings, completions, images, audio, moderations, rerank, files, batches", "none"},
	"routes.pass_team":    {"the team whose account with the vendor the upstreams use: its keys may use `files` and `batches` that are passed on, and name what the vendor keeps", "no key may"},
	"routes.to.model":     {"the id of a [model](../providers.md); a `*` is what the `*` of the route stood for", ""},
	"routes.to.weight":    {"its share of the requests, a whole number; 0 keeps it out of the draw: it is not asked at all", "1"},
	"routes.to.tools":     {"how it is asked for calls: native, constrained, prompted", "what is known of it"},
	"routes.to.style":     {"the notation that is taught where calls are prompted; see [emulation](../emulation.md)", ""},
	"routes.to.health":    {"how often it is asked whether it is there, which costs nothing", "never"},
}

// kindWords names the types of settings.
var kindWords = map[reflect.Kind]string{reflect.String: "text", reflect.Int: "number", reflect.Int64: "number", reflect.Bool: "true or false", reflect.Float64: "number"}

// referenceRows returns the rows of the settings table below a path.
func referenceRows(t *testing.T, in reflect.Type, under string) (rows []string) {
	for i := range in.NumField() {
		f := in.Field(i)
		if !f.IsExported() {
			continue
		}
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if opts == "inline" {
			rows = append(rows, referenceRows(t, f.Type, under)...)
			continue
		}
		place := strings.TrimPrefix(under+"."+name, ".")
		help := [2]string{f.Tag.Get("help"), f.Tag.Get("default")}
		if help[0] == "" {
			help = gatewayHelp[place]
		}
		if help[0] == "" {
			t.Errorf("the setting gateway.%s has no help: give its field a tag help:\"…\", and default:\"…\" if it has one", place)
		}
		if f.Type.Kind() == reflect.Pointer {
			f.Type = f.Type.Elem()
		}
		kind, inner := kindWords[f.Type.Kind()], f.Type
		switch {
		case f.Type == reflect.TypeFor[time.Duration]():
			kind = "duration"
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			kind, inner = "list", f.Type.Elem()
		case f.Type.Kind() == reflect.Slice:
			kind = "list of texts"
		case f.Type.Kind() == reflect.Map:
			kind = "keys and values"
		case f.Type.Kind() == reflect.Struct:
			kind = "settings"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", place, kind, help[1], help[0]))
		if inner.Kind() == reflect.Struct {
			rows = append(rows, referenceRows(t, inner, place)...)
		}
	}
	return rows
}

// heldPage compares a page with the generated text. With TOOLPOST_UPDATE=1 it writes the page.
func heldPage(t *testing.T, file, want string) {
	t.Helper()
	if os.Getenv("TOOLPOST_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the program says (%v): TOOLPOST_UPDATE=1 go test ./cmd/toolpost -run Documented", file, err)
	}
}

// TestGatewayReferenceIsDocumented: the page with all gateway settings is generated from the program.
func TestGatewayReferenceIsDocumented(t *testing.T) {
	page := `# Settings of the gateway

Every setting below ` + "`gateway:`" + ` of the configuration file. A setting that is not known is refused with its line, and ` + "`toolpost serve --check`" + ` says
everything that is wrong with a file. This page is made from the program.

| setting | kind | default | meaning |
|---|---|---|---|
` + strings.Join(referenceRows(t, reflect.TypeFor[gatewayConfig](), ""), "\n") + `

A file has up to 1 MiB. Texts are not empty: a setting that is not meant is left out. Durations have a unit, like ` + "`90s`" + `, ` + "`10m`" + ` or ` + "`720h`" + `. A number or
a duration of 0 means the default, but for ` + "`routes.to.weight`" + ` and ` + "`routes.rounds`" + `; where that is not nothing, ` + "`--check`" + ` says so. ` + "`addr`, `ops_addr`, `ops_hosts`, `keys`, `state`, `admin_addr`, `admin_hosts`, `log_retention`, `drain`, `reload`, `tls`" + `
being there at all, and the limits of connections need a restart, and the log says so; the first built-in tools of any route, and MCP servers that no route had, are refused until then; everything else is taken over while the gateway serves. ` + "`0.0.0.0`" + ` is
every address of IPv4 and none of IPv6; ` + "`[::]`" + ` and an address without a host are both.

## Servers, accounts, regions and endpoints

Beside ` + "`gateway:`" + `, at the top of the file, ` + "`providers:`" + ` has servers of your own, and further accounts, regions and endpoints of [vendors](../providers.md). The name of a row
stands before that of a model, in the place of the vendor's, in as many routes as you like:

` + "```yaml" + `
providers:
  bedrock-eu: {like: bedrock, region: eu-west-1}
  azure-east: {like: azure, endpoint: "https://east.openai.azure.com", key_env: AZURE_EAST_KEY}
  azure-west: {like: azure, endpoint: "https://west.openai.azure.com", key_env: AZURE_WEST_KEY}
  openai-2: {like: openai, key_env: OPENAI_KEY_2}
  gpu: {base_url: "http://gpu.example.org:8000/v1", key_env: GPU_KEY}
gateway:
  routes:
    - model: nova
      to: [{model: bedrock-eu/amazon.nova-lite-v1:0}]
    - model: gpt-4o                       # the deployment has that name at both
      to: [{model: azure-east/gpt-4o}, {model: azure-west/gpt-4o}]
` + "```" + `

| setting of a row | kind | default | meaning |
|---|---|---|---|
` + strings.Join(referenceRows(t, reflect.TypeFor[providerConfig](), ""), "\n") + `

` + "`region`, `project` and `endpoint`" + ` may be ` + "`${NAME}`" + `, a variable of the environment. A row without ` + "`key_env`" + ` has the key of its vendor, which is good in all regions; the key
of one endpoint, or of a vendor, is never sent to another address.
`
	heldPage(t, "../../docs/gateway/configuration.md", page)
}

// TestProgramsAreDocumented: the page about coding agents has the output of --for.
func TestProgramsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Coding agents on the gateway

A coding agent that is pointed at the gateway uses any model, also one without tools. Start the gateway, then give the program these lines;
` + "`toolpost serve --for NAME`" + ` prints them with your address and a name that your routes know. If the gateway asks for keys, ` + "`none`" + ` becomes one of
those that ` + "`toolpost keys`" + ` made. This page is made from the program; all but aider are run through the gateway by ` + "`conformance/run agents`" + `.
`)
	for _, p := range codingAgents {
		fmt.Fprintf(&b, "\n## %s\n\n`toolpost serve --for %s`\n\n```text\n", p.title, p.name)
		p.print(&b, "http://"+defaultAddr, "fast", noKey)
		b.WriteString("```\n")
	}
	heldPage(t, "../../docs/gateway/agents.md", b.String())
}
