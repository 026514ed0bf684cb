package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
)

// fort is the target of all attacks.
type fort struct {
	*guarded
	admin   string // its address
	victim  string // a server that no attack may reach
	touched atomic.Int64

	good, other, narrow, bounded, expired, revoked, rotated string // keys
	answer                                                  string // the id of a stored answer of the team of good
}

const adminKey = "the-key-of-administrators-0123"

// build creates a fort. The key narrow may use the models chat and free-*, and no tools.
func build(t *testing.T) *fort {
	t.Helper()
	f := &fort{guarded: guard(t, nil)}
	h, err := gateway.Administration{Book: f.book, Key: adminKey}.Handler()
	if err != nil {
		t.Fatal(err)
	}
	server, victim := httptest.NewServer(h), httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { f.touched.Add(1) }))
	t.Cleanup(server.Close)
	t.Cleanup(victim.Close)
	f.admin, f.victim = server.URL, victim.URL
	now := time.Now()
	f.book.Now = func() time.Time { return now }
	f.good, f.other = f.key(t, access.Key{Team: "red"}), f.key(t, access.Key{Team: "blue"})
	f.narrow = f.key(t, access.Key{Team: "red", Models: []string{"chat", "free-*"}, Tools: []string{"none"}})
	f.bounded = f.key(t, access.Key{Models: []string{"costly"}, Tools: []string{"none"}, Limits: quotas(t, "money/month=50")})
	f.expired, f.revoked, f.rotated = f.key(t, access.Key{Expires: now.Add(time.Minute)}), f.key(t, access.Key{}), f.key(t, access.Key{})
	now = now.Add(time.Hour)
	if _, err := f.book.Revoke(t.Context(), f.revoked[:13]); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.book.Rotate(t.Context(), f.rotated[:13], 0); err != nil {
		t.Fatal(err)
	}
	_, body := f.try(t, attack{path: "/v1/responses", body: `{"model":"chat","input":"hi"}`, header: bearing(f.good)})
	_, f.answer, _ = strings.Cut(body, `"id":"`)
	f.answer, _, _ = strings.Cut(f.answer, `"`)
	if !strings.HasPrefix(f.answer, "resp_") {
		t.Fatal(body)
	}
	return f
}

// attack is a request that must be refused.
type attack struct {
	name   string
	method string // POST if empty
	path   string
	header []string // "Name: value"
	body   string
	host   string
	raw    string // the whole request, replacing the other fields
	admin  bool   // sent to the administrators' address
	status []int  // accepted statuses; 401 if empty
	ends   bool   // nothing follows raw
	passes bool   // the request is valid, but must not have the intended effect
}

func bearing(key string) []string { return []string{"Authorization: Bearer " + key} }

// try sends an attack.
func (f *fort) try(t *testing.T, a attack) (int, string) {
	t.Helper()
	url := f.url
	if a.admin {
		url = f.admin
	}
	address := strings.TrimPrefix(url, "http://")
	raw := a.raw
	if raw == "" {
		method, host := a.method, a.host
		if method == "" {
			method = "POST"
		}
		if host == "" {
			host = address
		}
		raw = fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, a.path, host)
		if !slices.ContainsFunc(a.header, func(h string) bool { return strings.HasPrefix(h, "Content-Type:") }) {
			raw += "Content-Type: application/json\r\n"
		}
		for _, h := range a.header {
			raw += h + "\r\n"
		}
		raw += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(a.body), a.body)
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		_, _ = io.WriteString(c, raw) // a server may answer before it has read everything
		if a.ends {
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: a.method})
	if err != nil {
		return 0, err.Error() // the connection was closed
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

const (
	hello      = `{"model":"chat","messages":[{"role":"user","content":"hi"}]}`
	helloCost  = `{"model":"costly","messages":[{"role":"user","content":"hi"}]}`
	helloMax   = `{"model":"chat","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	helloBlock = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	helloAWS   = `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`
)

// keyless requests, everywhere.
func nobody() (list []attack) {
	for _, p := range []struct{ method, path, body string }{
		{"POST", "/v1/chat/completions", hello}, {"POST", "/v1/responses", `{"model":"chat","input":"hi"}`}, {"POST", "/v1/messages", helloMax},
		{"POST", "/v1/messages/count_tokens", helloMax}, {"POST", "/v1beta/models/chat:generateContent", helloBlock}, {"POST", "/v1beta/models/chat:streamGenerateContent?alt=sse", helloBlock},
		{"POST", "/v1beta/models/chat:countTokens", helloBlock}, {"POST", "/api/chat", hello}, {"POST", "/api/show", `{"model":"chat"}`}, {"GET", "/api/tags", ""}, {"GET", "/api/version", ""},
		{"POST", "/model/chat/converse", helloAWS}, {"POST", "/model/chat/converse-stream", helloAWS}, {"POST", "/model/chat/invoke", helloMax},
		{"GET", "/v1/models", ""}, {"GET", "/v1/models/chat", ""}, {"GET", "/v1beta/models", ""}, {"GET", "/v1/responses/resp_x", ""}, {"DELETE", "/v1/responses/resp_x", ""},
		{"GET", "/nothing", ""}, {"OPTIONS", "/v1/chat/completions", ""}, {"HEAD", "/v1/models", ""}, {"POST", "/v1/embeddings", `{"model":"chat","input":"x"}`},
	} {
		list = append(list, attack{name: "no key: " + p.method + " " + p.path, method: p.method, path: p.path, body: p.body, status: []int{401, 403}})
	}
	return list
}

// impostors send invalid keys, or keys in the wrong place.
func (f *fort) impostors() (list []attack) {
	for name, header := range map[string][]string{
		"random":                   bearing("tp-aaaaaaaaaa-AAAAAAAAAAAAAAAAAAAAAAAAAA"),
		"empty":                    {"Authorization: Bearer "},
		"no scheme":                {"Authorization: " + f.good},
		"basic":                    {"Authorization: Basic dXNlcjpwYXNz"},
		"only the name of one":     bearing(f.good[:13]),
		"the name of another":      bearing(f.other[:13] + f.good[13:]),
		"cut off":                  bearing(f.good[:len(f.good)-1]),
		"longer":                   bearing(f.good + "A"),
		"small letters":            bearing(strings.ToLower(f.good)),
		"expired":                  bearing(f.expired),
		"revoked":                  bearing(f.revoked),
		"rotated":                  bearing(f.rotated),
		"of administrators":        bearing(adminKey),
		"very long":                bearing(strings.Repeat("x", 30_000)),
		"SQL":                      bearing("tp-' OR 1=1--' OR 1=1--"),
		"in a cookie":              {"Cookie: key=" + f.good},
		"for a proxy":              {"Proxy-Authorization: Bearer " + f.good},
		"forwarded":                {"X-Forwarded-Authorization: Bearer " + f.good},
		"as a user":                {"X-Forwarded-User: red", "X-Remote-User: red", "X-Team: red"},
		"signed":                   {"Authorization: AWS4-HMAC-SHA256 Credential=" + f.good + "/20261116/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=00"},
		"two of them":              {"Authorization: Bearer " + f.good, "Authorization: Bearer " + f.other},
		"two in one":               {"Authorization: Bearer " + f.good + ", Bearer " + f.other},
		"two places":               {"Authorization: Bearer " + f.good, "X-Api-Key: " + f.other},
		"a good one and a bad one": {"X-Goog-Api-Key: " + f.good, "X-Api-Key: nonsense"},
		"two schemes":              {"Authorization: Bearer " + f.good, "Authorization: Basic dXNlcjpwYXNz"},
	} {
		list = append(list, attack{name: "key: " + name, path: "/v1/chat/completions", header: header, body: hello})
	}
	return append(list,
		attack{name: "key: in the address", path: "/v1/chat/completions?key=" + f.good, body: hello},
		attack{name: "key: in the address twice", path: "/v1beta/models/chat:generateContent?key=" + f.good + "&key=" + f.other, body: helloBlock, status: []int{400}},
		attack{name: "key: a signed address", path: "/model/chat/converse?X-Amz-Signature=00&X-Amz-Credential=" + f.good + "%2Fx", body: helloAWS, status: []int{403}},
		attack{name: "key: in the body", path: "/v1/chat/completions", body: strings.Replace(hello, "{", `{"api_key":"`+f.good+`","key":"`+f.good+`",`, 1)})
}

// smugglers send requests that two readers may parse differently. A second request after the first must not get a
// response with a status other than that of the first.
func (f *fort) smugglers() (list []attack) {
	line := "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + f.good + "\r\n"
	inner := "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, raw := range map[string]string{
		"two lengths":           line + "Content-Length: 5\r\nContent-Length: 60\r\n\r\n" + hello,
		"length and chunks":     line + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"unknown encoding":      line + "Transfer-Encoding: xchunked\r\n\r\n" + hello,
		"encoding twice":        line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"negative length":       line + "Content-Length: -1\r\n\r\n" + hello,
		"a plus in the length":  line + "Content-Length: +5\r\n\r\n" + hello,
		"space before colon":    line + "Content-Length : 5\r\n\r\n" + hello,
		"folded header":         "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n Authorization: Bearer " + f.good + "\r\n\r\n",
		"two hosts":             "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
		"no host":               "GET /v1/models HTTP/1.1\r\nAuthorization: Bearer " + f.good + "\r\n\r\n",
		"NUL in a header":       "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + f.good + "\x00\r\n\r\n",
		"return in a header":    "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX: a\rAuthorization: Bearer " + f.good + "\r\n\r\n",
		"name with a space":     "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX Authorization: Bearer " + f.good + "\r\n\r\n",
		"chunks that lie":       line + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + hello,
		"bytes before a method": "\x16\x03\x01" + inner,
	} {
		list = append(list, attack{name: "smuggling: " + name, raw: raw, status: []int{0, 400, 401, 501}})
	}
	for _, h := range []string{"X-Http-Method-Override: GET", "X-Original-Url: /admin/keys", "X-Rewrite-Url: /admin/keys", "X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1;host=localhost"} {
		list = append(list, attack{name: "smuggling: " + h, path: "/v1/chat/completions", header: []string{h}, body: hello})
	}
	for _, path := range []string{"/v1/../admin/keys", "//admin/keys", "/v1/%2e%2e/admin/keys", "/admin/keys"} {
		list = append(list, attack{name: "path: " + path, method: "GET", path: path, header: bearing(f.good), status: []int{404}})
	}
	return list
}

// intruders have a key and try to reach data of others.
func (f *fort) intruders() []attack {
	with := func(key, name, path, body string, status ...int) attack {
		return attack{name: name, path: path, header: bearing(key), body: body, status: status}
	}
	list := []attack{
		with(f.other, "team: go on from another's answer", "/v1/responses", `{"model":"chat","input":"hi","previous_response_id":"`+f.answer+`"}`, 400),
		{name: "team: read another's answer", method: "GET", path: "/v1/responses/" + f.answer, header: bearing(f.other), status: []int{404}},
		{name: "team: delete another's answer", method: "DELETE", path: "/v1/responses/" + f.answer, header: bearing(f.other), status: []int{404}},
		with(f.other, "team: count another's answer", "/v1/responses/input_tokens", `{"model":"chat","input":"hi","previous_response_id":"`+f.answer+`"}`, 400),

		with(f.narrow, "model: chat", "/v1/chat/completions", helloCost, 403),
		with(f.narrow, "model: responses", "/v1/responses", `{"model":"costly","input":"hi"}`, 403),
		with(f.narrow, "model: messages", "/v1/messages", strings.Replace(helloMax, `"chat"`, `"costly"`, 1), 403),
		with(f.narrow, "model: count", "/v1/messages/count_tokens", strings.Replace(helloMax, `"chat"`, `"costly"`, 1), 403),
		with(f.narrow, "model: gemini", "/v1beta/models/costly:generateContent", helloBlock, 403),
		with(f.narrow, "model: gemini, written otherwise", "/v1beta/models/cost%6cy:generateContent", helloBlock, 403),
		with(f.narrow, "model: ollama", "/api/chat", helloCost, 403),
		with(f.narrow, "model: show", "/api/show", `{"model":"costly"}`, 404),
		with(f.narrow, "model: converse", "/model/costly/converse", helloAWS, 403),
		with(f.narrow, "model: invoke", "/model/costly/invoke", helloMax, 403),
		{name: "model: get", method: "GET", path: "/v1/models/costly", header: bearing(f.narrow), status: []int{404}},
		with(f.narrow, "model: twice", "/v1/chat/completions", strings.Replace(hello, "{", `{"model":"costly",`, 1), 400, 403),
		with(f.narrow, "model: in another case", "/v1/chat/completions", strings.Replace(hello, "{", `{"Model":"costly",`, 1), 400, 403),
		with(f.narrow, "model: with an escape", "/v1/chat/completions", strings.Replace(hello, "{", `{"mod\u0065l":"costly",`, 1), 400, 403),
		with(f.narrow, "model: with spaces", "/v1/chat/completions", strings.Replace(hello, `"chat"`, `" costly"`, 1), 403),
		with(f.narrow, "model: none", "/v1/chat/completions", strings.Replace(hello, `"chat"`, `""`, 1), 400, 403, 404),

		with(f.narrow, "tool: web search of Responses", "/v1/responses", `{"model":"chat","input":"hi","tools":[{"type":"web_search"}]}`, 403),
		with(f.narrow, "tool: MCP of Responses", "/v1/responses", `{"model":"chat","input":"hi","tools":[{"type":"mcp","server_label":"x","server_url":"`+f.victim+`"}]}`, 400, 403),
		with(f.narrow, "tool: code of Responses", "/v1/responses", `{"model":"chat","input":"hi","tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`, 400, 403),
		with(f.narrow, "tool: web search of Messages", "/v1/messages", strings.Replace(helloMax, "{", `{"tools":[{"type":"web_search_20250305","name":"web_search"}],`, 1), 403),
		with(f.narrow, "tool: MCP of Messages", "/v1/messages", strings.Replace(helloMax, "{", `{"mcp_servers":[{"type":"url","url":"`+f.victim+`","name":"x"}],`, 1), 403),
		with(f.narrow, "tool: search of Gemini", "/v1beta/models/chat:generateContent", strings.Replace(helloBlock, "{", `{"tools":[{"google_search":{}}],`, 1), 403),
		with(f.narrow, "tool: search of Chat", "/v1/chat/completions", strings.Replace(hello, "{", `{"web_search_options":{},`, 1), 403),
	}
	for _, name := range []string{"free-" + f.victim, "free-x@" + f.victim + "/v1#m", "free-../../etc/passwd", "free-//" + f.victim, "free-vllm+" + f.victim + "#m", "free-a b", "free-%2e%2e", "free-x\u0000", "free-" + strings.Repeat("x", 300)} {
		list = append(list, with(f.narrow, fmt.Sprintf("address: model %.40q", name), "/v1/chat/completions", strings.Replace(hello, `"chat"`, fmt.Sprintf("%q", name), 1), 400, 404))
	}
	return list
}

// spenders have a key with limits on money, tools and models, and try to exceed them. Some try to reach objects stored
// in the vendor's account.
func (f *fort) spenders() (list []attack) {
	add := func(key, name, path, body string, status int, header ...string) {
		list = append(list, attack{name: "member: " + name, path: path, header: append(header, bearing(key)...), body: body, status: []int{status}})
	}
	chat := func(member string) string { return strings.Replace(helloCost, "{", "{"+member+",", 1) }
	for _, member := range []string{
		`"prompt":{"id":"pmpt_1"}`, `"fallback":"other"`, `"fallbacks":["other"]`, `"litellm_params":{"model":"x"}`, `"metadata":{"fallbacks":[{"costly":["other"]}]}`, `"metadata":{"tags":["dear"]}`,
		`"config":{"targets":[]}`, `"engine":"x"`, `"lora":[{"id":1}]`, `"lora_path":"x"`, `"LoraPath":"x"`, `"data_sources":[{"type":"azure_search"}]`, `"extra_body":{"extra_body":{"models":["x"]}}`,
		`"extra_body":[{"models":["x"]}]`, `"providerOptions":{"gateway":{}}`, `"performance_config":{"latency":"optimized"}`, `"modalities":["audio"]`, `"service_tier":"priority"`,
	} {
		add(f.bounded, member, "/v1/chat/completions", chat(member), 403)
	}
	for _, member := range []string{`"n":-60`, `"n":0`, `"best_of":-1`, `"max_tokens":-5`, `"extra_body":{"max_tokens":-5}`, `"extra_body":{"n":1000}`, `"n_predict":-9`, `"deferred":true`, `"background":true`} {
		add(f.bounded, member, "/v1/chat/completions", chat(member), 400)
	}
	for _, beta := range []string{"fast-mode-2026-02-01", "context-1m-2025-08-07", "mcp-client-2025-04-04", "skills-2025-10-02"} {
		add(f.bounded, beta, "/v1/messages", strings.Replace(helloMax, `"chat"`, `"costly"`, 1), 403, "Anthropic-Beta: "+beta)
	}
	add(f.bounded, "skills of Messages", "/v1/messages", strings.Replace(helloMax, `{"model":"chat"`, `{"container":{"skills":[{"skill_id":"x"}]},"model":"costly"`, 1), 403)
	add(f.good, "conversation of another", "/v1/responses", `{"model":"responses","input":"hi","conversation":"conv_1"}`, 403)
	add(f.good, "item of another", "/v1/responses", `{"model":"responses","input":[{"type":"item_reference","id":"msg_1"}]}`, 403)
	add(f.good, "file of another", "/v1/responses", `{"model":"responses","input":[{"role":"user","content":[{"type":"input_file","file_id":"file-1"}]}]}`, 403)
	add(f.good, "store of another", "/v1/responses", `{"model":"responses","input":"hi","tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}`, 403)
	add(f.good, "container of another", "/v1/messages", strings.Replace(helloMax, "{", `{"container":"cont_1",`, 1), 403)
	add(f.good, "cache of another", "/v1beta/models/gemini:generateContent", strings.Replace(helloBlock, "{", `{"cachedContent":"cachedContents/x",`, 1), 403)
	add(f.good, "bucket of the account", "/model/converse/converse", `{"messages":[{"role":"user","content":[{"document":{"format":"pdf","name":"a","source":{"s3Location":{"uri":"s3://b/x.pdf"}}}}]}]}`, 403)
	return list
}

// diverters try to make the gateway call a host of their choice. Their requests are valid or refused, but the host must
// not be called.
func (f *fort) diverters() (list []attack) {
	add := func(name, path, body string, header ...string) {
		list = append(list, attack{name: "host: " + name, path: path, header: append(header, bearing(f.good)...), body: body, status: []int{200, 400, 403}, passes: true})
	}
	image := f.victim + "/x.png"
	add("image of Chat", "/v1/chat/completions", `{"model":"chat","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"`+image+`"}}]}]}`)
	add("image of Chat, other upstream", "/v1/chat/completions", `{"model":"ollama","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"`+image+`"}}]}]}`)
	add("file of the host", "/v1/chat/completions", `{"model":"gemini","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]}`)
	add("metadata of a cloud", "/v1/chat/completions", `{"model":"converse","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://169.254.169.254/latest/meta-data/"}}]}]}`)
	add("image of Messages", "/v1/messages", `{"model":"converse","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"`+image+`"}}]}]}`)
	add("image of Responses", "/v1/responses", `{"model":"ollama","input":[{"role":"user","content":[{"type":"input_image","image_url":"`+image+`"}]}]}`)
	add("file of Responses", "/v1/responses", `{"model":"chat","input":[{"role":"user","content":[{"type":"input_file","file_url":"`+image+`"}]}]}`)
	add("file of Gemini", "/v1beta/models/converse:generateContent", `{"contents":[{"role":"user","parts":[{"fileData":{"mimeType":"image/png","fileUri":"`+image+`"}}]}]}`)
	for _, member := range []string{"base_url", "api_base", "endpoint", "url", "host", "proxy", "callback_url", "webhook"} {
		add(member+" in the body", "/v1/chat/completions", strings.Replace(hello, "{", `{"`+member+`":"`+f.victim+`",`, 1))
	}
	add("headers", "/v1/chat/completions", hello, "X-Base-Url: "+f.victim, "Toolpost-Upstream: "+f.victim, "X-Forwarded-Host: "+strings.TrimPrefix(f.victim, "http://"), "X-Portkey-Custom-Host: "+f.victim, "Helicone-Target-Url: "+f.victim)
	list = append(list, attack{name: "host: the target of the request", raw: "POST " + f.victim + "/v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer " + f.good + "\r\nContent-Length: " + fmt.Sprint(len(hello)) + "\r\n\r\n" + hello, status: []int{200, 400}, passes: true},
		attack{name: "host: CONNECT", method: "CONNECT", path: strings.TrimPrefix(f.victim, "http://"), header: bearing(f.good), status: []int{400, 404, 405}})
	return list
}

// wreckers send bodies that are too large, too deep or malformed.
func (f *fort) wreckers() []attack {
	with := func(name, body string, status ...int) attack {
		return attack{name: "body: " + name, path: "/v1/chat/completions", header: bearing(f.good), body: body, status: status}
	}
	line := "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + f.good + "\r\n"
	big := strings.Repeat("x", 2<<20)
	return []attack{
		with("too large", big, 413),
		{name: "body: too large, in chunks", raw: line + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(big), big), status: []int{413}},
		{name: "body: large, without a key", path: "/v1/chat/completions", body: big, status: []int{401, 0}},
		with("deep", strings.Repeat("[", 200_000), 400),
		with("deep in a schema", `{"model":"chat","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":`+strings.Repeat(`{"items":`, 20_000)+`{}`+strings.Repeat("}", 20_000)+`}}]}`, 400),
		with("no JSON", "model=chat", 400),
		with("two documents", hello+hello, 400),
		with("empty", "", 400),
		with("packed", "\x1f\x8b\x08\x00\x00\x00\x00\x00", 400),
		with("a list", "["+hello+"]", 400),
		{name: "body: ends early", raw: line + "Content-Length: 100000\r\n\r\n{", ends: true, status: []int{0, 400, 408}},
		{name: "head: too large", path: "/v1/chat/completions", header: []string{"X-Large: " + strings.Repeat("x", 2<<20)}, status: []int{431, 0}},
	}
}

// pages are requests that a page in an administrator's browser could send, and other unauthorized requests.
func (f *fort) pages() (list []attack) {
	as := bearing(adminKey)
	add := func(name string, a attack) {
		a.name, a.admin = "admin: "+name, true
		if a.path == "" {
			a.path = "/admin/keys"
		}
		if a.body == "" && a.method == "" {
			a.body = `{"team":"evil"}`
		}
		list = append(list, a)
	}
	for name, header := range map[string][]string{
		"no key": nil, "a wrong key": bearing("the-key-of-administrators-0124"), "the key of a client": bearing(f.good), "basic": {"Authorization: Basic dXNlcjpwYXNz"}, "no scheme": {"Authorization: " + adminKey},
		"two keys": {as[0], as[0]}, "in another header": {"X-Api-Key: " + adminKey}, "a key that begins so": bearing(adminKey[:20]),
	} {
		add(name, attack{header: header})
	}
	for name, header := range map[string]string{
		"another origin": "Origin: https://evil.example", "no origin": "Origin: null", "our own origin": "Origin: " + f.admin, "loopback": "Origin: http://localhost:3000", "cross-site": "Sec-Fetch-Site: cross-site", "same-site": "Sec-Fetch-Site: same-site",
		"same-origin": "Sec-Fetch-Site: same-origin", "typed in": "Sec-Fetch-Site: none", "a page": "Sec-Fetch-Mode: navigate", "an image": "Sec-Fetch-Dest: image", "a cookie": "Cookie: a=b",
	} {
		add("a browser: "+name, attack{header: append([]string{header}, as...), status: []int{403}})
	}
	for _, host := range []string{"evil.example", "evil.example:8231", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "127.0.0.1@evil.example", "gateway.internal"} {
		add("the host "+host, attack{header: as, host: host, status: []int{400, 421}})
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; charset=application/json"} {
		add("a form of "+media, attack{header: append([]string{"Content-Type: " + media}, as...), status: []int{415}})
	}
	add("preflight", attack{method: "OPTIONS", header: []string{"Origin: https://evil.example", "Access-Control-Request-Method: POST"}, status: []int{403}})
	add("the key in the address", attack{method: "GET", path: "/admin/keys?key=" + adminKey})
	add("a member that is not known", attack{header: as, body: `{"team":"evil","admin":true}`, status: []int{400}})
	add("two documents", attack{header: as, body: `{"team":"evil"}{"team":"evil"}`, status: []int{400}})
	add("a large body", attack{header: as, body: `{"team":"` + strings.Repeat("x", 1<<20) + `"}`, status: []int{413}})
	add("a name of several lines", attack{header: as, body: `{"team":"evil\nlevel=INFO msg=trust"}`, status: []int{400}})
	add("another way to group", attack{method: "GET", path: "/admin/usage?by=team,drop", header: as, status: []int{400}})
	add("a key that is none", attack{path: "/admin/keys/tp-x/rotate", body: "{}", header: as, status: []int{404}})
	add("questions of clients", attack{path: "/v1/chat/completions", body: hello, header: as, status: []int{404}})
	return list
}

// TestAttacks tries all attacks. None may reach an upstream or the victim, create or reveal a key, or write its own
// line into the log.
func TestAttacks(t *testing.T) {
	f := build(t)
	keys, err := f.book.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(nobody(), f.impostors(), f.smugglers(), f.intruders(), f.spenders(), f.diverters(), f.wreckers(), f.pages())
	classes := map[string]int{}
	for _, a := range all {
		class, _, _ := strings.Cut(a.name, ":")
		classes[class]++
	}
	for _, class := range []string{"no key", "key", "team", "model", "tool", "member", "smuggling", "path", "address", "host", "body", "head", "admin"} {
		if classes[class] == 0 {
			t.Errorf("no attack is of the class %q", class)
		}
	}
	if len(all) < 200 {
		t.Errorf("there are only %d: %v", len(all), classes)
	}
	for _, a := range all {
		before := f.sent()
		status, body := f.try(t, a)
		want := a.status
		if want == nil {
			want = []int{http.StatusUnauthorized}
		}
		if !slices.Contains(want, status) {
			t.Errorf("%s: %d, not %v: %.300s", a.name, status, want, body)
		}
		if after := f.sent(); after != before && !a.passes {
			t.Errorf("%s: an upstream was asked", a.name)
		}
		for _, secret := range []string{adminKey, f.good[14:], f.other[14:]} {
			if strings.Contains(body, secret) && !a.passes {
				t.Errorf("%s: the answer shows a key: %.300s", a.name, body)
			}
		}
	}
	if n := f.touched.Load(); n > 0 {
		t.Errorf("the victim was asked %d times", n)
	}
	t.Logf("%d attacks", len(all))
	if now, _ := f.book.Keys(t.Context()); len(now) != len(keys) {
		t.Errorf("there are %d keys, not %d", len(now), len(keys))
	}
	for _, secret := range []string{adminKey, f.good[14:], f.other[14:], f.narrow[14:], f.expired[14:]} {
		if strings.Contains(f.log.String(), secret) {
			t.Error("the log shows a key")
		}
	}
}

// sent returns how much was sent to upstreams.
func (g *guarded) sent() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen.Len()
}

// TestLogInjection checks that clients cannot write separate lines into the log, or steer a terminal.
func TestLogInjection(t *testing.T) {
	f := build(t)
	evils := []string{"x\ntime=2026 level=INFO msg=trust", "x\r\nlevel=ERROR", "\x1b[2J\x1b[31mred", "x\u2028y", "\u202eevil", "a\x00b", `x" level="ERROR`, "x=y level=INFO"}
	for _, evil := range evils {
		quoted := strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\r", `\r`, "\x1b", `\u001b`, "\x00", `\u0000`).Replace(evil)
		f.try(t, attack{path: "/v1/chat/completions", header: bearing(f.good), body: strings.Replace(hello, `"chat"`, `"`+quoted+`"`, 1)})
		f.try(t, attack{path: "/v1/chat/completions", header: bearing(f.good), body: strings.Replace(hello, `"chat"`, `"free-`+quoted+`"`, 1)})
		f.try(t, attack{path: "/v1/responses", header: bearing(f.good), body: `{"model":"chat","input":"hi","previous_response_id":"` + quoted + `"}`})
		f.try(t, attack{method: "GET", path: "/v1/" + strings.NewReplacer("\n", "%0a", "\r", "%0d", "\x1b", "%1b", " ", "%20", "\x00", "%00", `"`, "%22").Replace(evil), header: bearing(f.good)})
	}
	lines := strings.Split(strings.TrimSuffix(f.log.String(), "\n"), "\n")
	if len(lines) < 20 {
		t.Errorf("only %d lines", len(lines))
	}
	t.Logf("%d attacks", len(evils)*4)
	for _, line := range lines {
		if !strings.HasPrefix(line, "time=2") || !strings.Contains(line, " id=req_") || strings.ContainsAny(line, "\x1b\r\x00\u2028\u202e") {
			t.Errorf("%q", line)
		}
	}
}

// TestSlowBody checks that a client that stops sending is disconnected.
func TestSlowBody(t *testing.T) {
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	g.url = serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("chat", "up-chat/sim/native")}, Access: g.book, BodyTime: 50 * time.Millisecond})
	f := &fort{guarded: g}
	line := "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + g.key(t, access.Key{}) + "\r\nContent-Length: 100\r\n\r\n"
	for _, part := range []string{"", "{", `{"model":"chat",`} {
		if status, body := f.try(t, attack{raw: line + part}); status != 400 && status != 408 && status != 0 {
			t.Errorf("%q: %d %s", part, status, body)
		}
	}
}
