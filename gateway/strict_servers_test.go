package gateway_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// strictServers are vendors with a model each, and the strict server that stands in for them.
var strictServers = []struct{ vendor, model, root, plays string }{
	{"openai", "gpt-4o", "/v1", "openai/gpt-4o"},
	{"openai", "gpt-5", "/v1", "openai/gpt-5"},
	{"anthropic", "claude-sonnet-4-5", "/v1", "claude-sonnet-4-5"},
	{"anthropic", "claude-opus-4-7", "/v1", "claude-opus-4-7"},
	{"gemini", "gemini-2.5-pro", "/v1beta", "gemini-2.5-pro"},
	{"gemini", "gemini-3-pro-preview", "/v1beta", "gemini-3-pro-preview"},
	{"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "", "claude-sonnet-4-5"},
	{"bedrock", "amazon.nova-pro-v1:0", "", "bedrock/nova-pro"},
	{"ollama", "qwen3:8b", "/api", "ollama"},
	{"deepseek", "deepseek-chat", "/v1", "deepseek/deepseek-chat"},
	{"deepseek", "deepseek-reasoner", "/v1", "deepseek/deepseek-reasoner"},
	{"mistral", "mistral-large-latest", "/v1", "mistral/mistral-large-latest"},
	{"moonshot", "kimi-k2.5", "/v1", "moonshot/kimi-k2.5"},
	{"groq", "llama-3.3-70b-versatile", "/v1", "groq"},
	{"cerebras", "gpt-oss-120b", "/v1", "cerebras"},
	{"xai", "grok-4", "/v1", "xai/grok-4"},
	{"openrouter", "mistralai/mistral-large", "/v1", "openrouter"},
	{"vllm", "Qwen/Qwen3.5-9B", "/v1", "vllm/qwen3.5-9b"},
	{"vllm", "google/gemma-3-12b-it", "/v1", "vllm/gemma-3-12b-it"},
	{"vllm", "mistralai/Mistral-Small-3.2-24B-Instruct-2506", "/v1", "vllm/mistral-small-3.2"},
	{"sglang", "Qwen/Qwen3-8B", "/v1", "sglang/qwen3-8b"},
	{"llamacpp", "qwen3-8b", "/v1", "llamacpp/qwen3-8b"},
	{"llamacpp", "mistral-small-3.2", "/v1", "llamacpp/mistral-small-3.2"},
	{"llamacpp", "llama-3.1-8b-instruct", "/v1", "llamacpp/llama-3.1-8b-instruct"},
	{"llamacpp", "gemma-3-12b-it", "/v1", "llamacpp/gemma-3-12b-it"},
	{"openai-compatible", "an-unknown-model", "/v1", "llamacpp/qwen3.5-9b"},
}

// own returns the format that a vendor made.
func own(vendor string) string {
	return map[string]string{"openai": wire.Chat, "anthropic": wire.Messages, "gemini": wire.Gemini, "bedrock": wire.Converse, "ollama": wire.Ollama}[vendor]
}

// recorder keeps the last request that a server got.
type recorder struct {
	http.Handler
	mu   sync.Mutex
	last []byte
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.last = body
	r.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.Handler.ServeHTTP(w, req)
}

func (r *recorder) body() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.last)
}

// shape generates requests of every shape that clients send: instructions in any place, several messages of one
// side, results that are late, missing, failed, empty or have images, and empty texts.
type shape struct {
	*rand.Rand
	words, calls int
}

func (c *shape) text() llm.Part {
	switch c.IntN(12) {
	case 0:
		return llm.Text{}
	case 1:
		return llm.Text{Text: " \n"}
	}
	c.words++
	return llm.Text{Text: fmt.Sprintf("word%dx", c.words)}
}

func (c *shape) image() llm.Part {
	c.words++
	return llm.Media{Kind: llm.Image, MIME: "image/png", Data: fmt.Appendf(nil, "\x89PNG\r\n\x1a\n%06d", c.words)}
}

// turn appends a message, or a turn with calls.
func (c *shape) turn(req *llm.Request) {
	say := func(role llm.Role, parts ...llm.Part) {
		req.Messages = append(req.Messages, llm.Message{Role: role, Parts: parts})
	}
	switch c.IntN(10) {
	case 0, 1, 2:
		say(llm.RoleUser, c.text())
	case 3:
		say(llm.RoleUser, c.text(), c.image())
	case 4:
		say(llm.RoleAssistant, c.text())
	case 5:
		say(llm.RoleSystem, c.text())
	case 6:
		say(llm.RoleDeveloper, c.text())
	default:
		c.callsAndResults(say)
	}
}

func (c *shape) callsAndResults(say func(llm.Role, ...llm.Part)) {
	parts := []llm.Part{c.text()}[:c.IntN(2)]
	var results []llm.Part
	for range 1 + c.IntN(3) {
		c.calls++
		id := fmt.Sprintf("call_%d_of_another_vendor", c.calls)
		parts = append(parts, llm.Call{ID: id, Name: weather.Name, Args: json.RawMessage(`{"city":"Rome"}`)})
		r := llm.Result{CallID: id, Name: weather.Name, Failed: c.IntN(6) == 0}
		for range c.IntN(3) {
			r.Parts = append(r.Parts, c.text())
		}
		if c.IntN(5) == 0 {
			r.Parts = append(r.Parts, c.image())
		}
		if c.IntN(8) > 0 {
			results = append(results, r)
		}
	}
	say(llm.RoleAssistant, parts...)
	if c.IntN(6) == 0 { // something between a call and its result
		say([]llm.Role{llm.RoleUser, llm.RoleSystem}[c.IntN(2)], c.text())
	}
	for _, r := range results {
		say(llm.RoleTool, r)
	}
}

func newConversation(seed uint64) *llm.Request {
	c := &shape{Rand: rand.New(rand.NewPCG(seed, 41))}
	req := &llm.Request{Model: "m", MaxTokens: 4000}
	if c.IntN(2) == 0 {
		req.System = c.text().(llm.Text).Text
	}
	if c.IntN(4) > 0 {
		req.Tools = []llm.ToolDef{weather}
	}
	for range 1 + c.IntN(7) {
		c.turn(req)
	}
	if !slices.ContainsFunc(req.Messages, func(msg llm.Message) bool { return msg.Role == llm.RoleUser }) {
		req.Messages = slices.Insert(req.Messages, c.IntN(len(req.Messages)+1), llm.User("word00x"))
	}
	if last := req.Messages[len(req.Messages)-1].Role; last != llm.RoleUser && last != llm.RoleTool && c.IntN(4) > 0 {
		req.Messages = append(req.Messages, llm.User("word0x"))
	}
	return req
}

var generatedWords = regexp.MustCompile(`word\d+x`)

// lost returns the words and images of one request that are not in another.
func lost(from, in string) []string {
	missing := map[string]bool{}
	for _, w := range generatedWords.FindAllString(from, -1) {
		if !strings.Contains(in, w) {
			missing[w] = true
		}
	}
	start := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n0"))[:8]
	for _, image := range regexp.MustCompile(regexp.QuoteMeta(start)+`[A-Za-z0-9+/=]*`).FindAllString(from, -1) {
		if !strings.Contains(in, image) {
			missing[image] = true
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

// No strict server refuses a conversation, whatever its shape, and nothing that a client said is lost without a warning:
// from the library and from clients of all formats.
func TestStrictServersRefuseNothing(t *testing.T) {
	const conversations = 12
	for i, s := range strictServers {
		t.Run(s.vendor+"/"+s.model+" as "+s.plays, func(t *testing.T) {
			t.Parallel()
			upstream := &recorder{Handler: &sim.Server{Unknown: "sim/native+strict=" + s.plays}}
			server := httptest.NewServer(upstream)
			t.Cleanup(server.Close)
			client := &provider.Client{Retry: provider.RetryPolicy{Attempts: -1}, Key: func(string) (string, error) { return "k", nil }}
			id := s.vendor + "+" + server.URL + s.root + "#" + s.model
			url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", id)}})
			model, err := client.Open(id)
			if err != nil {
				t.Fatal(err)
			}
			for n := range conversations {
				req := newConversation(uint64(i*conversations + n))
				var told strings.Builder
				answer, err := llm.Generate(t.Context(), model, req)
				if err != nil {
					t.Errorf("library, conversation %d: %v\n%s", n, err, upstream.body())
					continue
				}
				for _, w := range answer.Warnings {
					fmt.Fprintln(&told, w.Code, w.Feature, w.Detail)
				}
				said, _ := json.Marshal(req)
				if gone := lost(string(said), upstream.body()); len(gone) > 0 && told.Len() == 0 {
					t.Errorf("library, conversation %d: lost %v\nsaid %s\nsent %s", n, gone, said, upstream.body())
				}
				for format := range roots {
					codec, _ := wire.For(format)
					body, _, err := codec.EncodeRequest(req, n%2 == 0)
					if err != nil {
						t.Fatal(err)
					}
					resp, answer := send(t, "POST", url+roots[format]+"/"+codec.Path("m", n%2 == 0), "application/json", string(body))
					if resp.StatusCode != http.StatusOK && own(s.vendor) == format {
						body := bytes.Replace(body, []byte(`"model":"m"`), fmt.Appendf(nil, `"model":%q`, s.model), 1)
						if direct, _ := send(t, "POST", server.URL+s.root+"/"+codec.Path(s.model, n%2 == 0), "application/json", string(body)); direct.StatusCode == resp.StatusCode {
							continue // the vendor refuses what its own client wrote
						}
					}
					if resp.StatusCode != http.StatusOK {
						t.Errorf("%s, conversation %d: %d %s\nasked %s\nsent %s", format, n, resp.StatusCode, answer, body, upstream.body())
						continue
					}
					warned := resp.Header.Get(exchange.WarningHeader)
					if gone := lost(string(body), upstream.body()); len(gone) > 0 && warned == "" {
						t.Errorf("%s, conversation %d: lost %v\nasked %s\nsent %s", format, n, gone, body, upstream.body())
					}
				}
			}
		})
	}
}
