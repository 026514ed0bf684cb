package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestConverseRelayToBedrock checks that a Converse request with fields of a model's maker reaches the model
// unchanged. The vendor decides whether to refuse them.
func TestConverseRelayToBedrock(t *testing.T) {
	const asked = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"inferenceConfig":{"temperature":2},"additionalModelRequestFields":{"top_k":5}}`
	got := make(chan string, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
		io.WriteString(w, `{"output":{"message":{"role":"assistant","content":[{"text":"Hello"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`)
	}))
	defer up.Close()
	t.Setenv("BEDROCK_TEST_KEY", "k")
	client := &provider.Client{Vendors: map[string]provider.Vendor{"mine": {Like: "bedrock", BaseURL: up.URL, KeyEnv: "BEDROCK_TEST_KEY"}}}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "mine/anthropic.claude-sonnet-4-5-20250929-v1:0")}})
	resp, err := http.Post(url+"/model/m/converse", "application/json", strings.NewReader(asked))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || !strings.Contains(string(b), "Hello") {
		t.Fatalf("%d %s", resp.StatusCode, b)
	}
	if sent := <-got; sent != asked {
		t.Errorf("%s was sent, in %s", sent, wire.Converse)
	}
}
