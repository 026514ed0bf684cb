package provider

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/credential"
)

// redactBody removes the secrets that do not belong to the host from an encoded
// request, and returns a warning if there were any. It does not matter whether a file,
// a tool or a person put them there.
func (c *Client) redactBody(t *target, body []byte) ([]byte, []llm.Warning) {
	own, err := c.key(t)
	if err != nil {
		return body, nil // nothing is sent
	}
	set := c.foreignSet(own)
	if !set.In(body) {
		return body, nil
	}
	clean, n := credential.RedactJSON(body, set)
	if n == 0 {
		return body, nil
	}
	return clean, redactedWarning(t.base.Host, n)
}

// redactRequest returns req without the secrets that do not belong to the host of
// t, before anything of it is cut for a prompt: half a key is not recognised. It
// is req itself if there are none.
func (c *Client) redactRequest(t *target, req *llm.Request) (*llm.Request, []llm.Warning) {
	own, err := c.key(t)
	if err != nil {
		return req, nil // nothing is sent
	}
	r := redactor{set: c.foreignSet(own)}
	if r.set.Empty() {
		return req, nil
	}
	out := req.Clone()
	out.System = r.text(req.System)
	for i := range out.Tools {
		out.Tools[i].Description = r.text(out.Tools[i].Description)
	}
	for i, msg := range out.Messages {
		for j, p := range msg.Parts {
			out.Messages[i].Parts[j] = r.part(p)
		}
	}
	if r.found == 0 {
		return req, nil
	}
	return out, redactedWarning(t.base.Host, r.found)
}

// redactedWarning warns of secrets that were found.
func redactedWarning(host string, n int) []llm.Warning {
	return []llm.Warning{{Code: llm.Stripped, Feature: "request", Detail: fmt.Sprintf("a key or credential that does not belong to %s stood in the request %d times and was taken out", host, n)}}
}

// redactor takes secrets out of a request.
type redactor struct {
	set   *secret.Set
	found int
}

func (c *redactor) text(s string) string {
	if !c.set.In([]byte(s)) {
		return s
	}
	out, n := c.set.Redact([]byte(s))
	c.found += n
	return string(out)
}

// part returns a part of a message without secrets. Signed thinking is not changed:
// its own vendor wrote it.
func (c *redactor) part(p llm.Part) llm.Part {
	switch p := p.(type) {
	case llm.Text:
		p.Text = c.text(p.Text)
		return p
	case llm.Thinking:
		if p.State.IsZero() {
			p.Text = c.text(p.Text)
		}
		return p
	case llm.Call:
		if c.set.In(p.Args) {
			args, n := credential.RedactJSON(p.Args, c.set)
			p.Args, c.found = args, c.found+n
		}
		return p
	case llm.Result:
		p.Parts = slices.Clone(p.Parts)
		for i, inner := range p.Parts {
			p.Parts[i] = c.part(inner)
		}
		return p
	}
	return p
}

// foreignSet recognises the secrets that are not the key of the target. It is rebuilt
// when they have changed.
func (c *Client) foreignSet(own string) *secret.Set {
	known := c.strangers.Load()
	if known != nil && known.rows == len(c.Vendors) && known.are(c.foreign(own, known.vars)) {
		return known.set
	}
	vars := c.keyVars()
	values := slices.Collect(c.foreign(own, vars))
	made := &strangers{len(c.Vendors), vars, values, secret.NewSet(values...)}
	c.strangers.Store(made)
	return made.set
}

// strangers are secrets, and the set that recognises them.
type strangers struct {
	rows   int      // of vendors
	vars   []string // variables that hold keys, in a fixed order
	values []string
	set    *secret.Set
}

// are reports whether the secrets are these.
func (s *strangers) are(values iter.Seq[string]) bool {
	n := 0
	for v := range values {
		if n == len(s.values) || s.values[n] != v {
			return false
		}
		n++
	}
	return n == len(s.values)
}

// keyVars are the variables in which the keys of all vendors are.
func (c *Client) keyVars() []string {
	var names []string
	for _, v := range builtin {
		names = append(names, v.KeyVars()...)
	}
	for _, vendor := range slices.Sorted(maps.Keys(c.Vendors)) {
		names = append(names, c.Vendors[vendor].KeyVars()...)
	}
	return names
}

// foreign yields the secrets that are not the key of the target: those of the
// program, and the keys of all vendors in the environment.
func (c *Client) foreign(own string, vars []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		strange := func(v string) bool { return v != "" && !strings.Contains(own, v) }
		for _, v := range c.Secrets {
			if strange(v) && !yield(v) {
				return
			}
		}
		for _, name := range vars {
			for _, v := range secret.KeyParts(strings.TrimSpace(os.Getenv(name))) {
				if strange(v) && !yield(v) {
					return
				}
			}
		}
	}
}
