package mcpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
)

// asked is a model that servers may ask; it keeps what it was asked.
type asked struct {
	mu   sync.Mutex
	reqs []*llm.Request
	err  error
}

func (a *asked) sample(_ context.Context, server string, req *llm.Request) (*llm.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reqs = append(a.reqs, req)
	if a.err != nil {
		return nil, a.err
	}
	return &llm.Response{Start: llm.Start{Model: "small"}, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: fmt.Sprintf("answer %d to %s", len(a.reqs), server)}}},
		Finish: llm.Finish{Reason: llm.Stop, Usage: llm.Usage{Input: 10, Output: 5}}}, nil
}

// TestSampling: a server asks the model of the run in the middle of a call, if its
// configuration allows that, in the older revisions and in the newest, and the
// output of the call says what that used.
func TestSampling(t *testing.T) {
	t.Parallel()
	for _, times := range []string{"1", "2"} {
		model := new(asked)
		s := stdio("asks", "ordinary")
		s.Sampling = true
		servers, told := open(t, client.Options{Sample: model.sample}, s)
		out, err := call(t, toolsOf(t, servers), "asks__sample", `{"times":`+times+`,"prompt":"What now?"}`)
		if err != nil || !strings.Contains(textOf(out), "answer 1 to asks") {
			t.Fatalf("%q, %v; %s", textOf(out), err, told)
		}
		if n := len(model.reqs); fmt.Sprint(n) != times || out.Usage.Input != 10*n || len(out.Did) != n || out.Did[0].Type != "model_asked" {
			t.Errorf("asked %d times, used %+v, did %+v", n, out.Usage, out.Did)
		}
		req := model.reqs[0]
		if len(req.Tools) != 0 || len(req.Messages) != 1 || req.Messages[0].Text() != "What now?" || req.MaxTokens != 2000 || req.System != "Be short." {
			t.Errorf("the question is %+v", req)
		}
	}
}

// TestSamplingIsRefused: by default, beyond the bounds, without a model, and for what is
// no text; the server is told why, and nobody is asked.
func TestSamplingIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, args, want string
		allowed, model   bool
		asked            int
	}{
		{"by default", `{"times":1,"prompt":"x"}`, "sampling is not set for it", false, true, 0},
		{"without a model", `{"times":1,"prompt":"x"}`, "no model to ask", true, false, 0},
		{"too often", `{"times":6,"prompt":"x"}`, "may ask 5 times", true, true, 5},
		{"too long", `{"times":1,"prompt":"` + strings.Repeat("x", 70<<10) + `"}`, "at most 65536 bytes", true, true, 0},
		{"an image", `{"times":1,"image":true}`, "only text can be asked", true, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := new(asked)
			s := stdio("asks", "ordinary")
			s.Sampling = c.allowed
			o := client.Options{}
			if c.model {
				o.Sample = model.sample
			}
			servers, _ := open(t, o, s)
			out, err := call(t, toolsOf(t, servers), "asks__sample", c.args)
			got := textOf(out) + fmt.Sprint(err)
			if !strings.Contains(got, c.want) || len(model.reqs) != c.asked {
				t.Errorf("the server says %q; the model was asked %d times", got, len(model.reqs))
			}
		})
	}
	model := &asked{err: errors.New("no credit")}
	s := stdio("asks", "ordinary")
	s.Sampling = true
	servers, _ := open(t, client.Options{Sample: model.sample}, s)
	out, err := call(t, toolsOf(t, servers), "asks__sample", `{"times":1,"prompt":"x"}`)
	if got := textOf(out) + fmt.Sprint(err); !strings.Contains(got, "no credit") {
		t.Errorf("a model that fails: %s", got)
	}
}
