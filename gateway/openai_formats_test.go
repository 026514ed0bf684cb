package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

// redirected sends the requests to every host to one server.
type redirected struct{ to *url.URL }

func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = r.to.Scheme, r.to.Host
	return http.DefaultTransport.RoundTrip(req)
}

// Clients of the Responses API are asked there at OpenAI, whatever the model, and their requests arrive byte for byte. A web
// search asked for in another format is asked there, too.
func TestResponsesClientsAtOpenAI(t *testing.T) {
	upstream := &recorder{Handler: &sim.Server{Unknown: "sim/native+strict=openai/gpt-5"}}
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		upstream.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &provider.Client{HTTP: &http.Client{Transport: redirected{at}}, Retry: provider.RetryPolicy{Attempts: -1}, Key: func(string) (string, error) { return "k", nil }}
	models := []string{"gpt-4o", "gpt-4.1", "gpt-5", "gpt-5.5"}
	var routes []gateway.ModelRoute
	for _, m := range models {
		routes = append(routes, to(m, "openai/"+m))
	}
	gate := serve(t, gateway.Setup{Open: opening(client), Routes: routes})
	for _, m := range models {
		for _, stream := range []string{"true", "false"} {
			body := `{"model":"` + m + `","stream":` + stream + `,"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"k1","text":{"verbosity":"low"},"instructions":"Be brief.",` +
				`"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be kind."}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}],` +
				`"tools":[{"type":"function","name":"now","parameters":{"type":"object","properties":{}},"strict":false},{"type":"web_search"}]}`
			resp, answer := send(t, "POST", gate+"/v1/responses", "application/json", body)
			if resp.StatusCode != http.StatusOK || path != "/v1/responses" || upstream.body() != body {
				t.Errorf("%s: %d %s at %s\n%s\nwas asked\n%s", m, resp.StatusCode, answer, path, upstream.body(), body)
			}
		}
	}
	search := `{"model":"gpt-4o","max_tokens":99,"messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`
	resp, answer := send(t, "POST", gate+"/v1/messages", "application/json", search)
	if resp.StatusCode != http.StatusOK || path != "/v1/responses" || !strings.Contains(upstream.body(), `"web_search"`) {
		t.Errorf("a search: %d %s at %s: %s", resp.StatusCode, answer, path, upstream.body())
	}
}

// Where tools are taught in a prompt, a grammar stays whole in the shortest prompt, and an image of a result stays an image.
func TestTaughtGrammarsAndImages(t *testing.T) {
	upstream := &recorder{Handler: &sim.Server{Unknown: "sim/taught"}}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	url := serve(t, gateway.Setup{Open: opening(&provider.Client{}), Routes: []gateway.ModelRoute{to("m", server.URL+"/v1#a-new-model")}})
	rules := `start: begin_patch hunk+ end_patch\nbegin_patch: \"*** Begin Patch\" LF\nend_patch: \"*** End Patch\" LF?` + strings.Repeat(`\nline: /.*/ LF`, 40)
	patch := `{"model":"m","input":"Patch a file","tools":[{"type":"custom","name":"apply_patch","description":"Edits files. ` + strings.Repeat("It is long. ", 60) +
		`","format":{"type":"grammar","syntax":"lark","definition":"` + rules + `"}}]}`
	if resp, answer := send(t, "POST", url+"/v1/responses", "application/json", patch); resp.StatusCode != http.StatusOK || !strings.Contains(upstream.body(), rules) {
		t.Errorf("%d %s\n%s", resp.StatusCode, answer, upstream.body())
	}
	const image = "data:image/png;base64,iVBORw0KGgo="
	look := `{"model":"m","input":[{"role":"user","content":"look"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"here"},` +
		`{"type":"input_image","image_url":"` + image + `"}]}],"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}]}`
	resp, answer := send(t, "POST", url+"/v1/responses", "application/json", look)
	if resp.StatusCode != http.StatusOK || !strings.Contains(upstream.body(), `{"type":"image_url","image_url":{"url":"`+image+`"}}`) || strings.Contains(strings.Join(resp.Header["Toolpost-Warning"], " "), "media in results") {
		t.Errorf("%d %s %v\n%s", resp.StatusCode, answer, resp.Header["Toolpost-Warning"], upstream.body())
	}
}
