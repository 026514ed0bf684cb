package provider_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

const secret = "sk-top/secret+42"

// thief is a server that remembers everything it is sent.
type thief struct {
	mu    sync.Mutex
	asked int
	sent  bytes.Buffer
}

func (s *thief) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	fmt.Fprintln(&s.sent, r.Method, r.URL, r.Header)
	_, _ = io.Copy(&s.sent, r.Body)
	http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
}

func (s *thief) got() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.String()
}

// attempt is one way to make a key travel.
type attempt struct {
	name string
	// setup returns the client and the id to open; evil is the address of the
	// thief.
	setup func(t *testing.T, evil string) (*provider.Client, string)
}

// home is a server that a key was really made for: a row of the user's own.
func home(t *testing.T, header string, serve http.HandlerFunc) *provider.Client {
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	t.Setenv("LAB_KEY", secret)
	row := provider.Vendor{BaseURL: server.URL + "/v1", KeyEnv: "LAB_KEY", KeyHeader: header}
	return &provider.Client{Vendors: map[string]provider.Vendor{"lab": row}, Retry: provider.RetryPolicy{Initial: time.Millisecond}}
}

// redirect is a home that sends its clients to the thief.
func redirect(status int, header string) func(*testing.T, string) (*provider.Client, string) {
	return func(t *testing.T, evil string) (*provider.Client, string) {
		return home(t, header, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, evil+"/v1/chat/completions", status) }), "lab/m"
	}
}

// echo is a home that answers with the key it was sent.
func echo(status int, format string) func(*testing.T, string) (*provider.Client, string) {
	return func(t *testing.T, _ string) (*provider.Client, string) {
		return home(t, "", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, format, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}), "lab/m"
	}
}

func opens(id string) func(*testing.T, string) (*provider.Client, string) {
	return func(_ *testing.T, evil string) (*provider.Client, string) {
		return &provider.Client{}, strings.ReplaceAll(id, "EVIL", evil)
	}
}

func withEnv(name, value, id string) func(*testing.T, string) (*provider.Client, string) {
	return func(t *testing.T, evil string) (*provider.Client, string) {
		t.Setenv(name, strings.ReplaceAll(value, "EVIL", evil))
		return &provider.Client{HTTP: &http.Client{Transport: nowhere{}}, Retry: provider.RetryPolicy{Attempts: 1}}, id
	}
}

// nowhere reaches nobody, and says what it was to send, as a careless proxy
// might.
type nowhere struct{}

func (nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Hostname(), ".com") && r.URL.Scheme == "https" {
		return nil, errors.New("no network") // at home the key may be seen
	}
	return nil, fmt.Errorf("cannot send %s %v", r.URL, r.Header)
}

// leaky fails with all that it was to send in its error.
type leaky struct{}

func (leaky) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("proxy: cannot send %v", r.Header)
}

// accessKey puts an access key of Amazon's into the environment, all of it
// secret.
func accessKey(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDsecret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_SESSION_TOKEN", secret)
}

var attempts = []attempt{
	{"any address", opens("EVIL/v1#gpt-4o")},
	{"a vendor at another address", opens("openai+EVIL/v1#gpt-4o")},
	{"in other letters", opens("OpenAI+EVIL/v1#gpt-4o")},
	{"by another name", opens("google+EVIL/v1beta#gemini-2.5-pro")},
	{"a header of its own", opens("anthropic+EVIL/v1#claude-sonnet-4-5")},
	{"a local server that moved", opens("vllm+EVIL/v1#m")},
	{"a changed row", func(_ *testing.T, evil string) (*provider.Client, string) {
		return &provider.Client{Vendors: map[string]provider.Vendor{"openai": {BaseURL: evil + "/v1"}}}, "openai/gpt-4o"
	}},
	{"a changed row and a function for keys", func(_ *testing.T, evil string) (*provider.Client, string) {
		key := func(vendor string) (string, error) {
			if vendor == "openai" {
				return secret, nil
			}
			return "", nil
		}
		return &provider.Client{Key: key, Vendors: map[string]provider.Vendor{"openai": {BaseURL: evil + "/v1"}}}, "openai/gpt-4o"
	}},
	{"an address and a function for keys", func(_ *testing.T, evil string) (*provider.Client, string) {
		key := func(vendor string) (string, error) {
			if vendor == "anthropic" {
				return secret, nil
			}
			return "", nil
		}
		return &provider.Client{Key: key}, "anthropic+" + evil + "/v1#claude-sonnet-4-5"
	}},
	{"a row of one's own without a key", func(_ *testing.T, evil string) (*provider.Client, string) {
		return &provider.Client{Vendors: map[string]provider.Vendor{"lab": {BaseURL: evil + "/v1"}}}, "lab/m"
	}},
	{"redirect 302", redirect(302, "")},
	{"redirect 307", redirect(307, "")},
	{"redirect 308, other header", redirect(308, "X-Api-Key")},
	{"redirect 307, third header", redirect(307, "Api-Key")},
	{"the server's variable", withEnv("OLLAMA_HOST", "EVIL", "ollama/llama3.1:8b")},
	{"the variable of other libraries", withEnv("OPENAI_BASE_URL", "EVIL/v1", "openai/gpt-4o")},
	{"azure without encryption", withEnv("AZURE_OPENAI_ENDPOINT", "http://evil.example", "azure/gpt-4o")},
	{"a region that is an address", withEnv("AWS_REGION", "x@evil.example/", "bedrock/openai.gpt-oss-20b")},
	{"a password in the address", opens("http://user:" + "sk-top%2Fsecret+42" + "@127.0.0.1:1/v1#m")},
	{"a host in front of a host", opens("openai+https://api.openai.com@127.0.0.1:1/v1#m")},
	{"a model that is a path", func(t *testing.T, evil string) (*provider.Client, string) {
		host := strings.TrimPrefix(evil, "http://")
		return home(t, "", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", 400) }), "lab/@" + host + "/../../x"
	}},
	{"the key in an error", echo(401, `{"error":{"message":"Incorrect API key provided: %s"}}`)},
	{"the key in a busy server's error", echo(503, `{"error":{"message":"busy with %s"}}`)},
	{"the key in no JSON", echo(500, `<html>%s</html>`)},
	{"the key in the code of an error", echo(400, `{"error":{"code":"bad %s"}}`)},
	{"the key in an error of a stream", echo(200, "data: {\"error\":{\"message\":\"no %s\"}}\n\n")},
	{"the key in a stream that is none", echo(200, "data: {]%s\n\n")},
	{"the key in an error of the network", func(t *testing.T, _ string) (*provider.Client, string) {
		c := home(t, "", func(http.ResponseWriter, *http.Request) {})
		c.HTTP = &http.Client{Transport: leaky{}}
		return c, "lab/m"
	}},
	{"an access key at another address", func(t *testing.T, evil string) (*provider.Client, string) {
		accessKey(t)
		return &provider.Client{}, "bedrock+" + evil + "#amazon.nova-pro-v1:0"
	}},
	{"an access key in an error of the network", func(t *testing.T, _ string) (*provider.Client, string) {
		accessKey(t)
		return &provider.Client{HTTP: &http.Client{Transport: leaky{}}, Retry: provider.RetryPolicy{Attempts: 1}}, "bedrock/amazon.nova-pro-v1:0"
	}},
	{"an access key of a function, in an error", func(t *testing.T, _ string) (*provider.Client, string) {
		t.Setenv("AWS_REGION", "us-east-1")
		key := func(string) (string, error) { return "AKIDsecret:" + secret + ":" + secret, nil }
		return &provider.Client{Key: key, HTTP: &http.Client{Transport: leaky{}}, Retry: provider.RetryPolicy{Attempts: 1}}, "bedrock/amazon.nova-pro-v1:0"
	}},
	{"a key with a line break", func(t *testing.T, evil string) (*provider.Client, string) {
		c := home(t, "", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", 400) })
		t.Setenv("LAB_KEY", secret+"\r\nHost: "+evil)
		return c, "lab/m"
	}},
}

// A key goes to the host it was made for and nowhere else, and never into an
// error or an event.
func TestKeysStayHome(t *testing.T) {
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			for _, v := range provider.Vendors() {
				if v.KeyEnv != "" {
					t.Setenv(v.KeyEnv, secret)
				}
			}
			t.Setenv("OLLAMA_API_KEY", secret)
			evil := new(thief)
			server := httptest.NewServer(evil)
			defer server.Close()
			client, id := a.setup(t, server.URL)
			if client.HTTP == nil {
				transport := new(http.Transport)
				defer transport.CloseIdleConnections()
				client.HTTP = &http.Client{Transport: transport}
			}
			said := everything(t, client, id)
			for _, where := range []struct{ what, text string }{{"was sent", evil.got()}, {"was said", said}} {
				if strings.Contains(where.text, "secret") {
					t.Errorf("the key %s: %s", where.what, where.text)
				}
			}
		})
	}
	t.Logf("%d attacks", len(attempts))
}

// everything opens a model, asks it, and returns all that is said about it.
func everything(t *testing.T, c *provider.Client, id string) string {
	var said strings.Builder
	m, err := c.Open(id)
	if err != nil {
		return fmt.Sprintf("%v %+v", err, err)
	}
	fmt.Fprintf(&said, "%v %+v %#v\n", m, m, m)
	for ev, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hi")}, Tools: []llm.ToolDef{weather}}) {
		fmt.Fprintf(&said, "%+v %v %+v\n", ev, err, err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			fmt.Fprintf(&said, "%#v\n", e)
		}
	}
	if check, ok := m.(*provider.Model); ok {
		warnings, err := check.Check(t.Context())
		fmt.Fprintln(&said, warnings, err)
	}
	return said.String()
}

// The controls: a key does reach the host it was bound to.
func TestKeysArrive(t *testing.T) {
	for _, header := range []string{"", "X-Api-Key", "Api-Key"} {
		var got string
		c := home(t, header, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Get(header) + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			http.Error(w, "{}", 400)
		})
		m, err := c.Open("lab/m")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("hi")}})
		if got != secret {
			t.Errorf("header %q: the key did not arrive, but %q", header, got)
		}
	}
}

// The same for a vendor that signs: an access key signs and stays here, a token
// travels.
func TestSigningKeys(t *testing.T) {
	var auth, all string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth, all = r.Header.Get("Authorization"), fmt.Sprint(r.URL, r.Header)
		http.Error(w, `{"message":"no"}`, 400)
	}))
	defer server.Close()
	row := provider.Vendor{BaseURL: server.URL, KeyEnv: "LAB_KEY"}
	for key, want := range map[string]string{
		"AKID:" + secret:              "AWS4-HMAC-SHA256 Credential=AKID/",
		"AKID:" + secret + ":session": "AWS4-HMAC-SHA256 Credential=AKID/",
		"a-token":                     "Bearer a-token",
	} {
		t.Setenv("LAB_KEY", key)
		m, err := (&provider.Client{Vendors: map[string]provider.Vendor{"bedrock": row}}).Open("bedrock/amazon.nova-pro-v1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = llm.Generate(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.User("hi")}})
		if !strings.HasPrefix(auth, want) || strings.Contains(all, "secret") || strings.Contains(all, "session") != strings.HasSuffix(key, ":session") {
			t.Errorf("%s: %s", want, all)
		}
	}
}
