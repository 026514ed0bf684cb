package wire

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/llm"
)

// TestAgents translates the requests of coding agents, as they are shaped, into every format.
// Tools, calls, results and texts arrive; what does not is named by a warning. What else a request
// says is the business of TestNothingIsLostInSilence.
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
