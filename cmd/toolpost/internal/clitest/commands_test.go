package clitest

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandsThatDidNotRun: a command counts as tested only if it ran, whatever the tests mention.
func TestCommandsThatDidNotRun(t *testing.T) {
	root, group := &cobra.Command{Use: "toolpost"}, &cobra.Command{Use: "group"}
	for _, name := range []string{"one", "two", "three"} {
		group.AddCommand(&cobra.Command{Use: name, Hidden: name == "three", Run: func(*cobra.Command, []string) {}})
	}
	root.AddCommand(group)
	if got := notRun(root, map[string]bool{"toolpost group one": true}); !slices.Equal(got, []string{"toolpost group two"}) {
		t.Errorf("%q", got)
	}
}
