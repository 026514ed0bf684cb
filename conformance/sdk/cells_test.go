package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/sim"
)

// row is a cell of the table: a request in the form of a vendor's client, and
// what must come of it.
type row struct {
	Cell, Format, Model string
	StreamModel         string `json:"stream_model"`
	Request             json.RawMessage
	Extra               map[string]any // fields that the client has no word for
	Modes               []string
	Does                string // what to do with the request; empty means to ask
	Expect              expectation
	Stream              *expectation // of a stream, if it differs
	Reply               *reply       // results of the calls of the first answer
	Then                json.RawMessage
	Explained           string
	tries               int // how often it may be asked; 0 means once
}

type reply struct {
	Result string
	First  expectation
	Forge  bool // change what is signed
}

type expectation struct {
	Text, Exactly, Thinking, Finish, Before string
	JSON                                    json.RawMessage
	Calls                                   *[][2]json.RawMessage
	Called                                  []string
	Signed, Cancelled, Counted, ID          bool
	Answers                                 bool // it has text or calls, whatever they are
	OutputTokens                            int  `json:"output_tokens"`
	Requests                                int
	Error                                   *struct {
		Status int
		Says   string
	}
}

// got is what a client understood.
type got struct {
	id, text, thinking, finish string
	signed                     bool
	calls                      [][2]string // name and arguments
	input, output              int
	// next is the request that goes on from the answer with results.
	next func(result string) any
}

// session is how a client is used.
type session struct {
	url, model string
	stream     bool
	retries    bool
	extra      map[string]any
	begun      func() // called when the first piece is there
}

// vendor is a client of a vendor's.
type vendor struct {
	ask      func(ctx context.Context, s session, request json.RawMessage) (*got, error)
	count    func(ctx context.Context, s session, request json.RawMessage) (int, error)
	describe func(ctx context.Context, s session) (id string, err error)
	status   func(error) int
	prefix   string // of the names of models
}

var vendors = map[string]vendor{
	"chat":      {ask: cellChat, describe: modelOpenAI, status: openaiStatus, prefix: "sim/"},
	"responses": {ask: cellResponses, count: countResponses, status: openaiStatus, prefix: "sim/"},
	"messages":  {ask: cellMessages, count: countMessages, describe: modelAnthropic, status: anthropicStatus, prefix: "sim/"},
	"gemini":    {ask: cellGemini, count: countGemini, describe: modelGemini, status: geminiStatus},
	"ollama":    {ask: cellOllama, status: ollamaStatus, prefix: "sim/"},
	"converse":  {ask: cellConverse, count: countConverse, status: amazonStatus, prefix: "sim/"},
}

func readTable(t *testing.T) []row {
	t.Helper()
	raw, err := os.ReadFile("../cells.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Fixtures map[string]string
		Cells    []json.RawMessage
		Over     map[string]upstream
		Through  []throughRow
	}
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, c := range table.Cells {
		text := string(c)
		for name, data := range table.Fixtures {
			text = strings.ReplaceAll(text, "{"+name+"}", data)
		}
		var r row
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	over := os.Getenv("TOOLPOST_CELLS_THROUGH")
	if over == "" {
		return rows
	}
	kind, known := table.Over[over]
	if !known {
		t.Fatalf("the table knows no upstream called %q", over)
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return kind.Cells != nil && !slices.Contains(kind.Cells, r.Cell) })
	for i, r := range rows {
		rows[i] = kind.of(r)
		for _, other := range table.Through {
			if slices.Contains(other.Over, over) && other.Cell == r.Cell && other.Format == r.Format {
				rows[i] = other.of(rows[i])
			}
		}
	}
	return rows
}

// upstream is a kind of upstream behind a gateway.
type upstream struct {
	Cells         []string     // those that are run; nil means all
	Expect, First *expectation // of every cell, if not what the cell says
	Tries         int          // how often a cell may be asked; 0 means once
}

// of is the cell with what can be expected of such an upstream.
func (u upstream) of(r row) row {
	if u.Expect != nil {
		r = throughRow{Expect: *u.Expect, First: u.First}.of(r)
	}
	r.tries = max(u.Tries, 1)
	return r
}

// throughRow says what a client of a gateway gets otherwise, over which kinds of upstream, and why.
type throughRow struct {
	Over              []string
	Cell, Format, Why string
	Expect            expectation
	Stream, First     *expectation
}

// of is the cell with what is expected through the gateway.
func (o throughRow) of(r row) row {
	r.Explained, r.Expect, r.Stream = o.Why, o.Expect, o.Stream
	if r.Reply != nil && o.First != nil {
		second := *r.Reply
		second.First = *o.First
		r.Reply = &second
	}
	return r
}

// unique makes the names of models that count their requests differ.
var unique atomic.Int64

// TestCells runs the table of cells. TOOLPOST_CELLS is the address of the server
// to ask; without it the simulator is started. TOOLPOST_CELLS_SIM is the address of
// the simulator behind it, if it is another, and TOOLPOST_CELLS_THROUGH what kind of
// upstream a gateway between them makes of it. TOOLPOST_CELLS_ONLY runs one cell in one
// mode, as "calls/stream".
func TestCells(t *testing.T) {
	base := os.Getenv("TOOLPOST_CELLS")
	if base == "" {
		server := httptest.NewServer(new(sim.Server))
		defer server.Close()
		base = server.URL
	}
	asked = base
	unique.Store(time.Now().UnixNano() % 1_000_000 * 200)
	var run, green, explained int
	ids := map[string]bool{}
	for _, r := range readTable(t) {
		modes := r.Modes
		if modes == nil {
			modes = []string{"whole", "stream"}
		}
		for _, mode := range modes {
			if only := os.Getenv("TOOLPOST_CELLS_ONLY"); only != "" && only != r.Cell+"/"+mode {
				continue
			}
			run++
			ok := t.Run(strings.Join([]string{r.Format, r.Cell, mode}, "/"), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				err := r.run(ctx, base, mode == "stream", ids)
				for left := r.tries - 1; err != nil && left > 0; left-- {
					t.Log("asked again:", err)
					err = r.run(ctx, base, mode == "stream", ids)
				}
				if err != nil {
					t.Error(err)
				}
			})
			switch {
			case ok && r.Explained != "":
				explained++
			case ok:
				green++
			}
		}
	}
	fmt.Printf("cells with the Go clients: %d run, %d green, %d explained\n", run, green, explained)
}

// run asks and compares.
func (r row) run(ctx context.Context, base string, stream bool, ids map[string]bool) error {
	v, ok := vendors[r.Format]
	if !ok {
		return fmt.Errorf("no client speaks %s", r.Format)
	}
	model, want := r.Model, r.Expect
	if stream {
		model = cmp.Or(r.StreamModel, model)
		if r.Stream != nil {
			want = *r.Stream
		}
	}
	model = v.prefix + strings.ReplaceAll(model, "{unique}", strconv.FormatInt(unique.Add(1), 10))
	s := session{url: base, model: model, stream: stream, retries: r.Does == "retry", extra: r.Extra, begun: func() {}}
	switch r.Does {
	case "count":
		return v.compareCount(ctx, s, r.Request, r.Explained == "")
	case "model":
		id, err := v.describe(ctx, s)
		if err != nil || !strings.HasSuffix(id, model) {
			return fmt.Errorf("the model is called %q: %w", id, err)
		}
		return nil
	case "cancel":
		return v.cancelled(ctx, s, r.Request)
	case "retrieve":
		return retrieved(ctx, s, r.Request, want)
	}
	g, err := r.converse(ctx, v, s, ids)
	if err := want.compare(g, err, v.status); err != nil {
		return err
	}
	if want.Requests > 0 {
		if n, err := seen(ctx, model); err != nil || n.Requests != want.Requests {
			return fmt.Errorf("%+v, want %d requests: %w", n, want.Requests, err)
		}
	}
	return nil
}

// converse asks what the cell says, in one step or two.
func (r row) converse(ctx context.Context, v vendor, s session, ids map[string]bool) (*got, error) {
	g, err := v.ask(ctx, s, r.Request)
	if err == nil {
		if err := newID(ids, g.id, r.Format); err != nil {
			return g, err
		}
	}
	switch {
	case err != nil:
		return g, err
	case r.Reply != nil:
		if err := r.Reply.First.compare(g, nil, v.status); err != nil {
			return g, fmt.Errorf("the first answer: %w", err)
		}
		next, err := json.Marshal(g.next(r.Reply.Result))
		if err != nil {
			return g, err
		}
		if r.Reply.Forge {
			next = forged(next)
		}
		return v.ask(ctx, s, next)
	case r.Then != nil:
		var next map[string]any
		if err := json.Unmarshal(r.Then, &next); err != nil {
			return g, err
		}
		next["previous_response_id"] = g.id
		body, err := json.Marshal(next)
		if err != nil {
			return g, err
		}
		return v.ask(ctx, s, body)
	}
	return g, nil
}

// newID refuses an answer without an id of its own. Ollama's and Amazon's have none.
func newID(ids map[string]bool, id, format string) error {
	if format == "ollama" || format == "converse" {
		return nil
	}
	if id == "" || ids[id] {
		return fmt.Errorf("the id %q of the answer is empty or not new", id)
	}
	ids[id] = true
	return nil
}

// forged changes all that is signed.
func forged(body []byte) []byte {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	forge(v)
	out, _ := json.Marshal(v) // it was JSON before
	return out
}

func forge(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			forge(e)
		}
	case map[string]any:
		for key, e := range v {
			if _, text := e.(string); text && slices.Contains([]string{"signature", "thoughtSignature", "encrypted_content"}, key) {
				v[key] = "Zm9yZ2Vk"
			} else {
				forge(e)
			}
		}
	}
}

// compare reports how an answer differs from what is expected.
func (e expectation) compare(g *got, err error, status func(error) int) error {
	if e.Error != nil {
		switch {
		case err == nil:
			return errors.New("there is an answer where an error was expected")
		case e.Error.Status != 0 && status(err) != e.Error.Status:
			return fmt.Errorf("status %d, want %d: %w", status(err), e.Error.Status, err)
		case !strings.Contains(err.Error()+openaiWords(err), e.Error.Says):
			return fmt.Errorf("the error does not say %q: %w", e.Error.Says, err)
		case e.Before != "" && (g == nil || !strings.Contains(g.text, e.Before)):
			return fmt.Errorf("before the error came %+v, want %q", g, e.Before)
		}
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range []struct {
		wrong bool
		what  string
	}{
		{!strings.Contains(g.text, e.Text), "text " + e.Text},
		{e.Exactly != "" && strings.TrimRight(g.text, " ") != strings.TrimRight(e.Exactly, " "), "exactly " + e.Exactly},
		{!strings.Contains(g.thinking, e.Thinking), "thinking " + e.Thinking},
		{e.Finish != "" && g.finish != e.Finish, "finish " + e.Finish},
		{e.Signed && !g.signed, "a signature"},
		{e.Answers && strings.TrimSpace(g.text) == "" && len(g.calls) == 0, "an answer"},
		{e.OutputTokens > 0 && g.output != e.OutputTokens, fmt.Sprint(e.OutputTokens, " tokens")},
		{e.JSON != nil && !sameJSON(e.JSON, []byte(g.text)), string(e.JSON)},
		{e.Calls != nil && !e.sameCalls(g), "other calls"},
		{e.Called != nil && !slices.Equal(e.Called, g.names()), fmt.Sprint("calls of ", e.Called)},
	} {
		if c.wrong {
			return fmt.Errorf("want %s, got %+v", c.what, *g)
		}
	}
	return nil
}

func (g *got) names() []string {
	var out []string
	for _, c := range g.calls {
		out = append(out, c[0])
	}
	return out
}

func (e expectation) sameCalls(g *got) bool {
	return slices.EqualFunc(*e.Calls, g.calls, func(want [2]json.RawMessage, c [2]string) bool {
		return string(want[0]) == strconv.Quote(c[0]) && sameJSON(want[1], []byte(c[1]))
	})
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// compareCount compares a count of tokens with what the answer says; one that is no estimate is
// the same.
func (v vendor) compareCount(ctx context.Context, s session, request json.RawMessage, exact bool) error {
	n, err := v.count(ctx, s, request)
	if err != nil {
		return err
	}
	g, err := v.ask(ctx, s, request)
	if err != nil {
		return err
	}
	if n == 0 || exact && n != g.input {
		return fmt.Errorf("%d tokens were counted, and the answer says %d", n, g.input)
	}
	return nil
}

// tally is what the simulator saw of a model.
type tally struct{ Requests, Open, Cancelled int }

func seen(ctx context.Context, model string) (tally, error) {
	var t tally
	base := cmp.Or(os.Getenv("TOOLPOST_CELLS_SIM"), asked)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/sim/seen?model="+url.QueryEscape(model), nil)
	if err != nil {
		return t, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return t, err
	}
	defer resp.Body.Close()
	return t, json.NewDecoder(resp.Body).Decode(&t)
}

// cancelled gives up an answer after its beginning, and waits until the server
// has seen that.
func (v vendor) cancelled(ctx context.Context, s session, request json.RawMessage) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	begun := make(chan struct{}, 1)
	s.begun = func() {
		select {
		case begun <- struct{}{}:
		default:
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := v.ask(asking, s, request)
		done <- err
	}()
	if s.stream {
		select {
		case <-begun:
		case err := <-done:
			return fmt.Errorf("it ended before it began: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	} else if err := waitFor(ctx, s.model, func(t tally) bool { return t.Open == 1 }); err != nil {
		return err
	}
	cancel()
	if err := <-done; err == nil {
		return errors.New("the answer came to its end")
	}
	return waitFor(ctx, s.model, func(t tally) bool { return t.Open == 0 && t.Cancelled == 1 && t.Requests == 1 })
}

func waitFor(ctx context.Context, model string, ok func(tally) bool) error {
	for {
		t, err := seen(ctx, model)
		if err != nil {
			return fmt.Errorf("the simulator has seen %+v: %w", t, err)
		}
		if ok(t) {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the simulator has seen %+v: %w", t, ctx.Err())
		}
	}
}

// asked is the address that the cells are run against.
var asked string
