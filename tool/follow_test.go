package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// office returns tools of five kinds, as servers offer them.
func office(t *testing.T) *tool.Set {
	t.Helper()
	var sets []*tool.Set
	for _, server := range []struct{ name, thing string }{{"mail", "an e-mail message"}, {"files", "a file in a folder"}, {"weather", "the weather forecast of a city"}, {"bank", "a money transfer between accounts"}, {"calendar", "a meeting in the calendar"}} {
		var tools []tool.Tool
		for _, verb := range []string{"list", "read", "create", "delete"} {
			tools = append(tools, tool.New(verb, strings.ToUpper(verb[:1])+verb[1:]+" "+server.thing+".", nil,
				func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text("done"), nil }))
		}
		sets = append(sets, tool.MustSet(tools...).Prefix(server.name))
	}
	set, err := tool.Join(sets...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func called(id, name, args string) llm.Message {
	return llm.Assistant(llm.Call{ID: id, Name: name, Args: json.RawMessage(args)})
}

func answered(id string, failed bool) llm.Message {
	return llm.Results(llm.Result{CallID: id, Parts: []llm.Part{llm.Text{Text: "done"}}, Failed: failed})
}

// The selection of a longer conversation is appended to that of a shorter one,
// until the budget is used up; tools that are pinned, called or found stay even
// then.
func TestFollow(t *testing.T) {
	set := office(t)
	names := func(b tool.Selection, msgs ...llm.Message) []string {
		kept, left := set.Follow(msgs, b)
		if kept.Len()+len(left) != set.Len() {
			t.Errorf("%d selected and %d left of %d", kept.Len(), len(left), set.Len())
		}
		for _, o := range left {
			if _, both := kept.Lookup(o.Name); both {
				t.Errorf("%s is selected and left out", o.Name)
			}
		}
		return kept.Names()
	}
	six := tool.Selection{Tools: 6}
	mail, bank := llm.User("delete the e-mail message from Ann"), llm.User("create a money transfer between my accounts")
	first := names(six, mail)
	if len(first) != 6 || !slices.Contains(first, "mail__delete") {
		t.Fatalf("%v", first)
	}
	if again := names(six, mail); !slices.Equal(first, again) {
		t.Errorf("%v, then %v", first, again)
	}
	used := []llm.Message{mail, called("1", "mail__delete", "{}"), answered("1", false)}
	if got := names(six, used...); !slices.Equal(got, first) {
		t.Errorf("a call changed the selection from %v to %v", first, got)
	}
	if got := names(six, append(used, bank)...); len(got) != 6 || !slices.Contains(got, "mail__delete") || !slices.Contains(got, "bank__create") {
		t.Errorf("after another question: %v", got)
	}
	if got := names(six, append(used, llm.Note("create a money transfer between accounts"))...); !slices.Equal(got, first) {
		t.Errorf("a note of the library changed the selection from %v to %v", first, got)
	}
	wide := tool.Selection{Tools: 12}
	before := names(wide, used...)
	if got := names(wide, append(used, llm.User("thanks, delete one more e-mail"))...); !slices.Equal(got[:len(before)], before) {
		t.Errorf("%v is not appended to %v", got, before)
	}
	pinned := tool.Selection{Tools: 1, Pinned: []string{"weather__read", "calendar__list", "nosuch"}}
	if got := names(pinned, mail); !slices.Equal(got, []string{"weather__read", "calendar__list"}) {
		t.Errorf("pinned: %v", got)
	}
	find := []llm.Message{mail, called("1", tool.FinderName, `{"query":"weather forecast of a city"}`), answered("1", false)}
	got := names(six, find...)
	if !slices.Equal(got[:6], first) || !slices.Contains(got[6:], "weather__read") {
		t.Errorf("found: %v", got)
	}
	find[2] = answered("1", true)
	if got := names(six, find...); !slices.Equal(got, first) {
		t.Errorf("a search that failed found %v", got)
	}
}

// A group is selected whole, or not at all, unless it alone is over the budget.
func TestFollowGroups(t *testing.T) {
	set := office(t)
	b := tool.Selection{Tools: 9, GroupOf: func(d llm.ToolDef) string {
		namespace, _, _ := set.Original(d.Name)
		return namespace
	}}
	kept, _ := set.Follow([]llm.Message{llm.User("send an e-mail about the weather")}, b)
	count := make(map[string]int)
	for _, name := range kept.Names() {
		namespace, _, _ := set.Original(name)
		count[namespace]++
	}
	if len(count) != 2 || count["mail"] != 4 || count["weather"] != 4 {
		t.Errorf("%v", count)
	}
	b.Tools = 2
	if kept, _ := set.Follow([]llm.Message{llm.User("send an e-mail")}, b); kept.Len() != 2 {
		t.Errorf("with room for two: %v", kept.Names())
	}
}

// Selection from odd sets, questions and definitions never fails and is never
// empty.
func TestFollowOddities(t *testing.T) {
	nothing := func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{}, nil }
	many := make([]tool.Tool, 10_000)
	for i := range many {
		many[i] = tool.New(fmt.Sprintf("tool_%d", i), fmt.Sprintf("Does thing number %d.", i), nil, nothing)
	}
	big := tool.New("big", strings.Repeat("large words ", 1<<20/12), nil, nothing)
	for _, c := range []struct {
		name     string
		set      *tool.Set
		question string
		want     int
	}{
		{"an empty set", nil, "weather", 0},
		{"one tool", tool.MustSet(many[0]), "weather", 1},
		{"10,000 tools", tool.MustSet(many...), "thing number 77", 1},
		{"an empty question", office(t), "", 1},
		{"a question in Chinese", office(t), "罗马的天气怎么样?", 1},
		{"a question in Arabic", office(t), "ما هو الطقس في روما؟", 1},
		{"no letters at all", office(t), "?!\x00\xff", 1},
		{"a definition of 1 MB", tool.MustSet(big, many[1], many[2]), "large words", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, left := c.set.Follow([]llm.Message{llm.User(c.question)}, tool.Selection{Tools: 1})
			if kept.Len() != c.want || kept.Len()+len(left) != c.set.Len() {
				t.Errorf("%d selected, %d left of %d", kept.Len(), len(left), c.set.Len())
			}
		})
	}
	if kept, _ := office(t).Follow(nil, tool.Selection{Tools: 3}); kept.Len() != 3 {
		t.Errorf("without a conversation: %v", kept.Names())
	}
}

// find_tools names tools and runs none.
func TestFinder(t *testing.T) {
	find := office(t).Finder(func(name string) bool { return name == "weather__list" })
	out, err := find.Run(t.Context(), json.RawMessage(`{"query":"weather forecast of a city"}`))
	if err != nil || len(out.Parts) != 1 {
		t.Fatal(out, err)
	}
	text := out.Parts[0].(llm.Text).Text
	if !strings.Contains(text, "\n- weather__read: Read the weather forecast of a city.") || strings.Count(text, "\n- ") > 5 || strings.Contains(text, "weather__list") {
		t.Error(text)
	}
	out, err = find.Run(t.Context(), json.RawMessage(`{"query":"…"}`))
	if err != nil || !strings.HasPrefix(out.Parts[0].(llm.Text).Text, "No other tool fits") {
		t.Error(out, err)
	}
}

// TestFindToolsSaysWhatDoesNotFit: a tool whose name has the word in another form is found, and tools without a word of
// the query are not offered as matches.
func TestFindToolsSaysWhatDoesNotFit(t *testing.T) {
	feeder := tool.New("zebra_feeder", "Opens hatch nine.", nil, func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text("done"), nil })
	set, err := tool.Join(office(t), tool.MustSet(feeder))
	if err != nil {
		t.Fatal(err)
	}
	find := set.Finder(nil)
	ask := func(query string) string {
		out, err := find.Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"query":%q}`, query)))
		if err != nil {
			t.Fatal(err)
		}
		return out.Parts[0].(llm.Text).Text
	}
	if got := ask("feed"); !strings.Contains(got, ":\n- zebra_feeder: ") {
		t.Errorf("feed finds\n%s", got)
	}
	if got := ask("qqqq zzzz"); !strings.Contains(got, "No other tool fits") {
		t.Errorf("what no tool does finds\n%s", got)
	}
	if got := ask("astronomy"); strings.HasPrefix(got, "You can call these") {
		t.Errorf("what no tool does finds\n%s", got)
	}
	if got := ask("send an e-mail message"); !strings.HasPrefix(got, "You can call these tools in your next turn:\n- mail__") {
		t.Errorf("what some tools do finds\n%s", got)
	}
}

// Pinned and called tools stay through questions that they do not fit, even beyond the budget.
func TestFollowKeepsPinnedAndCalledTools(t *testing.T) {
	set := office(t)
	later := []llm.Message{llm.User("create a money transfer between my accounts"), llm.User("delete the bank account"), llm.User("send an e-mail about the transfer")}
	for name, c := range map[string]struct {
		budget tool.Selection
		before []llm.Message
	}{
		"pinned": {tool.Selection{Tools: 2, Pinned: []string{"weather__read"}}, nil},
		"called": {tool.Selection{Tools: 2}, []llm.Message{llm.User("read my e-mail"), called("1", "weather__read", "{}"), answered("1", false)}},
		"found":  {tool.Selection{Tools: 2}, []llm.Message{llm.User("read my e-mail"), called("1", tool.FinderName, `{"query":"weather forecast of a city"}`), answered("1", false)}},
	} {
		for n := range len(later) + 1 {
			kept, _ := set.Follow(append(slices.Clone(c.before), later[:n]...), c.budget)
			if !slices.Contains(kept.Names(), "weather__read") {
				t.Errorf("%s: after %d questions: %v", name, n, kept.Names())
			}
		}
	}
}

// A selection without a conversation keeps pinned tools, and they count.
func TestSelectKeepsPinnedTools(t *testing.T) {
	for _, question := range []string{"create a money transfer between my accounts", "", "send an e-mail"} {
		for n := 1; n <= 3; n++ {
			kept, left := office(t).Select(question, tool.Selection{Tools: n, Pinned: []string{"weather__read"}})
			if !slices.Contains(kept.Names(), "weather__read") || kept.Len() != n {
				t.Errorf("%q: %d tools: %v", question, n, kept.Names())
			}
			if slices.ContainsFunc(left, func(o tool.Omitted) bool { return o.Name == "weather__read" }) {
				t.Errorf("%q: %v left out", question, left)
			}
		}
	}
}

// A tool that was called takes a place of the budget, so questions do not add more than fit.
func TestCalledToolsCountAgainstTheBudget(t *testing.T) {
	set := office(t)
	messages := []llm.Message{called("1", "weather__read", "{}"), answered("1", false)} // the first question comes later
	for _, question := range []string{"create a money transfer between my accounts", "delete the bank account", "send an e-mail about the transfer"} {
		messages = append(messages, llm.User(question))
		if kept, _ := set.Follow(messages, tool.Selection{Tools: 2}); kept.Len() > 2 {
			t.Errorf("after %q: %v", question, kept.Names())
		}
	}
}
