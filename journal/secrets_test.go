package journal_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/journal"
)

// long makes up the body of a key: these have the form of keys and open
// nothing.
func long(n int) string { return strings.Repeat("a1B2c3D4e5", n/10+1)[:n] }

func TestSecretsRedacted(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	jwt := "eyJ" + long(20) + "." + long(30) + "." + long(20)
	for _, c := range []struct{ rule, text, want string }{
		{"openai-key", "key sk-" + long(48) + ".", "key [stripped:openai-key]."},
		{"openai-key", "sk-proj-" + long(60), "[stripped:openai-key]"},
		{"anthropic-key", `{"k":"sk-ant-api03-` + long(80) + `"}`, `{"k":"[stripped:anthropic-key]"}`},
		{"openrouter-key", "sk-or-v1-" + long(64), "[stripped:openrouter-key]"},
		{"google-key", "https://x/y?key=AIza" + long(35) + "&z=1", "https://x/y?key=[stripped:google-key]&z=1"},
		{"aws-key", "AKIAIOSFODNN7EXAMPLE", "[stripped:aws-key]"},
		{"aws-key", "id AKIAIOSFODNNXEXAMPLE.", "id [stripped:aws-key]."},
		{"aws-key", "ASIAQWERTYUIOPASDFGH", "[stripped:aws-key]"},
		{"huggingface-token", "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", "[stripped:huggingface-token]"},
		{"github-token", "(ghp_" + long(36) + ")", "([stripped:github-token])"},
		{"github-token", "github_pat_" + long(50), "[stripped:github-token]"},
		{"gitlab-token", "glpat-" + long(20), "[stripped:gitlab-token]"},
		{"slack-token", "xoxb-1234567890-" + long(12), "[stripped:slack-token]"},
		{"huggingface-token", "hf_" + long(34), "[stripped:huggingface-token]"},
		{"groq-key", "gsk_" + long(52), "[stripped:groq-key]"},
		{"stripe-key", "sk_live_" + long(24), "[stripped:stripe-key]"},
		{"jwt", "token " + jwt + " ok", "token [stripped:jwt] ok"},
		{"authorization", "Authorization: Bearer abc", "Authorization: Bearer [stripped:authorization]"},
		{"authorization", "curl -H 'authorization: Basic dXNlcjpwYXNz' http://x", "curl -H 'authorization: Basic [stripped:authorization]' http://x"},
		{"authorization", "use BEARER " + long(32) + " now", "use BEARER [stripped:authorization] now"},
		{"api-key", `{"x-api-key": "0123456789abcdef"}`, `{"x-api-key": "[stripped:api-key]"}`},
		{"api-key", `{\"api_key\": \"0123456789abcdef\"}`, `{\"api_key\": \"[stripped:api-key]\"}`},
		{"api-key", "API_KEY=0123456789abcdef make", "API_KEY=[stripped:api-key] make"},
		{"aws-secret", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[stripped:aws-secret]"},
		{"password", "password: correct-horse", "password: [stripped:password]"},
		{"url-password", "postgres://bob:pa55word@db/x", "postgres://bob:[stripped:url-password]@db/x"},
		{"private-key", "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n[stripped:private-key]\nb"},
		{"private-key", "-----BEGIN PRIVATE KEY-----\nMIIEcut off", "[stripped:private-key]"},
	} {
		attacks++
		got, rules := (*journal.Secrets)(nil).Redact(c.text)
		if got != c.want || strings.Join(rules, " ") != c.rule {
			t.Errorf("%s\n got %s %v\nwant %s [%s]", c.text, got, rules, c.want, c.rule)
		}
		if again, _ := (*journal.Secrets)(nil).Redact(got); again != got {
			t.Errorf("stripped again, %s becomes %s", got, again)
		}
	}
}

func TestHarmlessTextNotRedacted(t *testing.T) {
	for _, text := range []string{
		"", "a task-force with sk-learn and sk-loading-spinner-container-element",
		"the Authorization header", "authorization: none", "Bearer tokens are strings", "the bearer authentication-and-authorization scheme",
		"password: $PASSWORD", "api_key=<your key>", "http://host:8080/path@x", "https://example.org/a:b@c", "AKIA is a prefix",
		"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----", "eyJhbGciOiJ9", "commit ghp_short", "the password is not here",
		"risk-0123456789012345678901234567890",
	} {
		if got, rules := (*journal.Secrets)(nil).Redact(text); got != text {
			t.Errorf("%q became %q by %v", text, got, rules)
		}
	}
}

func TestConfiguredSecrets(t *testing.T) {
	s := &journal.Secrets{Values: []string{"", "open sesame"}, Patterns: []*regexp.Regexp{regexp.MustCompile(`ACME-\d+`)}}
	got, rules := s.Redact("say open sesame to ACME-77, not AKIAIOSFODNN7EXAMPLE")
	if want := "say [stripped:value] to [stripped:pattern], not [stripped:aws-key]"; got != want || len(rules) != 3 {
		t.Errorf("%s %v", got, rules)
	}
}

// In a body the names of fields count too, secrets may be escaped, and may be
// keys.
func TestSecretsInBodies(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	key := "sk-ant-" + long(30)
	for _, c := range []struct{ why, body, want string }{
		{"a value under a telling name", `{"headers":{"Authorization":"x","X-Api-Key":"y"},"n":1}`, `{"headers":{"Authorization":"[stripped:authorization]","X-Api-Key":"[stripped:api-key]"},"n":1}`},
		{"a schema that has such a name is no secret", `{"properties":{"password":{"type":"string"}},"required":["password"]}`, `{"properties":{"password":{"type":"string"}},"required":["password"]}`},
		{"after an escape", `{"t":"line\n` + key + `\n"}`, `{"t":"line\n[stripped:anthropic-key]\n"}`},
		{"written with escapes", `{"t":"\u0073k-ant-` + long(30) + `"}`, `{"t":"[stripped:anthropic-key]"}`},
		{"in an array", `["a","` + key + `","b"]`, `["a","[stripped:anthropic-key]","b"]`},
		{"a name does not reach beyond its value", `{"password":1,"z":"visible"}`, `{"password":1,"z":"visible"}`},
	} {
		attacks++
		e, err := journal.Next(journal.Entry{}, journal.Entry{Run: "r", Kind: "note", Body: json.RawMessage(c.body)}, nil)
		if err != nil || string(e.Body) != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.why, e.Body, err, c.want)
		}
		if (e.Stripped != nil) != (c.body != c.want) {
			t.Errorf("%s: marked %v", c.why, e.Stripped)
		}
	}
	two := `{"` + key + `":1,"` + key + `2":2,"a":3}`
	e, err := journal.Next(journal.Entry{}, journal.Entry{Run: "r", Kind: "note", Body: json.RawMessage(two)}, nil)
	if err != nil || strings.Contains(string(e.Body), "sk-ant") || strings.Count(string(e.Body), "stripped") != 2 {
		t.Errorf("keys that are secrets: %s, %v", e.Body, err)
	}
	if line, err := e.Line(); err != nil || second(journal.ParseEntry(line)) != nil {
		t.Errorf("the stripped entry does not read back: %v, %v", err, second(journal.ParseEntry(line)))
	}
}

// Stripping a body never breaks it: the entry reads back, and nothing is left
// to strip.
func FuzzStripBody(f *testing.F) {
	f.Add([]byte(`{"password":"x","t":"Authorization: Bearer abc","sk-ant-` + long(30) + `":"\n"}`))
	f.Add([]byte(`["://u:p@h","-----BEGIN PRIVATE KEY-----","api_key=\"'abcdefgh"]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := journal.Next(journal.Entry{}, journal.Entry{Run: "r", Kind: "note", Body: body}, nil)
		if err != nil {
			return
		}
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := journal.ParseEntry(line); err != nil {
			t.Fatalf("%q became %q: %v", body, line, err)
		}
	})
}

func BenchmarkStrip(b *testing.B) {
	text := strings.Repeat("The quick brown fox reads a file: src/auth.rs = 12; and goes on. ", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		(*journal.Secrets)(nil).Redact(text)
	}
}

// TestStripJSON: a secret is found however a string escapes it, one under a known name goes whole, and what stays is JSON in the order of before.
func TestStripJSON(t *testing.T) {
	s := &journal.Secrets{Values: []string{"hunter2hunter2"}}
	for in, want := range map[string]string{
		` { "b" : 1.50 , "a" : [ "x y" , null ] } `:                                               `{"b":1.50,"a":["x y",null]}`,
		`{"z":"hunter2\u0068unter2","a":"\ud83d\ude00 \ud800"}`:                                   `{"z":"[stripped:value]","a":"\ud83d\ude00 \ud800"}`,
		`{"Password":"a b","password":"","token":"sk\u002dant-` + "api03-0123456789abcdef" + `"}`: `{"Password":"[stripped:password]","password":"","token":"[stripped:anthropic-key]"}`,
		`{"arguments":"{\"api_key\":\"abcdef12\",\"n\":1}"}`:                                      `{"arguments":"{\"api_key\":\"[stripped:api-key]\",\"n\":1}"}`,
		`"\\"`: `"\\"`, `{"a":`: "", `a`: "", ``: "",
	} {
		got, ok := s.RedactJSON([]byte(in))
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s, %t", in, got, ok)
		}
	}
	if got, ok := (*journal.Secrets)(nil).RedactJSON([]byte(`["Bearer abcdef0123456789"]`)); !ok || string(got) != `["Bearer [stripped:authorization]"]` {
		t.Errorf("%s", got)
	}
}

// A secret known by value is stripped from records in every spelling, and no cut
// of clean text shows a part of one.
func TestSpellingsOfValues(t *testing.T) {
	const key = "p/ss+w0rd=of&no%form"
	secrets := &journal.Secrets{Values: []string{key, "tiny"}}
	for before := range 4 {
		text := "see " + key + " or " + url.QueryEscape(key) + " or " + url.PathEscape(key) + " or " +
			base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", before)+key+":x")) + " or " +
			base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("u", before)+key)) + " end, tiny"
		store := &journal.Memory{Secrets: secrets}
		body, _ := json.Marshal(map[string]string{"text": text})
		if _, err := store.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: body}); err != nil {
			t.Fatal(err)
		}
		for e, err := range store.Read(t.Context(), "r", 0) {
			if err != nil {
				t.Fatal(err)
			}
			got := string(e.Body)
			if n := strings.Count(got, "[stripped:value]"); n != 6 || e.Stripped == nil || strings.Contains(got, "tiny") {
				t.Errorf("%d found: %s", n, got)
			}
		}
		clean := secrets.Clean(text)
		for n := range len(clean.String()) {
			if cut := clean.Cut(n); strings.Contains(cut, key[:6]) {
				t.Fatalf("%q", cut)
			}
		}
		if only, n := secrets.RedactValues(text); n != 5 || !strings.Contains(only, "tiny") {
			t.Errorf("%d: %s", n, only)
		}
	}
}

// Mixed escapes and wrapped lines hide no value from the record, also where JSON
// escapes them once more.
func TestHiddenSpellingsInBodies(t *testing.T) {
	const key = "kA9-of_no-known-form-Zq7"
	var entities, escapes strings.Builder
	for i := range len(key) {
		fmt.Fprintf(&entities, "&#x%x;", key[i])
		fmt.Fprintf(&escapes, `\u%04X`, key[i])
	}
	coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 45) + key + strings.Repeat("y", 45)))
	for name, text := range map[string]string{
		"entities": entities.String(), "escapes": escapes.String(), "wrapped base64": coded[:76] + "\n" + coded[76:], "wrapped": key[:9] + "\r\n\t" + key[9:], "some of it escaped": "%6B" + key[1:],
	} {
		store := &journal.Memory{Secrets: &journal.Secrets{Values: []string{key}}}
		body, _ := json.Marshal(map[string]string{"text": "a " + text + " b"})
		if _, err := store.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: body}); err != nil {
			t.Fatal(err)
		}
		for e, err := range store.Read(t.Context(), "r", 0) {
			if err != nil || strings.Count(string(e.Body), "[stripped:value]") != 1 || e.Stripped == nil {
				t.Errorf("%s: %s %v", name, e.Body, err)
			}
		}
	}
}
