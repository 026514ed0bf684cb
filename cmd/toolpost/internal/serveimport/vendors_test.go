package serveimport

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/provider"
)

// All imported vendors and variables are in the table of vendors.
func TestImportedVendorsExist(t *testing.T) {
	for lite, name := range vendorNames {
		if vendorCalled(name).Name == "" {
			t.Errorf("%s: there is no vendor %q", lite, name)
		}
	}
	for setting, variable := range placeVariables {
		if !slices.ContainsFunc(provider.Vendors(), func(v provider.Vendor) bool { return strings.Contains(v.BaseURL, "${"+variable+"}") }) {
			t.Errorf("%s: no vendor's address has ${%s}", setting, variable)
		}
	}
}
