package dialect_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// everyday are tools with names that ordinary text is full of.
var everyday = func() (tools []llm.ToolDef) {
	for _, name := range []string{"search", "read_file", "write_file", "get", "list", "run", "print", "open", "test", "fetch", "close", "len", "error", "format", "check"} {
		tools = append(tools, llm.ToolDef{Name: name, Schema: []byte(`{"type":"object","properties":{"query":{"type":"string"},"path":{"type":"string"}}}`)})
	}
	return tools
}()

// Programs, documents and data that call nothing: the files of Go itself. What
// is read as a call here would run in an agent that shows such text.
func TestOrdinaryTextIsNoCall(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("the sources of Go are not here: %v", err)
	}
	files, bytes := 0, 0
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if bytes > 12<<20 {
			return fs.SkipAll
		}
		if e.IsDir() || !slices.Contains([]string{".go", ".md", ".txt", ".html", ".json", ".js", ".css"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) > 100_000 {
			return err
		}
		files++
		bytes += len(text)
		for _, p := range []dialect.Parser{{Tools: everyday}, {}} {
			attacks++
			callsNothing(t, p, path, string(text))
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("the sources of Go cannot be read: %d files, %v", files, err)
	}
	t.Logf("%d files, %d bytes, %d warnings", files, bytes, ordinaryWarnings)
	if perMB := float64(ordinaryWarnings) / (float64(bytes) / (1 << 20)); perMB > 59 {
		t.Errorf("%.1f warnings per MiB of ordinary text; there were 59", perMB)
	}
}

// ordinaryWarnings counts the warnings of ordinary text.
var ordinaryWarnings int

func callsNothing(t *testing.T, p dialect.Parser, path, text string) {
	for ev, err := range p.Parse(dialect.Whole(text)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.Call:
			t.Errorf("%s: calls %s %.100s in %s", path, ev.Name, ev.Args, ev.Provenance.Dialect)
		case llm.InvalidCall:
			t.Errorf("%s: calls %s %.100q in %s", path, ev.Name, ev.Raw, ev.Provenance.Dialect)
		case llm.Warning:
			ordinaryWarnings++
		case llm.ThinkingDelta:
			t.Errorf("%s: thinks %.100q", path, ev.Text)
		}
	}
}

// documents are texts in the words of which tools are often named.
var documents = map[string]string{
	"page.html": `<!DOCTYPE html>
<html><head><title>Rooms in Siena</title><meta name="search" content="rooms"></head>
<body><h1>Rooms</h1><details><summary>More</summary><p>Use <code>get("/rooms")</code> or <code>search(query)</code>.</p></details>
<ul><li><code>item</code></li></ul><form action="/search"><input name="query"><button>search</button></form>
<script>get({path: "/rooms"}); search({query: "Siena"}); const item = {id: 1, name: "x"};</script></body></html>`,
	"feed.xml": `<?xml version="1.0"?>
<rss version="2.0"><channel><title>News</title><link>http://example.com</link>
<item><title>One</title><summary>First.</summary><guid>1</guid></item>
<item><title>Two</title><summary>Second.</summary><guid>2</guid></item></channel></rss>`,
	"api.yaml": `openapi: 3.1.0
info:
  title: Rooms
  summary: Rooms of a town
paths:
  /rooms:
    get:
      summary: all rooms
      parameters:
        - name: query
          in: query
    search:
      query: town
item:
  id: 1
code: 7
`,
	"orders.xml": `<orders>
  <item>
    <id>7</id>
    <text>Pen</text>
  </item>
  <item>
    <id>8</id>
  </item>
</orders>`,
	"chart.json": `{"title": {"text": "Sales"}, "axis": {"type": "time"}, "series": [1, 2]}`,
	"order.json": `{
  "item": {"id": "7", "text": "Pen"},
  "total": 3.5
}`,
	"readme.md": "# title\n\nsummary: rooms\n\n- `get` a room\n- `search(query)` for one\n\n| code | item |\n|---|---|\n| 1 | get |\n\n" +
		"```html\n<item id=\"1\"><title>x</title></item>\n```\n\n```yaml\nsearch:\n  query: town\n```\n\n> search: {\"query\": \"x\"}\n\n[title](#title), [code](x) and so on.\n",
}

// Documents in HTML, XML, YAML and Markdown call nothing, although their words
// are names of tools.
func TestOrdinaryDocumentsAreNoCall(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	var tools []llm.ToolDef
	for _, name := range []string{"title", "code", "summary", "item", "get", "search"} {
		tools = append(tools, llm.ToolDef{Name: name, Schema: []byte(`{"type":"object","properties":{"query":{"type":"string"},"path":{"type":"string"},"id":{"type":"string"},"text":{"type":"string"}}}`)})
	}
	for name, text := range documents {
		for _, around := range []string{"%", "Here it is:\n\n%", "Here it is:\n\n```\n%\n```\n\nThat is all."} {
			attacks++
			callsNothing(t, dialect.Parser{Tools: tools}, name, strings.Replace(around, "%", text, 1))
		}
	}
}
