package provider

import "testing"

// TestLikeVertexKeepsItsKey checks that a row that is like vertex asks for Claude with its own key, in its own place, and a row without a key with that of the
// environment; and that its key is not sent elsewhere than its own address says.
func TestLikeVertexKeepsItsKey(t *testing.T) {
	for name, value := range map[string]string{"GOOGLE_CLOUD_LOCATION": "us-east5", "GOOGLE_CLOUD_PROJECT": "one", "GOOGLE_OAUTH_ACCESS_TOKEN": "token", "VERTEX_API_KEY": "plain", "SECOND_TOKEN": "second"} {
		t.Setenv(name, value)
	}
	c := &Client{Vendors: map[string]Vendor{
		"second": {Like: "vertex", KeyEnv: "SECOND_TOKEN", Vars: map[string]string{"GOOGLE_CLOUD_LOCATION": "europe-west1"}},
		"bare":   {Like: "vertex"},
		"moved":  {Like: "vertex", KeyEnv: "SECOND_TOKEN", BaseURL: "https://proxy.example.org/v1"},
	}}
	for _, tt := range []struct{ id, host, key, wire string }{
		{"second/claude-sonnet-4-5", "europe-west1-aiplatform.googleapis.com:443", "second", "messages"},
		{"second/gemini-2.5-pro", "aiplatform.googleapis.com:443", "second", "gemini"},
		{"bare/claude-sonnet-4-5", "us-east5-aiplatform.googleapis.com:443", "token", "messages"},
		{"vertex/claude-sonnet-4-5", "us-east5-aiplatform.googleapis.com:443", "token", "messages"},
		{"moved/claude-sonnet-4-5", "proxy.example.org:443", "second", "messages"},
	} {
		m, err := c.Open(tt.id)
		if err != nil {
			t.Errorf("%s: %v", tt.id, err)
			continue
		}
		known := m.(*Model)
		key, err := c.key(&known.target)
		if known.Host() != tt.host || key != tt.key || known.wire != tt.wire || err != nil {
			t.Errorf("%s is asked at %s in %s with the key %q, %v", tt.id, known.Host(), known.wire, key, err)
		}
	}
}
