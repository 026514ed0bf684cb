package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestPartsOfAccessKeysStayHome checks that the secret and the session token of an access key that stands in one variable, as ID:SECRET:SESSION, do
// not reach another host without the rest of it either.
func TestPartsOfAccessKeysStayHome(t *testing.T) {
	const id, secret, session = "AKIAEXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEX", "FwoGZXIvYXdzEBYaDExampleSession"
	t.Setenv("AWS_EU_KEY", id+":"+secret+":"+session)
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	client := &provider.Client{Retry: provider.RetryPolicy{Attempts: 1}, Vendors: map[string]provider.Vendor{
		"own": {BaseURL: server.URL, Wires: []string{wire.Chat}}, "bedrock-eu": {Like: "bedrock", KeyEnv: "AWS_EU_KEY", Vars: map[string]string{"AWS_REGION": "eu-west-1"}},
	}}
	for _, said := range []string{secret, session, id + ":" + secret, id + ":" + secret + ":" + session} {
		warned := false
		for ev := range open(t, client, "own/m").Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("It is " + said + ".")}}) {
			w, ok := ev.(llm.Warning)
			warned = warned || ok && w.Code == llm.Stripped
		}
		if !warned || got == "" || strings.Contains(got, secret) || strings.Contains(got, session) {
			t.Errorf("%s: warned %t, sent %s", said, warned, got)
		}
	}
}
