package provider

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/credential"
)

// ErrNoKey is in the error of a request that was not sent because the vendor has no
// key.
var ErrNoKey = errors.New("no key")

// key returns the key of a target, and "" if none is needed.
//
// A key belongs to the host it was made for. At a vendor's own address it is
// the one of the vendor; at any other it is only what Client.Key gives for
// "vendor@host", or what a row of the user's own names.
func (c *Client) key(t *target) (string, error) {
	key, err := c.lookupKey(t)
	if err != nil {
		return "", &llm.Error{Op: t.vendor.Name, Kind: llm.Auth, Err: fmt.Errorf("%w: %w", ErrNoKey, err)}
	}
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &llm.Error{Op: t.vendor.Name, Kind: llm.Auth, Err: errors.New("the key holds characters that no key has; check for quotes and line breaks")}
	}
	if key != "" && t.base.Scheme == "http" && !t.vendor.moved && !loopback(t.base.Hostname()) && t.builtin() {
		return "", &llm.Error{Op: t.vendor.Name, Kind: llm.Auth, Err: errors.New("its key is not sent over plain http")}
	}
	return key, nil
}

// Ready returns the reason for which the model cannot be asked, without a request: its
// key is missing, or must not be sent to its address.
func (m *Model) Ready() error {
	_, err := m.client.key(&m.target)
	return err
}

// builtin reports whether the row is one of the table's.
func (t *target) builtin() bool {
	for _, v := range builtin {
		if v.Name == t.vendor.Name {
			return true
		}
	}
	return false
}

func (c *Client) lookupKey(t *target) (string, error) {
	v := &t.vendor
	if c.Key != nil {
		return c.Key(t.label())
	}
	if v.moved || v.KeyEnv == "" {
		return "", nil
	}
	if key := os.Getenv(v.KeyEnv); key != "" || v.KeyOptional {
		return key, nil
	}
	switch {
	case v.KeyEnv == credential.AWSBearer:
		return credential.FromEnvironment(v.KeyEnv)
	case v.Sign != "": // a separate account: the key of another account is not used
		return "", fmt.Errorf("set %s to a token, or to an access key as ID:SECRET", variableNamed(v.KeyEnv))
	}
	return "", fmt.Errorf("set %s", variableNamed(v.KeyEnv))
}

// variableNamed returns the name of a variable for an error. A key in place of a name
// is not shown.
func variableNamed(name string) string {
	for i, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return "the variable that holds the key, and name it: the given text is not the name of a variable"
		}
	}
	return name
}

// overheard warns if a key goes through a proxy that can read it.
func (c *Client) overheard(t *target) []llm.Warning {
	key, err := c.key(t)
	if err != nil || key == "" {
		return nil // the request itself reports a missing key
	}
	proxy := outbound.ReadableBy(c.httpClient(), &http.Request{URL: t.base})
	if proxy == nil {
		return nil
	}
	return []llm.Warning{{Code: llm.Compatibility, Feature: "proxy", Detail: fmt.Sprintf("the key for %s goes through the proxy %s, which can read it; use https, or except the host with NO_PROXY", t.base.Host, proxy.Host)}}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// authorize puts the key into a request that is complete but for it, or signs
// the request with it.
func (v *Vendor) authorize(req *http.Request, payload []byte, key string) error {
	for name, value := range v.Headers {
		req.Header.Set(name, value)
	}
	pair, signs := credential.ParseAWSKey(key)
	switch {
	case key == "":
	case v.Sign != "" && signs:
		return pair.Sign(req, payload, v.Sign, time.Now())
	case v.KeyHeader != "":
		req.Header.Set(v.KeyHeader, key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return nil
}
