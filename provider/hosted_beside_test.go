package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// A tool that the vendor runs is left out where the model takes it only alone; what the client runs, and the form of the
// answer, stay.
func TestHostedBesideFunctions(t *testing.T) {
	const (
		function = `{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}`
		alone    = `{"model":"m","input":"hi","tools":[{"type":"web_search"}]}`
		both     = `{"model":"m","input":"hi","tools":[{"type":"web_search"},` + function + `]}`
		form     = `{"model":"m","input":"hi","tools":[{"type":"web_search"}],"text":{"format":{"type":"json_object"}}}`
		flag     = `"includeServerSideToolInvocations":true`
	)
	for _, c := range []struct {
		id, body   string
		has, lacks []string
		warned     bool
	}{
		{"gemini/gemini-2.5-pro", alone, []string{"googleSearch"}, []string{flag}, false},
		{"gemini/gemini-2.5-pro", both, []string{"functionDeclarations"}, []string{"googleSearch", flag}, true},
		{"vertex/gemini-2.5-flash", both, []string{"functionDeclarations"}, []string{"googleSearch", flag}, true},
		{"gemini/gemini-2.5-pro", form, []string{`"responseMimeType":"application/json"`}, []string{"googleSearch", "functionDeclarations"}, true},
		{"gemini/gemini-3-flash-preview", both, []string{"functionDeclarations", "googleSearch", flag}, nil, false},
		{"gemini/gemini-3-flash-preview", alone, []string{"googleSearch"}, []string{flag}, false},
		{"vertex/gemini-3-flash-preview", both, []string{"functionDeclarations", "googleSearch"}, []string{flag}, false},
	} {
		t.Setenv("GOOGLE_CLOUD_LOCATION", "global")
		t.Setenv("GOOGLE_CLOUD_PROJECT", "demo")
		codec, _ := wire.For(wire.Responses)
		req, _, err := codec.DecodeRequest([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		m := opened(t, &Client{}, c.id)
		portable, warnings := m.Portable(req)
		text, _ := planned(t, m, portable)
		for _, s := range c.has {
			if !strings.Contains(text, s) {
				t.Errorf("%s: %s lacks %s", c.id, text, s)
			}
		}
		for _, s := range c.lacks {
			if strings.Contains(text, s) {
				t.Errorf("%s: %s has %s", c.id, text, s)
			}
		}
		if said := slices.ContainsFunc(warnings, func(w llm.Warning) bool { return w.Feature == "web_search" && w.Code == llm.Ignored }); said != c.warned {
			t.Errorf("%s: %s: warned %v", c.id, c.body, warnings)
		}
	}
}
