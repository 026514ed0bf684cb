package catalog_test

import (
	"fmt"
	"testing"

	"github.com/toolpost/toolpost/catalog"
)

// TestUnknownWarnsOfWhatIsAssumed checks that the warning of an unknown model names the assumptions about it, but not
// the settings of models.yaml; and that a model without relevant assumptions gets none.
func TestUnknownWarnsOfWhatIsAssumed(t *testing.T) {
	const before = "unknown model (no family of the catalogue is named in the id): assuming "
	for set, want := range map[string][2]string{ // for a user that leaves open how calls are requested, and one that sets it
		"max_output_tokens: 900":                          {"no native tools, calls as JSON and a context of 8192 tokens", "a context of 8192 tokens"},
		"context_window: 32768":                           {"no native tools and calls as JSON", ""},
		"emulation_style: xml":                            {"no native tools and a context of 8192 tokens", "a context of 8192 tokens"},
		"native_tools: true":                              {"", ""},
		"context_window: 9000\n    emulation_style: json": {"no native tools", ""},
	} {
		c, err := catalog.Default().Load("models.yaml", []byte("models:\n  house-model-9b:\n    "+set+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		m := c.Lookup("house-model-9b")
		for i, got := range []string{fmt.Sprint(m.Warnings()), fmt.Sprint(m.WarningsAsked())} {
			text := "[]"
			if want[i] != "" {
				text = "[unknown_model house-model-9b: " + before + want[i] + "; models.yaml can say better]"
			}
			if got != text {
				t.Errorf("%s: %s, not %s", set, got, text)
			}
		}
	}
}
