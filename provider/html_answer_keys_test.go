package provider_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestPagesThatRepeatKeys checks that a page which repeats the key, in whatever spelling and wherever the beginning of the page that is
// shown ends within it, shows none of it, neither in the error nor in its outline, in which there is nothing of the page.
func TestPagesThatRepeatKeys(t *testing.T) {
	const plain = "sk-live+0123456789abcdefABCDEF-very+secret-key-of-a-customer"
	const pair = "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	var page, mediaType string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write([]byte(page))
	}))
	defer server.Close()
	marks := func(plus, minus string) string {
		return strings.NewReplacer("+", plus, "-", minus).Replace(plain)
	}
	for name, test := range map[string]struct{ key, form string }{
		"plain":             {plain, plain},
		"of HTML":           {plain, marks("&#43;", "&#x2d;")},
		"of addresses":      {plain, url.QueryEscape(plain)},
		"all of addresses":  {plain, marks("%2b", "%2D")},
		"of JSON":           {plain, marks(`\u002b`, `\u002d`)},
		"quoted twice":      {plain, marks(`\\u002b`, `\\u002d`)},
		"base64":            {plain, base64.StdEncoding.EncodeToString([]byte(plain))},
		"base64, of a user": {plain, base64.StdEncoding.EncodeToString([]byte("u:" + plain))},
		"digits":            {plain, hex.EncodeToString([]byte(plain))},
		"lines":             {plain, plain[:20] + "\n  " + plain[20:40] + "\n  " + plain[40:]},
		"a pair":            {pair, pair},
		"a pair, base64":    {pair, base64.StdEncoding.EncodeToString([]byte(pair))},
		"a secret of HTML":  {pair, strings.ReplaceAll(pair[21:], "/", "&#47;")},
	} {
		c := &provider.Client{
			Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL, Wires: []string{wire.Chat}}}, Route: provider.Native,
			Key: func(string) (string, error) { return test.key, nil },
		}
		m, err := c.Open("up/m")
		if err != nil {
			t.Fatal(err)
		}
		for pad := 20; pad < 120; pad += 3 {
			page, mediaType = "<p>"+strings.Repeat("x", pad)+" "+test.form+"</p>", "text/html"
			_, err := llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("hi")}})
			var came *provider.NoAnswerError
			if !errors.As(err, &came) {
				t.Fatal(err)
			}
			_, shown, _ := strings.Cut(came.Start, " ")
			if shown = strings.TrimPrefix(shown, "[stripped:value]"); shared(shown, test.form) > 8 {
				t.Errorf("%s behind %d bytes: %q", name, pad, came.Start)
			}
			if told := came.Outline(); strings.Contains(told, "<p>") || !strings.Contains(told, "answered 200 without an answer of a model (text/html);") {
				t.Error(told)
			}
		}
		page, mediaType = "<p>Sign in</p>", "text/"+strings.ReplaceAll(test.key, "/", "_")
		_, err = llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("hi")}})
		var came *provider.NoAnswerError
		if !errors.As(err, &came) || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(test.key[:12])) {
			t.Errorf("%s as a media type: %v", name, err)
		}
	}
}

// shared is how many bytes of form, one after the other, stand in text at most.
func shared(text, form string) int {
	most := 0
	for i := range form {
		for most < len(form)-i && strings.Contains(text, form[i:i+most+1]) {
			most++
		}
	}
	return most
}
