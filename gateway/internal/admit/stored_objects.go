package admit

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// accountRule is the reason for refusing references to stored objects.
const accountRule = "a request reaches what others keep in the account of the upstream, unless its route says whose that is (pass_team)"

// WithinAccount returns the candidates that may serve a request with references to stored objects at the vendor.
// Without such references, or without access control, it returns all of them. All teams share the vendor account, and
// only the gateway knows their keys, so a route must name the one team that owns the account.
func (c *Client) WithinAccount(ways []upstream.Candidate, req *llm.Request, d *Demand, team func(*upstream.Candidate) string) ([]upstream.Candidate, error) {
	if c.Rights == nil {
		return ways, nil
	}
	name := d.storedObject(req)
	if name == "" {
		return ways, nil
	}
	own := slices.DeleteFunc(ways, func(w upstream.Candidate) bool { return team(&w) != c.Owner })
	if len(own) == 0 {
		return nil, c.Refuse(c.Rights.MayNotSay(name, accountRule))
	}
	return own, nil
}

// storedObject returns the field with which a request refers to an object stored at the vendor, or "".
func (d *Demand) storedObject(req *llm.Request) string {
	for _, m := range d.fields {
		if m.meaning == inAccount {
			return m.name
		}
	}
	for _, t := range req.Tools {
		if name := storedInTool(t); name != "" {
			return name
		}
	}
	for _, m := range req.Messages {
		if name := storedInParts(m.Parts); name != "" {
			return name
		}
	}
	return ""
}

// storedInParts returns the field with which parts of a message refer to a stored object.
func storedInParts(parts []llm.Part) string {
	for _, p := range parts {
		name := ""
		switch p := p.(type) {
		case llm.Media:
			name = storedFile(p)
		case llm.Result:
			name = storedInParts(p.Parts)
		case llm.Text:
			if p.Text == "" { // a block that only its vendor can read
				name = storedInside(p.State.Data, 0)
			}
		}
		if name != "" {
			return name
		}
	}
	return ""
}

// filesHost is the host of Gemini's stored files. Requests refer to these files by URL.
const filesHost = "generativelanguage.googleapis.com"

// storedFile returns the field with which a file refers to a stored object, or to a URL that may need the vendor
// account.
func storedFile(m llm.Media) string {
	if m.ID != "" {
		return "file_id"
	}
	if m.URL == "" {
		return ""
	}
	u, err := url.Parse(m.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "data" || strings.EqualFold(strings.TrimRight(u.Hostname(), "."), filesHost) {
		return "file_uri"
	}
	return ""
}

// storedInTool returns the option with which a vendor's tool refers to a stored object.
func storedInTool(t llm.ToolDef) string {
	if t.Kind != llm.HostedTool {
		return ""
	}
	all := make([]map[string]json.RawMessage, 0, 1+len(t.Extra))
	if t.Hosted != nil {
		all = append(all, t.Hosted.Options)
	}
	for _, more := range t.Extra {
		all = append(all, more)
	}
	for _, options := range all {
		for key, value := range options {
			if key == "container" && js.Kind(value) == '"' || isStoredName([]byte(key)) {
				return key
			}
			if name := storedInside(value, 0); name != "" {
				return name
			}
		}
	}
	return ""
}

// storedNames are the folded names of fields that refer to stored objects.
var storedNames = []string{"fileid", "fileids", "vectorstoreid", "vectorstoreids", "filesearchstorenames", "vertexaisearch", "vertexragstore"}

func isStoredName(key []byte) bool {
	return slices.Contains(storedNames, string(new(room).folded(key)))
}

// mostInside limits how deep a vendor's block is searched. A deeper block counts as a reference.
const mostInside = 16

// storedInside returns the field with which a vendor's block refers to a stored object.
func storedInside(v []byte, depth int) string {
	if depth > mostInside {
		return "a block that is too deep"
	}
	if depth == 0 && js.Is(js.Get(v, "type"), "item_reference") {
		return "item_reference"
	}
	for key, value := range js.Members(v) {
		if isStoredName(key) && js.Kind(value) != 'n' {
			return string(key)
		}
		if name := storedInside(value, depth+1); name != "" {
			return name
		}
	}
	for each := range js.Elements(v) {
		if name := storedInside(each, depth+1); name != "" {
			return name
		}
	}
	return ""
}

// CheckStoredObjects refuses a forwarded request that refers to objects stored at the vendor, unless the account
// belongs to the client's team.
func (c *Client) CheckStoredObjects(team string, body []byte, d *Demand) error {
	if c.Rights == nil || team == c.Owner {
		return nil
	}
	name := d.storedObject(new(llm.Request))
	if name == "" && (bytes.Contains(body, []byte("_id")) || bytes.ContainsRune(body, '\\')) && js.Valid(body) {
		name = storedInside(js.Trim(body), 0)
	}
	if name == "" {
		return nil
	}
	return c.Refuse(c.Rights.MayNotSay(name, accountRule))
}
