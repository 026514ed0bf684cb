package provider

import (
	"slices"
	"testing"
)

// TestVarsWithTheSameAddress checks that a row which names another host by a variable has no key of the environment, also if it
// repeats the address of the row that it is like.
func TestVarsWithTheSameAddress(t *testing.T) {
	base := builtin[slices.IndexFunc(builtin, func(v Vendor) bool { return v.Name == "azure" })]
	row := Vendor{Name: "mine", Like: "azure", BaseURL: base.BaseURL, Vars: map[string]string{"AZURE_OPENAI_ENDPOINT": "https://other.example"}}
	if got := row.whole(base); got.KeyEnv != "" {
		t.Errorf("it has the key %s", got.KeyEnv)
	}
}
