package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// diagrams are the drawn pictures of the documents, by file name.
var diagrams = map[string]func() ([]byte, error){
	"request.svg": drawRequest,
	"receipt.svg": drawReceipt,
	"reading.svg": drawReading,
	"fleet.svg":   drawFleet,
}

// writeDiagrams writes all diagrams into a folder.
func writeDiagrams(dir string) error {
	for name, draw := range diagrams {
		picture, err := draw()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), picture, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// canvas collects the elements of a diagram. Colours follow the reader's light or dark mode.
type canvas struct{ bytes.Buffer }

func newCanvas(width, height int, label string) *canvas {
	c := new(canvas)
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="DejaVu Sans, Verdana, sans-serif" font-size="13" role="img" aria-label="%s">`+"\n", width, height, width, height, escapeXML(label))
	c.WriteString(`<style>` +
		`.bg{fill:#fff}.box{fill:#f3f5f9;stroke:#5b6b8c}.own{fill:#e3ecff;stroke:#2f5fc4}.bad{fill:#fde7e7;stroke:#b3261e}` +
		`text{fill:#1c2230}.note{fill:#566079;font-size:12px}.line{stroke:#5b6b8c;fill:none;stroke-width:1.5}.tip{fill:#5b6b8c}.mono{font-family:DejaVu Sans Mono,Menlo,Consolas,monospace;white-space:pre}` +
		`.k1{fill:#e6e6ea}.k2{fill:#d9d2f3}.k3{fill:#bfe3c4}.k4{fill:#bcd8f7}.k5{fill:#f7c4bd}` +
		`@media(prefers-color-scheme:dark){.bg{fill:#12161f}.box{fill:#1e2533;stroke:#8291b3}.own{fill:#1d2f55;stroke:#7ea4f4}.bad{fill:#4a1f1f;stroke:#f28b82}` +
		`text{fill:#e6eaf3}.note{fill:#a9b4cc}.line{stroke:#8291b3}.tip{fill:#8291b3}` +
		`.k1{fill:#3a3f4b}.k2{fill:#4b3f78}.k3{fill:#245c33}.k4{fill:#1f4a78}.k5{fill:#7a2b22}}` +
		"</style>\n" + `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	fmt.Fprintf(c, `<rect class="bg" width="%d" height="%d" rx="8"/>`+"\n", width, height)
	return c
}

// box draws a box with a title and notes below it.
func (c *canvas) box(class string, x, y, width, height int, title string, notes ...string) {
	fmt.Fprintf(c, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n", class, x, y, width, height)
	top := y + (height-18*len(notes))/2 + 5
	c.text("", "middle", x+width/2, top, title)
	for i, note := range notes {
		c.text("note", "middle", x+width/2, top+18*(i+1), note)
	}
}

func (c *canvas) text(class, anchor string, x, y int, text string) {
	fmt.Fprintf(c, `<text class="%s" text-anchor="%s" x="%d" y="%d">%s</text>`+"\n", class, anchor, x, y, escapeXML(text))
}

// arrow draws a line through points, with a tip at the end.
func (c *canvas) arrow(points ...int) {
	var path strings.Builder
	for i := 0; i+1 < len(points); i += 2 {
		fmt.Fprintf(&path, "%c%d %d", "ML"[min(i, 1)], points[i], points[i+1])
	}
	fmt.Fprintf(c, `<path class="line" d="%s" marker-end="url(#tip)"/>`+"\n", path.String())
}

func (c *canvas) done() ([]byte, error) {
	c.WriteString("</svg>\n")
	return c.Bytes(), nil
}

// drawRequest shows the way of a request through the layers.
func drawRequest() ([]byte, error) {
	c := newCanvas(800, 300, "The way of a request: the program asks, the model answers, calls are read, checked, authorised, run and recorded")
	c.box("box", 20, 30, 120, 60, "Your program", "a task, tools")
	c.box("own", 190, 30, 130, 60, "agent", "turns, budgets")
	c.box("own", 370, 30, 190, 60, "provider, emulate, wire", "native, or taught tools")
	c.box("box", 640, 30, 140, 60, "Model", "any vendor, local")
	c.arrow(140, 60, 190, 60)
	c.arrow(320, 60, 370, 60)
	c.arrow(560, 60, 640, 60)
	c.box("own", 640, 170, 140, 60, "wire, dialect", "reads the calls")
	c.arrow(710, 90, 710, 170)
	c.box("own", 480, 170, 120, 60, "schema", "repairs, validates")
	c.arrow(640, 200, 600, 200)
	c.box("own", 320, 170, 120, 60, "invoke", "policy, approval")
	c.arrow(480, 200, 440, 200)
	c.box("box", 150, 170, 130, 60, "Tool", "Go, MCP, OpenAPI")
	c.arrow(320, 200, 280, 200)
	c.arrow(225, 170, 225, 90)
	c.text("note", "start", 232, 135, "results: the next turn")
	c.box("own", 170, 254, 610, 32, "journal: every request, call, decision and result, in one chain of hashes")
	return c.done()
}

// drawReceipt shows the chain of a record and what a change breaks.
func drawReceipt() ([]byte, error) {
	c := newCanvas(800, 240, "The promise of a receipt: each entry holds the hash of the entry before, so a change breaks the chain")
	kinds := []struct{ kind, detail string }{{"task", "what was asked"}, {"call", "exact arguments"}, {"decision", "who allowed it"}, {"result", "hash and status"}, {"seal", "the end of the run"}}
	for i, k := range kinds {
		x := 20 + 156*i
		class := "own"
		if i == 2 {
			class = "bad"
		}
		before := fmt.Sprintf("hash of entry %d", i)
		if i == 0 {
			before = "the first entry"
		}
		c.box(class, x, 40, 130, 70, k.kind, k.detail, before)
		if i > 0 {
			c.arrow(x, 75, x-26, 75)
		}
	}
	c.text("note", "middle", 20+156*2+65, 30, "changed afterwards")
	c.arrow(20+156*2+65, 150, 20+156*2+65, 112)
	c.text("", "middle", 20+156*2+65, 168, "verify: entry 3 does not match its hash")
	c.text("note", "middle", 400, 196, "Removed, added and reordered entries are found in the same way; a missing seal shows an open or cut record.")
	c.text("note", "middle", 400, 218, "A rewritten chain is found by an anchor: a hash, or a signature, kept elsewhere.")
	return c.done()
}

// drawFleet shows gateways in a fleet.
func drawFleet() ([]byte, error) {
	c := newCanvas(800, 300, "Gateways in a fleet: clients, a load balancer, gateways with a shared database, upstreams")
	for i, client := range []string{"OpenAI SDK", "Anthropic SDK", "coding agents"} {
		c.box("box", 20, 30+80*i, 130, 50, client)
		c.arrow(150, 55+80*i, 200, 135)
	}
	c.box("box", 200, 105, 110, 60, "Load balancer", "asks /readyz")
	for i := range 3 {
		c.box("own", 370, 30+80*i, 150, 50, fmt.Sprintf("Gateway %d", i+1))
		c.arrow(310, 135, 370, 55+80*i)
	}
	for i, upstream := range []string{"vendor, account 1", "vendor, account 2", "your vLLM, Ollama"} {
		c.box("box", 620, 30+80*i, 160, 50, upstream)
		c.arrow(520, 135, 620, 55+80*i)
	}
	c.box("own", 330, 256, 230, 36, "PostgreSQL: keys, spend, state")
	c.arrow(445, 240, 445, 256)
	c.text("note", "start", 572, 278, "failover and retries per route")
	c.text("note", "middle", 225, 278, "any gateway can answer")
	return c.done()
}

// answer is what a model wrote, for the picture of reading.
const answer = `<think>Rome, three days.</think>I look.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Rome", "days": 3,}}
</tool_call>
`

// drawReading shows how the engine reads an answer: each byte has the colour of its kind.
func drawReading() ([]byte, error) {
	var spans []dialect.Span
	parser := dialect.Parser{Trace: func(s dialect.Span) { spans = append(spans, s) }}
	var call string
	for ev, err := range parser.Parse(func(yield func(string, error) bool) { yield(answer, nil) }) {
		if err != nil {
			return nil, err
		}
		if got, ok := ev.(llm.Call); ok {
			call = got.Name + " " + string(got.Args)
		}
	}
	if call == "" {
		return nil, fmt.Errorf("the answer has no call: %v", spans)
	}
	c := newCanvas(800, 230, "How a call is read: each byte of an answer with its kind, and the call")
	const cell, top, row = 9, 34, 26
	x, y := 24, top
	classes, legend := map[string]string{}, []string{}
	for _, s := range spans {
		name := s.Kind.String()
		if classes[name] == "" {
			classes[name] = fmt.Sprintf("k%d", len(classes)%5+1)
			legend = append(legend, name)
		}
		for i, piece := range strings.Split(answer[s.Start:s.End], "\n") {
			if i > 0 {
				x, y = 24, y+row
			}
			if piece == "" {
				continue
			}
			fmt.Fprintf(c, `<rect class="%s" x="%d" y="%d" width="%d" height="21"/><text class="mono" x="%d" y="%d" textLength="%d">%s</text>`+"\n",
				classes[name], x, y-15, cell*len(piece), x, y, cell*len(piece), escapeXML(piece))
			x += cell * len(piece)
		}
	}
	x = 24
	for _, name := range legend {
		fmt.Fprintf(c, `<rect class="%s" x="%d" y="%d" width="14" height="14"/>`+"\n", classes[name], x, 148)
		c.text("note", "start", x+20, 160, name)
		x += 40 + 8*len(name)
	}
	c.text("", "start", 24, 192, "It becomes:")
	fmt.Fprintf(c, `<text class="mono" x="110" y="192">%s</text>`+"\n", escapeXML(call))
	c.text("note", "start", 24, 214, "The comma after 3 is a syntax repair, which the call lists.")
	return c.done()
}
