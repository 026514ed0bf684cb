package js_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
)

// TestSameField checks which spellings of a field some server reads as the field.
func TestSameField(t *testing.T) {
	for name, known := range map[string]string{
		"model": "model", "Model": "model", "mod_el": "model", "MO-DEL": "model",
		"service_tier": "service_tier", "serviceTier": "service_tier", "Service-Tier": "service_tier", "\u017fervice_tier": "service_tier",
		"bac\u212aground": "background", "FALLBAC\u212aS": "fallbacks", "\u00c4": "\u00e4", "\u03c2": "\u03a3",
	} {
		if !js.SameField([]byte(name), known) {
			t.Errorf("%q is not read as %q", name, known)
		}
	}
	for name, known := range map[string]string{
		"models": "model", "mode l": "model", "\u017fervice_t\u0131er": "service_tier", "m\u043edel": "model", "\xc5": "\u017f", "": "model",
		strings.Repeat("_", 300) + "model": "model",
	} {
		if js.SameField([]byte(name), known) {
			t.Errorf("%q is read as %q", name, known)
		}
	}
}
