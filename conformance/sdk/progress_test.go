package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// turns is a model that says something, calls a tool of the gateway, goes on, and calls the client's tool twice.
const turns = `-- 1 --
text Let me look.
call look {"what":"one"}
-- 2 --
text I looked.
call get_weather {"city":"Rome"}
call get_weather {"city":"Paris"}
`

// served starts a gateway that runs the tool look itself, and tells its progress.
func served(t *testing.T) http.Handler {
	t.Helper()
	look := tool.New("look", "Looks something up.", []byte(`{"type":"object","properties":{"what":{"type":"string"}}}`),
		func(ctx context.Context, _ json.RawMessage) (tool.Output, error) {
			tool.ReportProgress(ctx, tool.Progress{Message: "half of it is done"})
			return tool.Text("found"), nil
		})
	look.Effects = tool.ReadOnly
	set := tool.MustSet(look)
	script, err := sim.ParseScript([]byte(turns))
	if err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(&sim.Server{Model: script})
	t.Cleanup(up.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native}
	g, err := gateway.New(gateway.Setup{
		Open: func(id string, _ gateway.Way) (llm.Model, error) { return c.Open(id) },
		Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "up/sim/native"}},
			Tools: &gateway.ServedTools{Tools: func(context.Context) (*tool.Set, error) { return set, nil }}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// heard is what a client was sent.
type heard struct {
	http.ResponseWriter
	text bytes.Buffer
}

func (h *heard) Write(b []byte) (int, error) {
	h.text.Write(b)
	return h.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (h *heard) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// TestProgressWithVendorClients: a vendor's client that asks for the progress of the gateway's tools reads the stream to its end, with all the
// text and calls; one that does not ask is sent nothing of it.
func TestProgressWithVendorClients(t *testing.T) {
	all := append(slices.Clone(clients), client{name: "amazon", ask: askConverse})
	for _, c := range all {
		for _, asks := range []bool{true, false} {
			for _, stream := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, asks %t, streaming %t", c.name, asks, stream), func(t *testing.T) {
					g := served(t)
					var sent string
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if asks {
							r.Header.Set("Toolpost-Progress", "1")
						}
						h := &heard{ResponseWriter: w}
						g.ServeHTTP(h, r)
						sent = h.text.String()
					}))
					got, err := c.ask(t.Context(), server.URL, question{model: "m", text: one, tools: true, stream: stream})
					server.Close() // waits for the request
					if err != nil || !strings.Contains(got.text, "Let me look.") || !strings.Contains(got.text, "I looked.") || !slices.Equal(got.cities, []string{"Rome", "Paris"}) {
						t.Errorf("%+v, %v\n%s", got, err, sent)
					}
					for _, word := range []string{`"type":"started"`, `half of it is done`, `"type":"ended"`} {
						if told := strings.Contains(sent, word); told != (asks && stream) {
							t.Errorf("%s is told: %t\n%s", word, told, sent)
						}
					}
				})
			}
		}
	}
}

// askConverse asks with Amazon's client.
func askConverse(ctx context.Context, url string, q question) (answer, error) {
	messages := []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: q.text}}}}
	tools := &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
		Name: aws.String(toolName), Description: aws.String(toolHelp), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(city)},
	}}}}
	client := session{url: url}.amazon()
	var a answer
	if !q.stream {
		out, err := client.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: aws.String(q.model), Messages: messages, ToolConfig: tools})
		if err != nil {
			return a, err
		}
		for _, block := range out.Output.(*types.ConverseOutputMemberMessage).Value.Content {
			switch block := block.(type) {
			case *types.ContentBlockMemberText:
				a.text += block.Value
			case *types.ContentBlockMemberToolUse:
				args, err := block.Value.Input.MarshalSmithyDocument()
				if err != nil {
					return a, err
				}
				a.cities = append(a.cities, cityOf(string(args)))
			}
		}
		return a, nil
	}
	out, err := client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: aws.String(q.model), Messages: messages, ToolConfig: tools})
	if err != nil {
		return a, err
	}
	events := out.GetStream()
	defer events.Close()
	calls := map[int32]string{}
	for ev := range events.Events() {
		delta, ok := ev.(*types.ConverseStreamOutputMemberContentBlockDelta)
		if !ok {
			continue
		}
		switch d := delta.Value.Delta.(type) {
		case *types.ContentBlockDeltaMemberText:
			a.text += d.Value
		case *types.ContentBlockDeltaMemberToolUse:
			calls[*delta.Value.ContentBlockIndex] += aws.ToString(d.Value.Input)
		}
	}
	for i := range int32(100) {
		if args, ok := calls[i]; ok {
			a.cities = append(a.cities, cityOf(args))
		}
	}
	return a, events.Err()
}
