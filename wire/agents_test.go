package wire

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/llm"
)

// TestAgents translates the requests of coding agents, as they are shaped, into every format.
// Tools, calls, results and texts arrive; what does not is named by a warning.
func TestAgents(t *testing.T) {
	files, err := filepath.Glob("testdata/agents/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil || len(ar.Files) != 1 {
			t.Fatal(file, err)
		}
		from, body := ar.Files[0].Name, ar.Files[0].Data
		req, stream, err := Codec{Format: from}.DecodeRequest(body)
		if err != nil {
			t.Fatal(file, err)
		}
		for _, to := range Formats() {
			where := fmt.Sprintf("%s → %s", strings.TrimSuffix(filepath.Base(file), ".txtar"), to)
			c := Codec{Format: to}
			y, left := c.Portable(req)
			out, warnings, err := c.EncodeRequest(y, stream)
			if err != nil {
				t.Errorf("%s: %v", where, err)
				continue
			}
			warnings = append(warnings, left...)
			z, _, err := c.DecodeRequest(out)
			if err != nil {
				t.Errorf("%s: %v\n%s", where, err, out)
				continue
			}
			compareRequests(t, where, req, z)
			checkTools(t, where, req, z, warnings)
			checkWarnings(t, where, y, &carried{z, warnings}, "roles", "text parts") // instructions are one text in some formats
			checkLeaves(t, where, body, out, warnings)
			for _, w := range warnings {
				if to == from && w.Feature != "thinking" { // which a host may not take back
					t.Errorf("%s: %s", where, w)
				}
			}
		}
	}
}

// checkTools: a tool is offered under its name, or a warning says that it is not.
func checkTools(t *testing.T, where string, req, got *llm.Request, warnings []llm.Warning) {
	t.Helper()
	for _, d := range req.Tools {
		if !slices.ContainsFunc(got.Tools, func(g llm.ToolDef) bool { return g.Name == d.Name }) && !named(warnings, d.Name) {
			t.Errorf("%s: the tool %s is lost", where, d.Name)
		}
	}
}

func named(warnings []llm.Warning, feature string) bool {
	return slices.ContainsFunc(warnings, func(w llm.Warning) bool {
		return w.Feature == feature || strings.HasPrefix(w.Feature, feature+".") || strings.HasSuffix(w.Feature, "."+feature)
	})
}

// ownWords are members whose text is a word of the format, which others say in their own,
// and those that only the vendor can read.
var ownWords = []string{"signature", "encrypted_content", "thoughtSignature", "type", "role", "effort", "tool_choice", "url", "data", "syntax", "summary", "model"}

// otherwise are members that formats say in another way or that say nothing to anybody else.
var otherwise = map[string]string{
	"thinking": "thinking", "thought": "thinking", "reasoning_content": "thinking", "text": "thinking",
	"call_id": "id", "id": "id", "tool_use_id": "id", "tool_call_id": "id", "keep": "context_management", "edits": "context_management", "user_id": "metadata", "session": "client_metadata",
	"sessionId": "metadata", "promptId": "metadata", "definition": "grammar",
}

// checkLeaves: every text of a body is in the other one, or a warning names a member that it
// stood in. That is stricter than what a request means.
func checkLeaves(t *testing.T, where string, body, out []byte, warnings []llm.Warning) {
	t.Helper()
	var from, to any
	if err := json.Unmarshal(body, &from); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &to); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	leaves(to, nil, func(_ []string, text string) { all.WriteString(squeeze(text) + "\n") })
	there := strings.ReplaceAll(all.String(), `\"`, `"`)
	leaves(from, nil, func(path []string, text string) {
		last := path[len(path)-1]
		if slices.Contains(ownWords, last) || otherwise[last] == "id" || strings.Contains(there, squeeze(text)) {
			return
		}
		var args any
		if json.Unmarshal([]byte(text), &args) == nil { // arguments that the other format has as an object
			return
		}
		for _, key := range path {
			if named(warnings, key) || otherwise[key] != "" && named(warnings, otherwise[key]) {
				return
			}
		}
		t.Errorf("%s: %s %q is lost, and no warning says so", where, strings.Join(path, "."), text)
	})
}

// leaves calls found with every text and every key of the objects of a document.
func leaves(v any, path []string, found func(path []string, text string)) {
	switch v := v.(type) {
	case string:
		if len(path) > 0 {
			found(path, v)
		}
	case []any:
		for _, el := range v {
			leaves(el, path, found)
		}
	case map[string]any:
		path := slices.Clone(path)
		if typ, ok := v["type"].(string); ok {
			path = append(path, typ)
		}
		for key, el := range v {
			leaves(el, append(slices.Clone(path), key), found)
		}
	}
}
