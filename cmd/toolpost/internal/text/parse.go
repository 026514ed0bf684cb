// Package text holds the commands that process text without a model: parse, explain, repair, validate and schema.
package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// reading holds the flags of parse and explain. In a batch they are the defaults of every row.
type reading struct {
	tools, model, dialect, template, thinking, finish string
}

func (r *reading) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.tools, "tools", "", "`file` of the tools that were offered; without it any name is accepted")
	f.StringVar(&r.model, "model", "", "`id` of the model that wrote the text, a hint at its dialect")
	f.StringVar(&r.dialect, "dialect", "", "`name` of the dialect, a hint for what the text leaves open")
	f.StringVar(&r.template, "template", "", "`file` with the model's chat template, another hint")
	f.StringVar(&r.thinking, "thinking", dialect.PromoteIfUnterminated.String(),
		"what calls inside thinking are: ignore, promote_if_unterminated or promote")
	f.StringVar(&r.finish, "finish", "", "why the model stopped: stop, length or content_filter")
}

// parser returns the parser for the flags, and a sentence about the source of the dialect hint.
func (r *reading) parser(cmd *cobra.Command) (p dialect.Parser, hint string, err error) {
	if p.Thinking, err = policy(r.thinking); err != nil {
		return p, "", cli.Usagef(cmd, "--thinking: %v", err)
	}
	if err := finish(&p, r.finish); err != nil {
		return p, "", cli.Usagef(cmd, "--finish: %v", err)
	}
	if r.tools != "" {
		if p.Tools, err = readTools(r.tools); err != nil {
			return p, "", err
		}
	}
	p.Dialect, hint, err = r.hint(cmd)
	return p, hint, err
}

// hint returns the dialect: the one given by name, else that of the template, else that of the model.
func (r *reading) hint(cmd *cobra.Command) (name, why string, err error) {
	if r.dialect != "" {
		if _, ok := dialect.Builtin().Lookup(r.dialect); !ok {
			return "", "", cli.Usagef(cmd, "--dialect: no dialect is called %q%s", r.dialect, cli.DidYouMean(r.dialect, DialectNames()))
		}
		return r.dialect, "named by --dialect", nil
	}
	if r.template != "" {
		text, err := cli.ReadBounded(r.template)
		if err != nil {
			return "", "", err
		}
		if name, why = dialect.Builtin().FromTemplate(text); name != "" {
			return name, why, nil
		}
		return "", "the template shows no dialect we know", nil
	}
	if r.model == "" {
		return "", "", nil
	}
	models, err := cli.UserCatalog("")
	if err != nil {
		return "", "", err
	}
	name, why = modelDialect(models, r.model)
	return name, why, nil
}

// DialectNames returns the names of the dialects.
func DialectNames() []string {
	var names []string
	for _, d := range dialect.Builtin().All() {
		names = append(names, d.Name)
	}
	return names
}

// modelDialect returns the dialect that a model is known to write, and the reason. An unknown model gives no hint.
func modelDialect(models *catalog.Catalog, id string) (name, why string) {
	m := models.Lookup(id)
	if _, ok := dialect.Builtin().Lookup(m.Dialect); !ok || !m.Known() {
		return "", "nothing is known of how " + id + " writes calls"
	}
	for _, w := range m.Explain() {
		if w.Field == "dialect" {
			return m.Dialect, fmt.Sprintf("because %s is known to write it (rule %s, %s)", id, w.Rule, w.From)
		}
	}
	return m.Dialect, "because " + id + " is known to write it"
}

func policy(word string) (dialect.ThinkingPolicy, error) {
	for _, p := range []dialect.ThinkingPolicy{dialect.PromoteIfUnterminated, dialect.Ignore, dialect.Promote} {
		if p.String() == word {
			return p, nil
		}
	}
	return 0, fmt.Errorf("no policy is called %q; there are ignore, promote_if_unterminated and promote", word)
}

// finish tells p why the model stopped. An empty word means that it is not known.
func finish(p *dialect.Parser, word string) error {
	switch reason := llm.Reason(word); reason {
	case "", llm.Stop, llm.ToolCalls, llm.Length, llm.ContentFilter:
		p.Finish = func() llm.Reason { return reason }
	default:
		return fmt.Errorf("no end is called %q; there are stop, length and content_filter", word)
	}
	return nil
}

func NewParse() *cobra.Command {
	var r reading
	var asJSON, asBatch bool
	cmd := &cobra.Command{
		Use:   "parse [FILE]",
		Short: "Read the tool calls in what a model wrote",
		Long: `Parse reads a captured answer, from FILE or standard input, and prints the thinking,
the text and the calls in it. The dialect is found from the text; hints only decide
what the text leaves open.

Without --tools any name is accepted; with an empty list nothing is a call. With tools,
arguments are checked against their schemas. A call that the text ends in is cut off,
unless --finish says how the model stopped. The exit code is 1 if a call cannot be run.

--batch reads one JSON object a line:
  {"id", "text", "tools"?, "model"?, "dialect"?, "thinking_open"?, "finish"?, "chunk"?}
and answers each with
  {"id", "calls", "text", "thinking", "dialect", "repairs", "invalid", "truncated", "suspected"}.
"suspected" lists what looks like a call and stayed text: {"start", "end", "name"}.`,
		Example: `  toolpost parse answer.txt
  toolpost parse --tools tools.json --json < answer.txt
  toolpost parse --batch < answers.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, _, err := r.parser(cmd)
			if err != nil {
				return err
			}
			if asBatch {
				if len(args) > 0 || asJSON {
					return cli.Usagef(cmd, "--batch reads standard input and takes neither FILE nor --json")
				}
				models, err := cli.UserCatalog("")
				if err != nil {
					return err
				}
				return cli.Batch(cmd, func(row parseRow) (parseAnswer, error) { return row.answer(p, models) })
			}
			text, err := cli.ReadInput(cmd, args)
			if err != nil {
				return err
			}
			a, err := r.parse(cmd, p, text, asJSON)
			if err == nil && len(a.Invalid) > 0 {
				return cli.ErrReported
			}
			return err
		},
	}
	r.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&asBatch, "batch", false, "read JSON lines and answer each with one line")
	return cmd
}

// parse parses a text and prints the result. Plain text is printed while it is parsed. A vendor's response is read
// completely first.
func (r *reading) parse(cmd *cobra.Command, p dialect.Parser, text string, asJSON bool) (*parseAnswer, error) {
	var out answerSink = newPeopleSink(cmd.OutOrStdout())
	c := openCapture(text)
	if c.format == "" {
		if asJSON {
			out = newJSONSink(cmd.OutOrStdout())
		}
		return r.stream(p, text, out)
	}
	a, err := read(p, c, 0)
	if err != nil {
		return nil, err
	}
	hold(&a, p.Tools)
	if asJSON {
		return &a, cli.PrintJSON(cmd.OutOrStdout(), a)
	}
	return &a, a.print(out)
}

// parseRow is a line of a batch.
type parseRow struct {
	ID           json.RawMessage `json:"id"`
	Text         *string         `json:"text"`
	Tools        toolList        `json:"tools"` // nil if absent or null
	Model        string          `json:"model"`
	Dialect      string          `json:"dialect"`
	ThinkingOpen bool            `json:"thinking_open"`
	Finish       string          `json:"finish"`
	Chunk        int             `json:"chunk"`
}

// answer parses a row. p holds the defaults of the row.
func (row parseRow) answer(p dialect.Parser, models *catalog.Catalog) (a parseAnswer, err error) {
	if row.Text == nil {
		return a, errors.New(`no "text"`)
	}
	if row.Chunk < 0 {
		return a, errors.New(`"chunk" is negative`)
	}
	if row.Finish != "" {
		if err := finish(&p, row.Finish); err != nil {
			return a, err
		}
	}
	if row.Tools != nil {
		p.Tools = row.Tools
	}
	var warnings []llm.Warning
	if row.Model != "" {
		if name, _ := modelDialect(models, row.Model); name != "" {
			p.Dialect = name
		}
	}
	if row.Dialect != "" {
		if _, ok := dialect.Builtin().Lookup(row.Dialect); ok {
			p.Dialect = row.Dialect
		} else { // an unknown dialect does not fail the row
			warnings = append(warnings, llm.Warning{Code: llm.Ignored, Feature: "dialect", Detail: fmt.Sprintf("no dialect is called %q", row.Dialect)})
		}
	}
	p.ThinkingOpen = row.ThinkingOpen
	a, err = read(p, capture{chunks: []string{*row.Text}}, row.Chunk)
	if err == nil {
		hold(&a, p.Tools)
	}
	a.ID = row.ID
	if len(a.ID) == 0 {
		a.ID = json.RawMessage("null")
	}
	a.Warnings = append(warnings, a.Warnings...)
	return a, err
}

// parseAnswer is the result of parsing a text.
type parseAnswer struct {
	ID        json.RawMessage   `json:"id,omitempty"`
	Calls     []callJSON        `json:"calls"`
	Text      string            `json:"text"`
	Thinking  string            `json:"thinking"`
	Dialect   string            `json:"dialect"`
	Repairs   []llm.Repair      `json:"repairs"`
	Invalid   []llm.InvalidCall `json:"invalid"`
	Truncated bool              `json:"truncated"`
	Suspected []suspect         `json:"suspected"`
	Warnings  []llm.Warning     `json:"warnings,omitempty"`

	parts []llm.Part // in the order of the text
	open  bool       // it is not known why the model stopped
}

// newParseAnswer returns the result of p before anything was read.
func newParseAnswer(p dialect.Parser) parseAnswer {
	reason := p.Reason()
	return parseAnswer{
		Calls: []callJSON{}, Repairs: []llm.Repair{}, Invalid: []llm.InvalidCall{}, Suspected: []suspect{},
		Truncated: reason == llm.Length || reason == llm.ContentFilter, open: reason == "",
	}
}

type callJSON struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Source    llm.Source      `json:"source"`
	Result    string          `json:"result"` // "call" or "doubtful"
}

// newCallJSON returns the JSON of a call.
func newCallJSON(c llm.Call) callJSON {
	return callJSON{c.Name, c.Args, c.Provenance.Source(), resultOf(c.Provenance)}
}

// resultOf returns how sure it is that a call is meant.
func resultOf(p llm.Provenance) string {
	if p.Doubtful() {
		return "doubtful"
	}
	return "call"
}

// read parses an answer, in chunks of n bytes or in its original chunks. If the text closes thinking that it never
// opened, it is read as beginning inside thinking.
func read(p dialect.Parser, c capture, n int) (parseAnswer, error) {
	p.ThinkingOpen = p.ThinkingOpen || dialect.Builtin().BeginsInThinking(c.text())
	if p.Reason() == "" && c.reason != "" {
		p.Finish = func() llm.Reason { return c.reason }
	}
	suspected := []suspect{}
	collectSuspects(&p, &suspected)
	var b llm.Builder
	for _, ev := range c.others {
		b.Add(ev)
	}
	for ev, err := range p.Parse(c.feed(n)) {
		if err != nil {
			return parseAnswer{}, err
		}
		b.Add(ev)
	}
	resp := b.Response()
	a := newParseAnswer(p)
	a.Warnings, a.parts, a.Suspected = resp.Warnings, resp.Message.Parts, suspected
	a.add(resp)
	return a, nil
}

func (a *parseAnswer) add(resp *llm.Response) {
	var text, thinking strings.Builder
	for _, part := range resp.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			text.WriteString(part.Text)
		case llm.Thinking:
			thinking.WriteString(part.Text)
		case llm.Call:
			a.Calls = append(a.Calls, newCallJSON(part))
			a.from(part.Provenance)
		}
	}
	a.Text, a.Thinking = text.String(), thinking.String()
	for _, bad := range resp.Invalid {
		a.refuse(bad)
		a.from(bad.Provenance)
	}
}

// from adds the provenance of a call. The first call determines the dialect.
func (a *parseAnswer) from(p llm.Provenance) {
	if a.Dialect == "" {
		a.Dialect = p.Dialect
	}
	a.Repairs = append(a.Repairs, p.Repairs...)
	a.Truncated = a.Truncated || p.Worst() == llm.Truncation
}

// print writes an answer that was read completely.
func (a *parseAnswer) print(out answerSink) error {
	for _, part := range a.parts {
		var err error
		switch part := part.(type) {
		case llm.Thinking:
			err = out.said(true, part.Text)
		case llm.Text:
			err = out.said(false, part.Text)
		case llm.Call:
			err = out.called(part)
		}
		if err != nil {
			return err
		}
	}
	return out.end(a)
}

// entry writes text after a label and indents further lines.
func entry(b *strings.Builder, label, text string) {
	if text == "" {
		return
	}
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n          ")
	fmt.Fprintf(b, "%s  %s\n", label, text)
}

// origin describes the dialect of a call, whether a marker announced it, and its repairs.
func origin(p llm.Provenance) string {
	var words []string
	if p.Dialect != "" {
		words = append(words, p.Dialect, string(p.Source()))
	}
	for _, r := range p.Repairs {
		words = append(words, fmt.Sprintf("repaired %s (%v)", r.Rule, r.Class))
	}
	return strings.Join(words, ", ")
}

// toolList holds the tools of a batch row. If they are absent or null, it is nil and any name is a call. If the list is
// empty, no name is a call.
type toolList []llm.ToolDef

// UnmarshalJSON reads definitions in every form that [tool.ParseDefs] knows.
func (l *toolList) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if b[0] != '[' {
		return fmt.Errorf("tools: %.20s is not a list", b)
	}
	list, err := parseTools(b)
	*l = list
	return err
}

// parseTools returns the definitions in text, without their ids. The list is never nil.
func parseTools(text []byte) ([]llm.ToolDef, error) {
	defs, err := tool.ParseDefs(text)
	list := make([]llm.ToolDef, 0, len(defs))
	for _, d := range defs {
		list = append(list, d.ToolDef)
	}
	return list, err
}

// readTools reads a file of definitions.
func readTools(file string) ([]llm.ToolDef, error) {
	text, err := cli.ReadBounded(file)
	if err != nil {
		return nil, err
	}
	if s := strings.TrimSpace(text); s == "" || s == "null" {
		return nil, fmt.Errorf("%s holds no list of tools", file)
	}
	defs, err := toolfile.ParseDefinitions(file, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return toolfile.PlainDefs(defs), nil
}

// hold makes calls invalid whose arguments do not match the schema of their tool.
func hold(a *parseAnswer, tools []llm.ToolDef) {
	parts := a.parts
	a.parts, a.Calls = nil, a.Calls[:0]
	for _, part := range parts {
		call, ok := part.(llm.Call)
		if !ok {
			a.parts = append(a.parts, part)
			continue
		}
		before := len(call.Provenance.Repairs)
		call, bad := checked(call, tools)
		if bad != nil {
			a.refuse(*bad)
			continue
		}
		a.Repairs = append(a.Repairs, call.Provenance.Repairs[before:]...)
		a.parts, a.Calls = append(a.parts, call), append(a.Calls, newCallJSON(call))
	}
}

// refuse adds a call that cannot be run.
func (a *parseAnswer) refuse(bad llm.InvalidCall) {
	if bad.Reason == llm.CutOff && a.open {
		bad.Problem = "the text ends in the middle of this call; if the model itself stopped there, say --finish stop"
	}
	a.Invalid = append(a.Invalid, bad)
	a.Truncated = a.Truncated || bad.Reason == llm.CutOff
}

// checked returns the call with its arguments converted to the types of its schema, and each conversion as a repair. If
// they do not match even then, it returns the call as invalid.
func checked(call llm.Call, tools []llm.ToolDef) (llm.Call, *llm.InvalidCall) {
	i := slices.IndexFunc(tools, func(d llm.ToolDef) bool { return d.Name == call.Name })
	if i < 0 || len(tools[i].Schema) == 0 {
		return call, nil
	}
	compiled, err := schema.Compile(schema.Schema(tools[i].Schema))
	if err != nil {
		return call, held(call, llm.BadArguments, fmt.Sprintf("the schema of the tool cannot be used: %v", err))
	}
	found := compiled.Check(call.Args)
	if found.Valid() {
		call.Args = found.Args
		repairs := slices.Clone(call.Provenance.Repairs)
		for _, c := range found.Changes {
			repairs = append(repairs, llm.Repair{Rule: string(c.Rule), Class: llm.Coercion})
		}
		call.Provenance.Repairs = repairs
		return call, nil
	}
	var problems []string
	for _, f := range found.Faults {
		problems = append(problems, f.Message)
	}
	return call, held(call, llm.BadArguments, strings.Join(problems, "; "))
}

func held(call llm.Call, why llm.InvalidReason, problem string) *llm.InvalidCall {
	return &llm.InvalidCall{ID: call.ID, Name: call.Name, Raw: string(call.Args), Reason: why, Problem: problem, Provenance: call.Provenance}
}

// capture is a captured answer: plain text, or the body of a vendor's response. The text of a response is parsed; its
// own calls and thinking are kept.
type capture struct {
	format string      // empty for plain text
	chunks []string    // the text in its original chunks
	others []llm.Event // the vendor's events without text
	reason llm.Reason  // why the model stopped; empty if unknown
}

// openCapture recognises a vendor's response. Other input, or a response that cannot be decoded, is plain text.
func openCapture(text string) capture {
	if found, ok := wire.Detect([]byte(beginning(text))); ok {
		c, err := decodeCapture(found.Format, text)
		if err == nil || found.Framing != "json" && len(c.chunks)+len(c.others) > 0 {
			return c
		}
	}
	return capture{chunks: []string{text}}
}

// beginning returns enough of a text to detect a vendor's stream. A JSON document is needed completely.
func beginning(text string) string {
	const look = 1 << 20
	if start := strings.TrimLeft(text[:min(len(text), look)], "\ufeff \t\r\n"); len(text) <= look || strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") {
		return text
	}
	return text[:look]
}

// decodeCapture decodes a response. A stream that breaks off counts as cut off.
func decodeCapture(format, text string) (capture, error) {
	c := capture{format: format, reason: llm.Length}
	for ev, err := range (wire.Codec{Format: format}).DecodeStream(strings.NewReader(text)) {
		if err != nil {
			return c, err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			c.chunks = append(c.chunks, ev.Text)
		case llm.Start, llm.KeepAlive:
		case llm.Finish:
			c.reason = ev.Reason
		default:
			c.others = append(c.others, ev)
		}
	}
	return c, nil
}

// text returns the text of the answer.
func (c capture) text() string { return strings.Join(c.chunks, "") }

// feed returns the text in chunks of n bytes, or in its original chunks.
func (c capture) feed(n int) iter.Seq2[string, error] {
	if n > 0 {
		return dialect.Cut(c.text(), n)
	}
	return func(yield func(string, error) bool) {
		for _, chunk := range c.chunks {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}
