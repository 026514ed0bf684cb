package gateway_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// foldedFields are fields that exceed the rights of a limited key, in spellings that some servers read like the first.
var foldedFields = []struct {
	value  string
	status int
	says   string
	names  []string
}{
	{`["dear"]`, 403, "models", []string{"models", "Models", "model\u017f", "mod_els"}},
	{`"priority"`, 403, "service_tier", []string{"service_tier", "\u017fervice_tier", "Service-Tier", "serviceTier", "\u017fERVICETIER"}},
	{`true`, 400, "background is not served", []string{"background", "bac\u212aground", "BAC\u212aGROUND", "back_ground"}},
	{`"dear"`, 400, "the", []string{"Model", "mod_el", "MODEL", "mo-del"}},
}

// TestFoldedFieldsOnEveryPath checks that a field in another spelling counts as the field: in a JSON body, in a nested
// object that servers read like the body, in the URL, and in a form.
func TestFoldedFieldsOnEveryPath(t *testing.T) {
	v := new(vendor)
	up := httptest.NewServer(v)
	t.Cleanup(up.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	g.url = serve(t, gateway.Setup{Open: opening(c), Forward: c.Forwarder, Access: g.book, Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "up/m"}}, Pass: []string{"embeddings", "audio"}}}})
	key := "Bearer " + g.key(t, access.Key{Models: []string{"m"}, Limits: quotas(t, "money/day=1")})
	refused := func(path, mediaType, body string, status int, says string) {
		t.Helper()
		resp, answer := send(t, "POST", g.url+path, mediaType, body, "Authorization", key)
		if r, _ := v.asked(); resp.StatusCode != status || !strings.Contains(answer, says) || r != nil {
			t.Errorf("%s %s: %d %s; the vendor was asked: %t", path, body, resp.StatusCode, answer, r != nil)
		}
	}
	for _, f := range foldedFields {
		for _, name := range f.names {
			quoted, _ := json.Marshal(name)
			member := string(quoted) + ":" + f.value
			refused("/v1/chat/completions", "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}],`+member+`}`, f.status, f.says)
			refused("/v1/embeddings", "application/json", `{"model":"m","input":"hi",`+member+`}`, f.status, f.says)
			refused("/v1/embeddings?"+queryOf(name, f.value), "application/json", `{"model":"m","input":"hi"}`, f.status, f.says)
			if f.value != `"dear"` { // a model inside extra_body is refused as a choice of everything
				refused("/v1/chat/completions", "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}],"extra_body":{`+member+`}}`, f.status, f.says)
			}
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			_ = w.WriteField("model", "m")
			_ = w.WriteField(name, strings.Trim(f.value, `"`))
			_ = w.Close()
			refused("/v1/audio/transcriptions", w.FormDataContentType(), b.String(), f.status, f.says)
		}
	}
}

func queryOf(name, value string) string {
	return url.Values{name: {strings.Trim(value, `"`)}}.Encode()
}

// TestFoldedWeighedFields checks that fields on which the gateway decides are accepted in one spelling only.
func TestFoldedWeighedFields(t *testing.T) {
	u, v := passing(t)
	for _, name := range []string{"\u017ftream", "Stream", "max_to\u212aens", "maxTokens", "tool\u017f", "\u017ftream_options", "previous-response-id"} {
		quoted, _ := json.Marshal(name)
		resp, body := send(t, "POST", u+"/v1/chat/completions", "application/json", `{"model":"chat","messages":[{"role":"user","content":"hi"}],`+string(quoted)+`:1}`)
		if r, _ := v.asked(); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "must be written") || r != nil {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

// TestUnknownParametersOfLimitedKeys checks that unknown fields of forms and unknown parameters in the URL reach the vendor
// only for keys without limits, and that the client is warned about the others.
func TestUnknownParametersOfLimitedKeys(t *testing.T) {
	v := new(vendor)
	up := httptest.NewServer(v)
	t.Cleanup(up.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	g.url = serve(t, gateway.Setup{Open: opening(c), Forward: c.Forwarder, Access: g.book, Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "up/m"}}, Pass: []string{"embeddings", "audio"}}}})
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("model", "m")
	_ = w.WriteField("x_new", "1")
	_ = w.WriteField("timestamp_granularities[]", "word")
	_ = w.Close()
	for _, test := range []struct{ path, mediaType, body string }{
		{"/v1/embeddings?x_new=1&api-version=2026-01-01", "application/json", `{"model":"m","input":"hi"}`},
		{"/v1/audio/transcriptions", w.FormDataContentType(), b.String()},
	} {
		for limited, key := range map[bool]string{false: g.key(t, access.Key{}), true: g.key(t, access.Key{Models: []string{"m"}})} {
			resp, answer := send(t, "POST", g.url+test.path, test.mediaType, test.body, "Authorization", "Bearer "+key)
			r, got := v.asked()
			if resp.StatusCode != http.StatusOK || r == nil {
				t.Fatalf("%s: %d %s", test.path, resp.StatusCode, answer)
			}
			got += r.URL.RawQuery
			if strings.Contains(got, "x_new") == limited || !strings.Contains(got, "timestamp_granularities[]") && !strings.Contains(got, "api-version=2026-01-01") {
				t.Errorf("%s, limited %t: the vendor got %s", test.path, limited, got)
			}
			if warned := strings.Contains(strings.Join(resp.Header.Values(exchange.WarningHeader), "\n"), "ignored; x_new; "); warned != limited {
				t.Errorf("%s, limited %t: warnings %q", test.path, limited, resp.Header.Values(exchange.WarningHeader))
			}
		}
	}
}
