package sim_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// TestRecall: the model answers from its request alone, and a summary keeps all statements, whatever their subject.
func TestRecall(t *testing.T) {
	told := []llm.Message{llm.User("By the way, the locker code of Mara Okafor is 48213. It was a fine day."), llm.Assistant(llm.Text{Text: "Noted."})}
	ask := func(msgs []llm.Message, question string) string {
		r, err := llm.Generate(t.Context(), sim.Recall{}, &llm.Request{Messages: append(msgs[:len(msgs):len(msgs)], llm.User(question))})
		if err != nil {
			t.Fatal(err)
		}
		return r.Message.Text()
	}
	if got := ask(told, "What is the locker code of Mara Okafor?"); got != "By the way, the locker code of Mara Okafor is 48213." {
		t.Error(got)
	}
	for name, msgs := range map[string][]llm.Message{"nothing": nil, "another": {llm.User("The locker code of Mara Abara is 1.")}} {
		if got := ask(msgs, "What is the locker code of Mara Okafor?"); got != "I do not know." {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := ask(told, "It was a fine day."); got != "Noted." {
		t.Error(got)
	}
	conversation := strings.Join([]string{
		"<conversation>", "user: Hello there, how are you doing? It was a long and tiring day.", "assistant: Noted.",
		"user: The train to Bergen leaves at 17:42. We talked about the weather for a while.",
		"call c1 of look_up with {\"page\":3}", "call c1 said: Nothing is on it. The file is /srv/data/a.csv here.",
		"assistant: [Summary of 12 earlier messages, which were left out to save space.]", "- Ana's birthday is on 2026-03-04.", "- call c0 of ping with {}",
		"</conversation>"}, "\n")
	sum := func(system string) string {
		r, err := llm.Generate(t.Context(), sim.Recall{}, &llm.Request{System: system, Messages: []llm.Message{llm.User(conversation)}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Message.Text()
	}
	want := "Facts\n- The train to Bergen leaves at 17:42.\n- The file is /srv/data/a.csv here.\n- Ana's birthday is on 2026-03-04.\nCalls\n- call c1 of look_up with {\"page\":3}\n- call c0 of ping with {}"
	if got := sum("Write a summary."); got != want {
		t.Errorf("%s", got)
	}
	asked := &llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "Write a summary."}}}, llm.User(conversation)}}
	if r, err := llm.Generate(t.Context(), sim.Recall{}, asked); err != nil || r.Message.Text() != want {
		t.Errorf("asked by a system message: %v, %v", r, err)
	}
	if got := sum("Write a summary of at most 10 words."); got != "Facts\n- The train to Bergen leaves at 17:42.\nCalls" {
		t.Errorf("%s", got)
	}
}

// TestWindow: a server with a window refuses longer requests with the message of each vendor, which clients understand,
// and answers shorter ones.
func TestWindow(t *testing.T) {
	long := llm.User(strings.Repeat("and so on ", 200))
	everyClient(t, nil, func(t *testing.T, c client) {
		req := llm.Request{Model: "sim/recall+window=300", MaxTokens: 100, Messages: []llm.Message{long}}
		if _, err := c.ask(t.Context(), &req); llm.KindOf(err) != llm.TooLong {
			t.Error(err)
		}
		req.Messages = []llm.Message{llm.User("Hi.")}
		if r, err := c.ask(t.Context(), &req); err != nil || r.Message.Text() != "Noted." {
			t.Error(err)
		}
	})
}
