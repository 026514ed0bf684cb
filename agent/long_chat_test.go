package agent_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// longHosts are the formats in which long conversations are held, each at a server that
// is as strict as the vendor.
var longHosts = []longHost{
	{wire.Chat, "openai", "/v1", "gpt-4o"},
	{wire.Responses, "openai", "/v1", "gpt-5"},
	{wire.Messages, "anthropic", "/v1", "claude-sonnet-4-5"},
	{wire.Gemini, "gemini", "/v1beta", "gemini-3-pro-preview"},
	{wire.Ollama, "ollama", "/api", "qwen3:8b"},
	{wire.Converse, "bedrock", "", "nova-2-lite"},
}

// longHost is a vendor and the model that a strict server plays.
type longHost struct{ wire, vendor, root, plays string }

// open opens a simulated model as one of the vendor, of whose window nothing is known.
func (h longHost) open(t *testing.T, server *httptest.Server, model string) (llm.Model, string) {
	t.Helper()
	id := h.vendor + "+" + server.URL + h.root + "#" + model + "+strict=" + h.plays
	info := catalog.Default().Lookup(h.vendor + "/" + h.plays)
	info.ID, info.Wire, info.NativeTools, info.ContextWindow = catalog.ID{Raw: id}, h.wire, yes, 0
	client := &provider.Client{HTTP: server.Client(), Catalog: catalog.Default().With(info), Key: func(string) (string, error) { return "any", nil }}
	m, err := client.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return m, id
}

// awsKeys are what the host of Amazon wants to see.
func awsKeys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
}

// TestCompactStrict: what is left of one long task with many calls is what every vendor accepts,
// with thinking and without, with a summary and without. Short runs try both or neither.
func TestCompactStrict(t *testing.T) {
	awsKeys(t)
	for _, host := range longHosts {
		for _, thinks := range []bool{false, true} {
			for _, sums := range []bool{false, true} {
				if sums != thinks && !testkit.IsLong() {
					continue
				}
				t.Run(fmt.Sprintf("%s/thinks=%v/sums=%v", host.wire, thinks, sums), func(t *testing.T) {
					var lines []any
					for i := range 12 {
						lines = append(lines, []llm.Part{llm.Text{Text: lasting("Next page.", 150)}, call("", "read_guide", fmt.Sprintf(`{"page":%d}`, i))})
					}
					server := httptest.NewServer(&sim.Server{Model: says(append(lines, "Read.")...)})
					t.Cleanup(server.Close)
					m, id := host.open(t, server, "sim/native")
					store := new(journal.Memory)
					a := agent.Agent{Model: m, ID: id, Store: store, Context: 1500, Tools: &invoke.Runner{Tools: tool.MustSet(new(longChat).guide())}, NewRun: func() string { return "r" }}
					if thinks {
						a.Request.Reasoning = &llm.Reasoning{Effort: "high"}
					}
					if sums {
						a.Compact = func(context.Context, agent.Compaction) (string, error) { return "Some pages were read.", nil }
					}
					l := run(t, &a, "Read the guide.")
					if l.err != nil || l.done.Text != "Read." || l.done.Ran != 12 || len(of[agent.Compacted](l)) == 0 {
						t.Errorf("%v, %d calls, %d compactions", l.err, l.done.Ran, len(of[agent.Compacted](l)))
					}
					sealedAndReplays(t, store, "r")
				})
			}
		}
	}
}

// TestNeedles: 20 facts told early in a long chat are still known at its end by a model that
// knows only what stands in its request, however often the chat was compacted. Nobody is told
// which facts will be asked for, and half as many more are never asked for. The window is known
// to the agent, or only to the vendor; in the short form it is one of both for each format.
//
// TOOLPOST_LONG_TURNS is how many turns there are before the questions; 60 by default.
func TestNeedles(t *testing.T) {
	turns, window, whole := 60, 4500, false
	if s := os.Getenv("TOOLPOST_LONG_TURNS"); s != "" {
		var err error
		if turns, err = strconv.Atoi(s); err != nil || turns < 20 {
			t.Fatalf("TOOLPOST_LONG_TURNS is %q, want a number from 20", s)
		}
		window, whole = 6000, true
	}
	awsKeys(t)
	server := httptest.NewServer(new(sim.Server))
	t.Cleanup(server.Close)
	for i, host := range longHosts {
		for _, known := range []bool{true, false} {
			if !whole && known != (i%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s/known=%v", host.wire, known), func(t *testing.T) {
				m, id := host.open(t, server, fmt.Sprintf("sim/recall+window=%d", window))
				c := &longChat{t: t, rng: rand.New(rand.NewPCG(uint64(i), 16)), store: new(journal.Memory)}
				c.agent = agent.Agent{Model: c.watched(m), ID: id, System: "Answer from what was said.", Store: c.store, Compact: agent.Summarize, Tools: &invoke.Runner{Tools: tool.MustSet(c.guide())}}
				if known { // in tokens as they are estimated, of which the vendor counts more
					c.agent.Context = window * 2 / 3
				}
				if missed := c.hold(turns); len(missed) > 0 {
					t.Errorf("not known any more: %q", missed)
				}
				if known != (c.refused == 0) {
					t.Errorf("%d questions were refused as too long", c.refused)
				}
			})
		}
	}
}

// TestNeedlesAreLost: without summaries the chat goes on, says what it leaves out, and what was told
// early is not known any more. Otherwise TestNeedles would prove nothing.
func TestNeedlesAreLost(t *testing.T) {
	t.Parallel()
	c := &longChat{t: t, rng: rand.New(rand.NewPCG(7, 16)), store: new(journal.Memory), mayLose: true}
	c.agent = agent.Agent{Model: c.watched(sim.Recall{}), Store: c.store, Context: 3000, Tools: &invoke.Runner{Tools: tool.MustSet(c.guide())}}
	if missed := c.hold(60); len(missed) < 15 {
		t.Errorf("only %d of 20 facts were lost", len(missed))
	}
}

// longChat is a chat as a terminal holds it: each message is a run that begins with what was
// said before.
type longChat struct {
	t         *testing.T
	rng       *rand.Rand
	agent     agent.Agent
	store     *journal.Memory
	messages  []llm.Message
	compacted []string // runs
	shortened int
	refused   int  // questions, as too long
	mayLose   bool // a part without a summary
}

// watched counts the questions that a model refuses as too long.
func (c *longChat) watched(m llm.Model) llm.Model {
	return llm.Around(m, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for ev, err := range m.Stream(ctx, req) {
				if llm.KindOf(err) == llm.TooLong {
					c.refused++
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	})
}

// fact is something that is told once.
type fact struct{ sentence, question, value string }

// facts makes some up.
func (c *longChat) facts(n int) []fact {
	first := strings.Fields("Mara Ilya Noor Tomas Wen Aiko Bela Chidi Dora Emil Farah Goran Hana Ivo Juno Kofi Lena Milo Nadia Otto")
	second := strings.Fields("Okafor Lindqvist Abara Novak Tanaka Duarte Moreau Silva Hansen Petrov Costa Weber")
	things := strings.Fields("locker badge parcel ticket invoice passport meter van desk router")
	seen := make(map[string]bool)
	var out []fact
	for len(out) < n {
		who := first[c.rng.IntN(len(first))] + " " + second[c.rng.IntN(len(second))]
		what := things[c.rng.IntN(len(things))] + " " + []string{"code", "number"}[c.rng.IntN(2)]
		if seen[who+what] {
			continue
		}
		seen[who+what] = true
		value := fmt.Sprintf("%s-%05d", string(rune('A'+c.rng.IntN(26))), c.rng.IntN(100_000))
		out = append(out, fact{fmt.Sprintf("The %s of %s is %s.", what, who, value), fmt.Sprintf("What is the %s of %s?", what, who), value})
	}
	return out
}

// chatter is talk that states nothing.
func (c *longChat) chatter(sentences int) []string {
	who := []string{"we", "the others", "they", "some of us", "the neighbours"}
	did := []string{"walked along the river", "talked about the garden", "waited for the rain to end", "looked at old pictures", "cooked something warm", "sat by the window"}
	how := []string{"for quite a while", "and laughed a lot", "as one does on such days", "without any hurry", "until it got dark", "and then went home"}
	out := make([]string, sentences)
	for i := range out {
		out[i] = fmt.Sprintf("%s %s %s.", who[c.rng.IntN(len(who))], did[c.rng.IntN(len(did))], how[c.rng.IntN(len(how))])
	}
	return out
}

// guide is a tool whose results are long.
func (c *longChat) guide() tool.Tool {
	t := tool.Func("read_guide", "Reads a page of the guide.", func(_ context.Context, in struct {
		Page int `json:"page"`
	}) (string, error) {
		return strings.Repeat("the guide says that one may sit down here and rest. ", 40), nil
	})
	t.Effects = tool.ReadOnly
	return t
}

// say sends a message and returns the answer.
func (c *longChat) say(text string) string {
	c.t.Helper()
	run := fmt.Sprintf("r%d", len(c.messages)+1000*len(c.compacted))
	c.agent.NewRun = func() string { return run }
	l := listen(c.agent.Run(c.t.Context(), append(c.messages[:len(c.messages):len(c.messages)], llm.User(text))...))
	if l.err != nil {
		c.t.Fatalf("%q: %v", text, l.err)
	}
	if len(of[agent.Compacted](l)) > 0 {
		c.compacted = append(c.compacted, run)
	}
	c.shortened += len(of[agent.Shortened](l))
	for _, w := range of[llm.Warning](l) {
		if !c.mayLose && strings.Contains(w.Detail, "without a summary") {
			c.t.Errorf("%q: %s", text, w.Detail)
		}
	}
	valid(c.t, l.done.Messages)
	c.messages = l.done.Messages
	return l.done.Text
}

// hold holds the chat, asks what was told in its first third, and returns what was not
// answered.
func (c *longChat) hold(turns int) (missed []string) {
	facts := c.facts(30)
	told := make(map[int][]fact)
	for _, f := range facts {
		at := c.rng.IntN(turns / 3)
		if at%7 == 6 { // then a page is read
			at--
		}
		told[at] = append(told[at], f)
	}
	needles := facts[:20]
	task := "Keep in mind what I tell you."
	c.say(task)
	for i := range turns {
		if i%7 == 6 {
			c.say(fmt.Sprintf("Please read the guide, page %d.", i))
			continue
		}
		lines := c.chatter(5 + c.rng.IntN(5))
		for _, f := range told[i] {
			lines[c.rng.IntN(len(lines))] += " " + f.sentence
		}
		c.say(strings.Join(lines, " "))
	}
	for _, f := range needles {
		if got := c.say(f.question); !strings.Contains(got, f.value) {
			missed = append(missed, f.question+" "+got)
		}
	}
	c.t.Logf("%d of %d facts known after %d turns: %d compactions, results shortened %d times, %d questions refused as too long", len(needles)-len(missed), len(needles), turns, len(c.compacted), c.shortened, c.refused)
	if least := turns / 50; len(c.compacted) < max(least, 1) || c.messages[0].Text() != task {
		c.t.Errorf("%d compactions, and the chat begins with %q", len(c.compacted), c.messages[0].Text())
	}
	for _, run := range c.compacted[max(0, len(c.compacted)-3):] {
		if err := agent.Replay(c.t.Context(), c.store, run); err != nil {
			c.t.Errorf("%s: %v", run, err)
		}
	}
	return missed
}
