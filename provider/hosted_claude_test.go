package provider_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/llmtest"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// rerouted is an HTTP client that sends every request to the simulator,
// whatever host it is for, and notes what was sent.
type rerouted struct {
	to     *url.URL
	client *http.Client
	mu     sync.Mutex
	sent   []sentRequest
}

type sentRequest struct {
	url    string
	header http.Header
	body   string
}

// RoundTrip sends a request on. The models of the vendor have names of their
// own; the simulator answers all of them as its native model.
func (r *rerouted) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.sent = append(r.sent, sentRequest{req.URL.String(), req.Header.Clone(), string(body)})
	r.mu.Unlock()
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = r.to.Scheme, r.to.Host, ""
	out.Body = io.NopCloser(bytes.NewReader(body))
	return r.client.Transport.RoundTrip(out)
}

// reroute starts the simulator behind a middleware that calls every model
// sim/native.
func reroute(t *testing.T, models ...string) *rerouted {
	t.Helper()
	behind := &sim.Server{Model: sim.Offline{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		for _, m := range models {
			req.URL.Path = strings.ReplaceAll(req.URL.Path, m, "sim/native")
			body = bytes.ReplaceAll(body, []byte(`"`+m+`"`), []byte(`"sim/native"`))
		}
		req.URL.Path = strings.Replace(req.URL.Path, "/openai/v1/", "/v1/", 1)
		req.Body = io.NopCloser(bytes.NewReader(body))
		behind.ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &rerouted{to: to, client: server.Client()}
}

// hostedCase is a vendor that serves somebody else's format, and what a request
// to it must look like.
type hostedCase struct {
	name, id   string
	env        map[string]string
	vendors    map[string]provider.Vendor
	wire       string
	whole      string // address of a request for a whole answer
	streamed   string
	header     map[string]string // the beginning of each
	body       map[string]string // members
	never      []string          // members that must not be there
	model      string
	foreignEnv map[string]string // keys of others, which must not be sent
}

var hostedCases = []hostedCase{
	{
		name: "Claude on Vertex, whole world", id: "vertex/claude-sonnet-4-5@20250929", model: "claude-sonnet-4-5@20250929",
		env:      map[string]string{"GOOGLE_CLOUD_PROJECT": "demo", "GOOGLE_CLOUD_LOCATION": "global", "GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.token"},
		whole:    "https://aiplatform.googleapis.com/v1/projects/demo/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict",
		streamed: "https://aiplatform.googleapis.com/v1/projects/demo/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
		header:   map[string]string{"Authorization": "Bearer ya29.token"},
		body:     map[string]string{"anthropic_version": `"vertex-2023-10-16"`}, never: []string{"model", "stream"},
		foreignEnv: map[string]string{"ANTHROPIC_API_KEY": "sk-ant-other", "VERTEX_API_KEY": "vx-other"},
	},
	{
		name: "Claude on Vertex, a region", id: "vertex-claude/claude-opus-4-1@20250805", model: "claude-opus-4-1@20250805",
		env:      map[string]string{"GOOGLE_CLOUD_PROJECT": "demo", "GOOGLE_CLOUD_LOCATION": "us-east5", "GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.token"},
		whole:    "https://us-east5-aiplatform.googleapis.com/v1/projects/demo/locations/us-east5/publishers/anthropic/models/claude-opus-4-1@20250805:rawPredict",
		streamed: "https://us-east5-aiplatform.googleapis.com/v1/projects/demo/locations/us-east5/publishers/anthropic/models/claude-opus-4-1@20250805:streamRawPredict",
		header:   map[string]string{"Authorization": "Bearer ya29.token"},
		body:     map[string]string{"anthropic_version": `"vertex-2023-10-16"`}, never: []string{"model", "stream"},
	},
	{
		name: "Claude on Vertex, several regions", id: "vertex/claude-sonnet-4-6", model: "claude-sonnet-4-6",
		env:      map[string]string{"GOOGLE_CLOUD_PROJECT": "demo", "GOOGLE_CLOUD_LOCATION": "eu", "GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.token"},
		whole:    "https://aiplatform.eu.rep.googleapis.com/v1/projects/demo/locations/eu/publishers/anthropic/models/claude-sonnet-4-6:rawPredict",
		streamed: "https://aiplatform.eu.rep.googleapis.com/v1/projects/demo/locations/eu/publishers/anthropic/models/claude-sonnet-4-6:streamRawPredict",
		header:   map[string]string{"Authorization": "Bearer ya29.token"},
		never:    []string{"model", "stream"},
	},
	{
		name: "Claude on Bedrock, with a token", id: "bedrock-claude/us.anthropic.claude-sonnet-4-5-20250929-v1:0", model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		env:      map[string]string{"AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-1"},
		whole:    "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke",
		streamed: "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream",
		header:   map[string]string{"Authorization": "Bearer bedrock-api-key-1"},
		body:     map[string]string{"anthropic_version": `"bedrock-2023-05-31"`}, never: []string{"model", "stream"},
		foreignEnv: map[string]string{"ANTHROPIC_API_KEY": "sk-ant-other"},
	},
	{
		name: "Claude on Bedrock, signed", id: "bedrock-claude/anthropic.claude-opus-4-1-20250805-v1:0", model: "anthropic.claude-opus-4-1-20250805-v1:0",
		env:      map[string]string{"AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-secret"},
		whole:    "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-opus-4-1-20250805-v1%3A0/invoke",
		streamed: "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-opus-4-1-20250805-v1%3A0/invoke-with-response-stream",
		header:   map[string]string{"Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/", "X-Amz-Date": "20"},
		body:     map[string]string{"anthropic_version": `"bedrock-2023-05-31"`}, never: []string{"model", "stream"},
		foreignEnv: map[string]string{"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-secret"},
	},
	{
		name: "Azure's Responses", id: "azure/gpt-5.1-codex", model: "gpt-5.1-codex",
		env:      map[string]string{"AZURE_OPENAI_ENDPOINT": "https://lab.openai.azure.com", "AZURE_OPENAI_API_KEY": "az-key-123"},
		whole:    "https://lab.openai.azure.com/openai/v1/responses",
		streamed: "https://lab.openai.azure.com/openai/v1/responses",
		header:   map[string]string{"Api-Key": "az-key-123"},
		body:     map[string]string{"model": `"gpt-5.1-codex"`}, never: []string{"messages"},
		foreignEnv: map[string]string{"OPENAI_API_KEY": "sk-openai-other"},
	},
	{
		name: "a deployment of one's own on Azure, with a version", id: "lab/my-deployment", model: "my-deployment", wire: wire.Responses,
		env: map[string]string{"AZURE_OPENAI_ENDPOINT": "https://lab.openai.azure.com", "AZURE_OPENAI_API_KEY": "az-key-123"},
		vendors: map[string]provider.Vendor{"lab": {BaseURL: "https://lab.openai.azure.com/openai/v1", Wires: []string{wire.Responses}, KeyEnv: "AZURE_OPENAI_API_KEY", KeyHeader: "Api-Key", Strict: true, Both: true,
			Quirks: format.Quirks{Path: "responses?api-version=preview"}}},
		whole:    "https://lab.openai.azure.com/openai/v1/responses?api-version=preview",
		streamed: "https://lab.openai.azure.com/openai/v1/responses?api-version=preview",
		header:   map[string]string{"Api-Key": "az-key-123"},
		body:     map[string]string{"model": `"my-deployment"`},
	},
}

// open opens the model of a case at the simulator.
func (h hostedCase) open(t *testing.T, whole bool) (llm.Model, *rerouted) {
	t.Helper()
	for name, value := range h.env {
		t.Setenv(name, value)
	}
	for name, value := range h.foreignEnv {
		t.Setenv(name, value)
	}
	to := reroute(t, h.model)
	yes := catalog.Answer{Support: catalog.Yes}
	known := catalog.Default().With(catalog.Model{ID: catalog.ID{Raw: "lab/my-deployment"}, Kind: "chat", NativeTools: yes, ToolChoiceRequired: yes})
	c := &provider.Client{HTTP: &http.Client{Transport: to}, Whole: whole, Vendors: h.vendors, Catalog: known, Retry: provider.RetryPolicy{Attempts: 1}}
	m, err := c.Open(h.id)
	if err != nil {
		t.Fatal(err)
	}
	return m, to
}

// Requests to hosts of other vendors' formats have the path, the headers and
// the body that the host wants, and the answers are understood.
func TestHostedFormats(t *testing.T) {
	for _, h := range hostedCases {
		for _, whole := range []bool{true, false} {
			t.Run(h.name+map[bool]string{true: ", whole", false: ", streamed"}[whole], func(t *testing.T) {
				m, to := h.open(t, whole)
				r, err := llm.Generate(t.Context(), m, ask("What is the weather in Rome?"))
				if err != nil {
					t.Fatal(err)
				}
				if calls := r.Message.Calls(); len(calls) != 1 || string(calls[0].Args) != rome {
					t.Errorf("calls %v, text %q", calls, r.Message.Text())
				}
				if len(to.sent) != 1 {
					t.Fatalf("%d requests", len(to.sent))
				}
				h.check(t, to.sent[0], map[bool]string{true: h.whole, false: h.streamed}[whole])
			})
		}
	}
}

func (h hostedCase) check(t *testing.T, got sentRequest, address string) {
	t.Helper()
	if got.url != address {
		t.Errorf("it went to\n%s, not to\n%s", got.url, address)
	}
	for name, want := range h.header {
		if !strings.HasPrefix(got.header.Get(name), want) {
			t.Errorf("the header %s is %q", name, got.header.Get(name))
		}
	}
	for _, key := range h.foreignEnv {
		for name, values := range got.header {
			if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, key) }) {
				t.Errorf("the key of another vendor is in the header %s", name)
			}
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got.body), &members); err != nil {
		t.Fatal(err)
	}
	for name, want := range h.body {
		if string(members[name]) != want {
			t.Errorf("%s is %s", name, members[name])
		}
	}
	for _, name := range h.never {
		if members[name] != nil {
			t.Errorf("%s must not be there: %s", name, members[name])
		}
	}
}

// The token of a host does not follow when its format is asked for elsewhere.
func TestHostedKeysStay(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, h := range hostedCases {
		vendor, _, _ := strings.Cut(h.id, "/")
		if h.vendors != nil {
			continue
		}
		for name, value := range h.env {
			t.Setenv(name, value)
		}
		to := reroute(t, h.model)
		c := &provider.Client{HTTP: &http.Client{Transport: to}, Retry: provider.RetryPolicy{Attempts: 1}}
		m, err := c.Open(vendor + "+https://evil.example/v1#" + h.model)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = llm.Generate(t.Context(), m, ask("hi"))
		for _, got := range to.sent {
			attacks++
			for name, values := range got.header {
				for _, secret := range h.header {
					if slices.Contains(values, secret) {
						t.Errorf("%s: the key went to %s in %s", h.name, got.url, name)
					}
				}
			}
		}
		if len(to.sent) == 0 {
			t.Errorf("%s: nothing was sent", h.name)
		}
	}
}

// A format's host keeps the promises of models, too.
func TestHostedModels(t *testing.T) {
	for _, i := range []int{0, 3, 5} {
		t.Run(hostedCases[i].name, func(t *testing.T) {
			llmtest.TestModel(t, func(t *testing.T) llm.Model {
				m, _ := hostedCases[i].open(t, false)
				return m
			})
		})
	}
}
