package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// keyLog is a store that records the key of each write.
type keyLog struct {
	state.Memory
	keys []string
}

func (l *keyLog) add(p state.Place) {
	l.keys = append(l.keys, fmt.Sprintf("%s %x", p.Kind, p.Hash[:6]))
}

func (l *keyLog) Put(ctx context.Context, entries ...state.Kept) error {
	for _, e := range entries {
		l.add(e.Place)
	}
	return l.Memory.Put(ctx, entries...)
}

func (l *keyLog) Claim(ctx context.Context, e state.Kept, mine []byte) ([]byte, error) {
	l.add(e.Place)
	return l.Memory.Claim(ctx, e, mine)
}

// TestStoredKeys checks that entries are stored under the same keys as in earlier versions, because stores outlive a version
// and are shared by gateways of two versions.
func TestStoredKeys(t *testing.T) {
	log := new(keyLog)
	h := holder(t, nil)
	h.backend = log
	result := func(id string) llm.Message {
		return llm.Results(llm.Result{CallID: id, Name: "f", Parts: []llm.Part{llm.Text{Text: "seen"}}})
	}
	body := []byte(`{"model":"m","stream":true,"x":null,"messages":[{"role":"user","content":"<a>"}]}`)
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/api/chat"} {
		log.add(h.at(path, "me", "1").CacheKey("m", body, []byte("upstream")))
		for _, id := range []string{"call_1", "call_YHLNBHNMFURZGB7U_1", "toolu_1"} {
			call := llm.Call{ID: id, Name: "f", Args: []byte(`{"b": 1, "a": "<"}`)}
			talk := append(conversation("a", id, `{"a":1}`), result(id))
			m := h.at(path, "me", "1")
			m.HoldTurn([]llm.Message{result(id), llm.Assistant(call)}, NewHistory(talk), []llm.Call{call}, nil)

			g := NewSignatures(m, func(string) bool { return false })
			n := g.Begin(Signer{Upstream: "https://example.com/messages"}, &llm.Request{Messages: talk})
			for _, ev := range []llm.Event{llm.Start{}, call, llm.Finish{Reason: llm.ToolCalls}} {
				if err := g.Add(n, ev); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range []string{"", "mine"} {
			m := h.at(path, "me", "1")
			m.HTTP.Header.Set("OpenAI-Beta", "b, a")
			m.HTTP.Header.Set("Anthropic-Beta", "b, a")
			if name != "" {
				m.HTTP.Header.Set(IdempotencyHeader, name)
			}
			p, _, err := m.Idempotency("m", body, true)
			if err == nil {
				_, err = p.Claim(leaseTime)
			}
			if err != nil {
				t.Fatal(path, err)
			}
			log.keys = append(log.keys, "content "+p.content[:12])
			p.Release()
		}
		if err := h.ForgetReplay(t.Context(), "me", "resp_1"); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(slices.Compact(log.keys), "\n"); got != storedKeys {
		t.Errorf("the keys of stored entries changed:\n%s", got)
	}
}

const storedKeys = `cached 9a3deef34385
turn eeeda3e858e2
turn 9e0d2a4e89e8
signature 50b8784b1309
turn 5b26d77ffef4
turn 9ac1d5152e01
signature b4386fa593ee
turn 26fcc152294b
turn 2af1ab4c68c2
signature e80f739c5bb3
request 261eeb6dd528
content 721355400e98
request 6b46702fbd6c
content 73bd663292a6
request b8f967c230e0
cached e8fe97683ede
turn eeeda3e858e2
turn 9e0d2a4e89e8
signature 50b8784b1309
turn 5b26d77ffef4
turn 9ac1d5152e01
signature b4386fa593ee
turn 26fcc152294b
turn 2af1ab4c68c2
signature e80f739c5bb3
request 8a37a27cc6b7
content 04b8b3af29bc
request 6b46702fbd6c
content eec753cd1522
request b8f967c230e0
cached 8488ffb8e3cf
turn eeeda3e858e2
turn 8b955c47d1f8
signature 50b8784b1309
turn 5b26d77ffef4
turn 9ac1d5152e01
turn 8b955c47d1f8
signature b4386fa593ee
signature ba98affd92e7
turn 26fcc152294b
turn 8b955c47d1f8
signature e80f739c5bb3
signature e673698f6f14
request 98d03cfe6104
content b7ad7bb41e5a
request 6b46702fbd6c
content 3f99b31bad90
request b8f967c230e0`
