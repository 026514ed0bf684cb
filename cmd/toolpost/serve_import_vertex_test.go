package main

import (
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// TestImportOfVertexVariables: the import does not ask for variables that Gemini on Vertex AI does not use.
func TestImportOfVertexVariables(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = "model_list:\n  - model_name: g\n    litellm_params: {model: vertex_ai/gemini-2.5-pro, vertex_project: p-1, vertex_location: europe-west1}\n"
	if err := os.WriteFile("lite.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	r := toolpost(t, "", "serve", "import", "lite.yaml")
	if r.code != cli.ExitOK || !strings.Contains(r.out, "vertex/gemini-2.5-pro") || strings.Contains(r.out+r.errOut, "GOOGLE_CLOUD") || !strings.Contains(r.out+r.errOut, "vertex_location is not taken over") {
		t.Errorf("%d %s %s", r.code, r.out, r.errOut)
	}
}
