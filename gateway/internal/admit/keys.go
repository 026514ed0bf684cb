// Package admit decides whether a request may be answered. It checks the rights of the key and the possible cost, and
// records the usage.
package admit

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Client is the sender of a request, with the rights of its key.
type Client struct {
	*exchange.Request
	Header     http.Header // of the response
	Book       *access.Book
	wasRefused bool // because of the rights or a limit of the key
}

// NewClient returns the sender of a request. Without a book everything is allowed.
func NewClient(req *exchange.Request, header http.Header, book *access.Book) Client {
	return Client{Request: req, Header: header, Book: book}
}

// keyHeaders are the headers in which vendors' clients send their key, in addition to Authorization: Anthropic, Gemini,
// and OpenAI on Azure.
var keyHeaders = []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// The scheme of a key in Authorization, and the prefix of the scheme of signed Amazon requests.
const (
	bearer  = "bearer"
	signed4 = "AWS4-"
)

// errSigned refuses a signed request. Checking a signature needs the secret itself.
var errSigned = errors.New("this gateway keeps keys as hashes and cannot check signatures (SigV4): give Amazon's client the key in AWS_BEARER_TOKEN_BEDROCK")

// presentedKeys removes the keys from a request and returns them without duplicates. Removed keys cannot reach an
// upstream or a log.
func presentedKeys(r *http.Request, format string) (keys []string, err error) {
	add := func(key string) {
		if key = strings.TrimSpace(key); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, value := range r.Header.Values("Authorization") {
		scheme, key, _ := strings.Cut(strings.TrimSpace(value), " ")
		switch {
		case strings.EqualFold(scheme, bearer):
			add(key)
		case strings.HasPrefix(scheme, signed4):
			err = errSigned
		case scheme != "":
			err = errors.New("the key in Authorization lacks the word Bearer before it") // it may be the key, so the error does not include it
		}
	}
	r.Header.Del("Authorization")
	for _, name := range keyHeaders {
		for _, value := range r.Header.Values(name) {
			add(value)
		}
		r.Header.Del(name)
	}
	shown, signed := takeKeys(r)
	if signed {
		err = errSigned
	}
	if errorsOf(format).keyInAddress {
		for _, key := range shown {
			add(key)
		}
	}
	return keys, err
}

// takeKeys removes the parameters with a key, in any spelling, from the URL of a request, and reports whether the URL is
// signed. Other parameters stay unchanged, byte for byte, because upstreams may distinguish spellings. Malformed parameters stay too,
// unless they may contain a key.
func takeKeys(r *http.Request) (keys []string, signed bool) {
	query := r.URL.RawQuery
	if query == "" {
		return nil, false
	}
	var rest []string
	for part := range strings.SplitSeq(query, "&") {
		held := false
		for piece := range strings.SplitSeq(part, ";") { // some servers treat ; like &
			name, value, _ := strings.Cut(piece, "=")
			if plain, err := url.QueryUnescape(name); err == nil {
				name = plain
			}
			signed = signed || js.SameField([]byte(name), signature)
			if !js.SameField([]byte(name), keyParameter) {
				continue
			}
			held = true
			if key, err := url.QueryUnescape(value); err == nil && piece == part {
				keys = append(keys, key)
			}
		}
		if !held {
			rest = append(rest, part)
		}
	}
	if left := strings.Join(rest, "&"); left != query {
		r.URL.RawQuery, r.RequestURI = left, ""
	}
	return keys, signed
}

// The URL parameters for a key, as Gemini's clients send it, and for Amazon's signature.
const (
	keyParameter = "key"
	signature    = "X-Amz-Signature"
)

// Identify authenticates the client. Without access control it does nothing, and everything is allowed.
func (c *Client) Identify() error {
	if name := errorsOf(c.Codec.ErrorsOf()).requestID; name != "" {
		c.Header.Set(name, c.ID)
	}
	keys, err := presentedKeys(c.HTTP, c.Codec.Format)
	switch {
	case c.Book == nil:
		return nil
	case err != nil:
		return c.Refuse(&access.Refusal{Ground: access.NoKey, Detail: err.Error()})
	case len(keys) > 1:
		return c.Refuse(&access.Refusal{Ground: access.WrongKey, Detail: "the request shows more than one key"})
	}
	rights, err := c.Book.Authenticate(c.Context(), strings.Join(keys, ""))
	if err != nil {
		return c.Refuse(err)
	}
	c.SetRights(rights)
	return nil
}

// MayUseModel returns an error if the key may not use a model. It does not reveal whether the model exists.
func (c *Client) MayUseModel(model string) error { return c.mayUse(access.NoModel, model) }

// MayUseRoute returns an error if the key may not use a route.
func (c *Client) MayUseRoute(route string) error { return c.mayUse(access.NoRoute, route) }

// MayUseTool returns an error if the key may not use a tool that the gateway or a vendor runs.
func (c *Client) MayUseTool(tool string) error { return c.mayUse(access.NoTool, tool) }

func (c *Client) mayUse(ground access.Ground, name string) error {
	if c.Rights == nil {
		return nil
	}
	return c.Refuse(c.Rights.MayUse(ground, name))
}

// HostedTools returns the tools that the vendor runs for a request.
func (d *Demand) HostedTools(req *llm.Request) []string {
	var names []string
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool {
			names = append(names, t.Name)
		}
	}
	return append(names, d.vendorTools()...)
}

// MaySee reports whether the client may know about a model of a route.
func (c *Client) MaySee(route, name string) bool {
	return c.Rights == nil || c.Rights.Key.AllowsModel(name) && c.Rights.Key.AllowsRoute(route)
}
