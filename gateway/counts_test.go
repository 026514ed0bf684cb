package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/wire"
)

// TestCountsOfEveryFormat checks that an upstream of the client's own format counts the tokens, in
// every format whose hosts count, also where the name of the model has to be escaped in a path.
func TestCountsOfEveryFormat(t *testing.T) {
	const model = "sim/native+strict"
	for format, body := range map[string]string{
		wire.Messages:  `{"model":"` + model + `","messages":[{"role":"user","content":"How many tokens are these words?"}]}`,
		wire.Responses: `{"model":"` + model + `","input":"How many tokens are these words?"}`,
		wire.Gemini:    `{"contents":[{"role":"user","parts":[{"text":"How many tokens are these words?"}]}]}`,
		wire.Converse:  `{"input":{"converse":{"messages":[{"role":"user","content":[{"text":"How many tokens are these words?"}]}]}}}`,
	} {
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to(model, "up-"+format+"/"+model)}})
		codec, _ := wire.For(format)
		resp, err := http.Post(url+roots[format]+"/"+codec.CountPath(model), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get(gateway.WarningHeader) != "" {
			t.Errorf("%s: status %d, warning %q: %s", format, resp.StatusCode, resp.Header.Get(gateway.WarningHeader), b)
		}
	}
}
