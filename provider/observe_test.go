package provider_test

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider"
)

// questions notes the questions that are over.
type questions struct {
	mu   sync.Mutex
	over []*observe.ModelCall
}

func (q *questions) Begin(ctx context.Context, _ observe.Step) context.Context { return ctx }

func (q *questions) End(_ context.Context, s observe.Step) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = append(q.over, s.(*observe.ModelCall))
}

// TestObservedQuestions: a question is one ModelCall that says how it was asked and
// how often, whether the model is asked alone or inside another.
func TestObservedQuestions(t *testing.T) {
	for _, inside := range []bool{false, true} {
		v := &vendor{replies: []reply{{status: 503}, {status: 200, body: good}}}
		m := open(t, &provider.Client{HTTP: &http.Client{Transport: v}, Key: func(string) (string, error) { return "k", nil }, Retry: provider.RetryPolicy{Initial: time.Millisecond}}, "deepseek/deepseek-chat")
		if inside {
			m = observing.Model(m, "outer")
		}
		q := new(questions)
		if _, err := llm.Generate(observe.With(t.Context(), q), m, &llm.Request{Messages: []llm.Message{llm.User("?")}}); err != nil {
			t.Fatal(err)
		}
		if len(q.over) != 1 {
			t.Fatalf("inside %v: %d questions", inside, len(q.over))
		}
		c := q.over[0]
		if c.Vendor != "deepseek" || c.Name != "deepseek-chat" || c.Host != "api.deepseek.com" || c.Wire != "chat" || c.Route != "native" || c.Attempts != 2 ||
			len(c.Retries) != 1 || c.Retries[0].Attempt != 1 || c.Retries[0].Why != llm.Overloaded.String() || c.Finish != llm.Stop || c.Message.Text() != "Hi." || c.First == 0 || c.Took < c.First {
			t.Errorf("inside %v: %+v", inside, c)
		}
	}
}

// TestObservedFallback: a model that asks one after the other is one question, and
// says how it was answered.
func TestObservedFallback(t *testing.T) {
	client := func(replies ...reply) *provider.Client {
		return &provider.Client{HTTP: &http.Client{Transport: &vendor{replies: replies}}, Key: func(string) (string, error) { return "k", nil }, Retry: provider.RetryPolicy{Attempts: 1}}
	}
	bad, well := open(t, client(reply{status: 500}), "deepseek/deepseek-chat"), open(t, client(reply{status: 200, body: good}), "groq/llama-3.3-70b-versatile")
	both := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		if _, err := llm.Generate(ctx, bad, req); err == nil {
			t.Error("the first one answers")
		}
		return well.Stream(ctx, req)
	})
	q := new(questions)
	if _, err := llm.Generate(observe.With(t.Context(), q), observing.Model(both, "both"), &llm.Request{Messages: []llm.Message{llm.User("?")}}); err != nil {
		t.Fatal(err)
	}
	if len(q.over) != 1 || q.over[0].Vendor != "groq" || q.over[0].Attempts != 2 || q.over[0].Err != nil {
		t.Errorf("%d questions, %+v", len(q.over), q.over[0])
	}
}
