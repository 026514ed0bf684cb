package gateway

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

// keptThere is why what a vendor keeps is refused.
const keptThere = "a request reaches what others keep in the account of the upstream, unless its route says whose that is (pass_team)"

// mayReach returns those of the ways that may be taken with what a request names of the upstream's account: all, if it names nothing or everybody
// may ask. All teams share that account, and only we know their keys; so a route has to name the one team whose account it is.
func (x *exchange) mayReach(ways []upstream.Candidate, req *llm.Request) ([]upstream.Candidate, error) {
	if x.rights == nil {
		return ways, nil
	}
	name := x.namesKept(req)
	if name == "" {
		return ways, nil
	}
	own := slices.DeleteFunc(ways, func(w upstream.Candidate) bool { return x.routeOf(&w).PassTeam != x.owner })
	if len(own) == 0 {
		return nil, x.refused(x.rights.MayNotSay(name, keptThere))
	}
	return own, nil
}

// namesKept returns the member by which a request names something that its vendor keeps, "" if there is none.
func (x *exchange) namesKept(req *llm.Request) string {
	for _, m := range x.members {
		if m.meaning == inAccount {
			return m.name
		}
	}
	for _, t := range req.Tools {
		if name := keptByTool(t); name != "" {
			return name
		}
	}
	for _, m := range req.Messages {
		if name := keptByParts(m.Parts); name != "" {
			return name
		}
	}
	return ""
}

// keptByParts returns the member by which parts of a message name something that is kept.
func keptByParts(parts []llm.Part) string {
	for _, p := range parts {
		name := ""
		switch p := p.(type) {
		case llm.Media:
			name = keptFile(p)
		case llm.Result:
			name = keptByParts(p.Parts)
		case llm.Text:
			if p.Text == "" { // a block that only its vendor knows
				name = keptInside(p.State.Data, 0)
			}
		}
		if name != "" {
			return name
		}
	}
	return ""
}

// filesHost is where Gemini keeps files, which are asked for by their address.
const filesHost = "generativelanguage.googleapis.com"

// keptFile returns the member by which a file is named that the vendor keeps, or that only the account may read.
func keptFile(m llm.Media) string {
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

// keptByTool returns the option by which a tool that the vendor runs uses something that is kept.
func keptByTool(t llm.ToolDef) string {
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
			if key == "container" && js.Kind(value) == '"' || keptName([]byte(key)) {
				return key
			}
			if name := keptInside(value, 0); name != "" {
				return name
			}
		}
	}
	return ""
}

// keptNames are the members by which vendors name what they keep, folded.
var keptNames = []string{"fileid", "fileids", "vectorstoreid", "vectorstoreids", "filesearchstorenames", "vertexaisearch", "vertexragstore"}

func keptName(key []byte) bool {
	var name [longestMember]byte
	return slices.Contains(keptNames, string(foldMember(&name, key)))
}

// mostInside bounds how deep a block of a vendor's is looked into; one that is deeper counts as if it named something.
const mostInside = 16

// keptInside returns the member by which a block of a vendor's names something that is kept.
func keptInside(v []byte, depth int) string {
	if depth > mostInside {
		return "a block that is too deep"
	}
	if depth == 0 && js.Is(js.Get(v, "type"), "item_reference") {
		return "item_reference"
	}
	for key, value := range js.Members(v) {
		if keptName(key) && js.Kind(value) != 'n' {
			return string(key)
		}
		if name := keptInside(value, depth+1); name != "" {
			return name
		}
	}
	for each := range js.Elements(v) {
		if name := keptInside(each, depth+1); name != "" {
			return name
		}
	}
	return ""
}

// mayPassKept says why a request to another endpoint may not name what the vendor keeps; nil if it may, or names nothing. Where a model
// is asked for, files come with it.
func (x *exchange) mayPassKept(r *route, body []byte) error {
	if x.rights == nil || r.PassTeam == x.owner {
		return nil
	}
	name := x.namesKept(new(llm.Request))
	if name == "" && (bytes.Contains(body, []byte("_id")) || bytes.ContainsRune(body, '\\')) && js.Valid(body) {
		name = keptInside(js.Trim(body), 0)
	}
	if name == "" {
		return nil
	}
	return x.refused(x.rights.MayNotSay(name, keptThere))
}
