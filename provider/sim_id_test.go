package provider

import (
	"strings"
	"testing"
)

// TestSimulatedIDs: the error for a simulated model names the package that opens it.
func TestSimulatedIDs(t *testing.T) {
	if _, err := Open("sim/native"); err == nil || !strings.Contains(err.Error(), "\"sim/native\" opens in the command only") {
		t.Error(err)
	}
}
