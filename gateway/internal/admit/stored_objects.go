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

// accountRule is why what a vendor keeps is refused.
const accountRule = "a request reaches what others keep in the account of the upstream, unless its route says whose that is (pass_team)"

// WithinAccount returns those of the ways that may be taken with what a request names of the upstream's account: all, if it names nothing or everybody
// may ask. All teams share that account, and only we know their keys; so a route has to name the one team whose account it is.
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

// storedObject returns the member by which a request names something that its vendor keeps, "" if there is none.
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

// storedInParts returns the member by which parts of a message name something that is kept.
func storedInParts(parts []llm.Part) string {
	for _, p := range parts {
		name := ""
		switch p := p.(type) {
		case llm.Media:
			name = storedFile(p)
		case llm.Result:
			name = storedInParts(p.Parts)
		case llm.Text:
			if p.Text == "" { // a block that only its vendor knows
				name = storedInside(p.State.Data, 0)
			}
		}
		if name != "" {
			return name
		}
	}
	return ""
}

// filesHost is the host of Gemini's stored files, which are named by their URL.
const filesHost = "generativelanguage.googleapis.com"

// storedFile returns the member by which a file is named that the vendor keeps, or that only the account may read.
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

// storedInTool returns the option by which a tool that the vendor runs uses something that is kept.
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

// storedNames are the members by which vendors name what they keep, folded.
var storedNames = []string{"fileid", "fileids", "vectorstoreid", "vectorstoreids", "filesearchstorenames", "vertexaisearch", "vertexragstore"}

func isStoredName(key []byte) bool {
	var name [longestName]byte
	return slices.Contains(storedNames, string(foldName(&name, key)))
}

// mostInside bounds how deep a vendor's block is searched. A deeper block counts as if it named a stored object.
const mostInside = 16

// storedInside returns the member by which a block of a vendor's names something that is kept.
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

// CheckStoredObjects refuses a forwarded request that names objects stored at the vendor, unless the account belongs to
// the client's team.
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
