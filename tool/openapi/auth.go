package openapi

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/internal/outgoing"
)

// credential is a value of the environment and its place in a request.
type credential struct {
	env      string
	in, name string // header, query or cookie, and its name
	prefix   string
	basic    bool
}

// credentialOf returns the credential for a security scheme.
func credentialOf(s securityScheme, env string) (credential, error) {
	switch {
	case s.Type == "apiKey" && (s.In == "header" || s.In == "query" || s.In == "cookie") && s.Name != "":
		return credential{env: env, in: s.In, name: s.Name}, nil
	case s.Type == "http" && s.Scheme == "basic":
		return credential{env: env, in: "header", name: "Authorization", prefix: "Basic ", basic: true}, nil
	case s.Type == "http" && s.Scheme == "bearer", s.Type == "oauth2", s.Type == "openIdConnect":
		return credential{env: env, in: "header", name: "Authorization", prefix: "Bearer "}, nil
	}
	return credential{}, fmt.Errorf("a credential of the type %s %s cannot be sent", s.Type, s.Scheme)
}

// credentials returns the credentials for an operation: those of the first
// alternative for which the configuration is complete. Otherwise lack names a
// missing scheme.
func (b *builder) credentials(op *operationObject) (creds []credential, lack string) {
	needed := b.d.security
	if op.Security != nil {
		needed = *op.Security
	}
	for _, alternative := range needed {
		creds = nil
		missing := ""
		for scheme := range alternative {
			c, err := credentialOf(b.schemes[scheme], b.c.Auth[scheme])
			if err != nil || b.c.Auth[scheme] == "" {
				missing = scheme
			}
			creds = append(creds, c)
		}
		if missing == "" {
			return creds, ""
		}
		lack = missing
	}
	return nil, lack
}

// authorise puts credentials and the configured headers on a request. A variable
// that is not set is an error here, where it is easier to find than at the server.
func (o *operation) authorise(req *http.Request) error {
	for _, c := range o.auth {
		value, ok := os.LookupEnv(c.env)
		if !ok || value == "" {
			return tool.Errorf(tool.Permission, "the request needs the environment variable %s, which is not set", c.env)
		}
		if c.basic {
			value = base64.StdEncoding.EncodeToString([]byte(value))
		}
		switch value = c.prefix + value; c.in {
		case "header":
			req.Header.Set(c.name, value)
		case "query":
			q := url.QueryEscape(c.name) + "=" + url.QueryEscape(value)
			if req.URL.RawQuery != "" {
				q = req.URL.RawQuery + "&" + q
			}
			req.URL.RawQuery = q
		case "cookie":
			req.AddCookie(&http.Cookie{Name: c.name, Value: value})
		}
	}
	return outgoing.SetHeaders(req, o.headers)
}
