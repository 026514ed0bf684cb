package gateway_test

import (
	"bytes"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestPassedWithKeys checks that files and batches are those of the team that their route names, and that no key with bounds leaves them by
// other endpoints: not by a request without a model, not by a model in a form, and not by one inside of the body.
func TestPassedWithKeys(t *testing.T) {
	v := new(vendor)
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{
		"up":  {BaseURL: server.URL + "/base", Wires: []string{wire.Chat, wire.Messages}},
		"gem": {BaseURL: server.URL + "/gem", Wires: []string{wire.Gemini}},
	}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	routes := []gateway.ModelRoute{
		{Model: "a-*", Upstreams: []gateway.Upstream{{Model: "up/x-*"}}, Pass: gateway.Kinds()},
		{Model: "red", Upstreams: []gateway.Upstream{{Model: "up/red-1"}}, Pass: []string{"files", "batches"}, PassTeam: "red"},
		{Model: "gem", Upstreams: []gateway.Upstream{{Model: "gem/gem-1"}}, Pass: []string{"embeddings"}},
	}
	setup := gateway.Setup{Open: opening(c), Forward: c.Forwarder, Routes: routes, Access: g.book}
	g.url = serve(t, setup)
	keys := map[string]string{
		"red":    g.key(t, access.Key{Team: "red"}),
		"blue":   g.key(t, access.Key{Team: "blue"}),
		"models": g.key(t, access.Key{Team: "red", Models: []string{"a-small", "gem"}}),
		"tools":  g.key(t, access.Key{Team: "red", Tools: []string{"none"}}),
		"routes": g.key(t, access.Key{Team: "red", Routes: []string{"a-*", "gem"}}),
		"tokens": g.key(t, access.Key{Team: "red", Limits: quotas(t, "tokens/day=1000000")}),
	}
	form := func(model string) (string, string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.WriteField("model", model)
		_ = w.WriteField("models[]", "other")
		_ = w.Close()
		return b.String(), w.FormDataContentType()
	}
	formSmall, formType := form("a-small")
	for _, test := range []struct{ method, path, body, mediaType, passes, says string }{ // the keys whose request is passed on, and what it says
		{"GET", "/v1/files", "", "", "red", ""},
		{"GET", "/v1/files/file-1/content", "", "", "red", ""},
		{"DELETE", "/v1/files/file-1", "", "", "red", ""},
		{"POST", "/v1/uploads", "{}", "", "red", ""},
		{"POST", "/v1/batches", `{"input_file_id":"file-1"}`, "", "red", ""},
		{"GET", "/v1/messages/batches/b/results", "", "", "red", ""},
		{"POST", "/v1/moderations", `{"input":"x"}`, "", "red blue tools routes tokens", ""},
		{"POST", "/v1/embeddings", `{"model":"a-small","input":"x"}`, "", "red blue models tools routes tokens", `"x-small"`},
		{"POST", "/v1/embeddings", `{"model":"a-large","input":"x"}`, "", "red blue tools routes tokens", `"x-large"`},
		{"POST", "/v1/embeddings", `{"model":"a-small","models":["a-large"],"input":"x"}`, "", "red blue tools tokens routes", ""},
		{"POST", "/v1/audio/transcriptions", formSmall, formType, "red blue tools tokens", "small"},
		{"POST", "/v1beta/models/gem:embedContent", `{"content":{},"model":"models/gem"}`, "", "red blue models tools routes tokens", `{"content":{},"model":"models/gem-1"}`},
		{"POST", "/v1beta/models/gem:batchEmbedContents", `{"requests":[{"model":"models/gem","content":{}},{"model":"gem"}]}`, "", "red blue models tools routes tokens", `[{"model":"models/gem-1","content":{}},{"model":"models/gem-1"}]`},
		{"POST", "/v1beta/models/gem:embedContent", `{"model":"models/dear"}`, "", "", ""},
		{"POST", "/v1beta/models/gem:batchEmbedContents", `{"requests":[{"model":"models/gem"},{"mod\u0065l":"models/dear"}]}`, "", "", ""},
		{"POST", "/v1beta/models/gem:batchEmbedContents", `{"requests":[{"Model":"models/dear"}]}`, "", "", ""},
	} {
		for name, key := range keys {
			mediaType := test.mediaType
			if mediaType == "" {
				mediaType = "application/json"
			}
			resp, body := send(t, test.method, g.url+test.path, mediaType, test.body, "Authorization", "Bearer "+key)
			passes := strings.Contains(" "+test.passes+" ", " "+name+" ")
			asked, got := v.asked()
			switch {
			case passes && (resp.StatusCode != 200 || asked == nil || !strings.Contains(got, test.says)):
				t.Errorf("%s %s %s with the key %s: %d %s; asked %s", test.method, test.path, test.body, name, resp.StatusCode, body, got)
			case !passes && (resp.StatusCode != 403 && resp.StatusCode != 400 || asked != nil):
				t.Errorf("%s %s %s with the key %s was passed on: %d %s", test.method, test.path, test.body, name, resp.StatusCode, body)
			}
		}
	}
	setup.Routes = append(routes, gateway.ModelRoute{Model: "blue", Upstreams: []gateway.Upstream{{Model: "up/blue-1"}}, Pass: []string{"files"}, PassTeam: "blue"})
	if _, err := gateway.New(setup); err == nil || !strings.Contains(err.Error(), `those of the team "red"`) {
		t.Errorf("two teams share an account: %v", err)
	}
	setup.Routes = []gateway.ModelRoute{{Model: "a", Upstreams: []gateway.Upstream{{Model: "up/a"}}, PassTeam: "red"}, {Model: "b", Upstreams: []gateway.Upstream{{Model: "up/b"}}, PassTeam: "blue"}}
	if _, err := gateway.New(setup); err == nil || !strings.Contains(err.Error(), `those of the team "red"`) {
		t.Errorf("two teams share an account whose routes pass nothing on: %v", err)
	}
}
