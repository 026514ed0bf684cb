package convert

import (
	"strings"

	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// Usable returns the set of a tool of a server, also if parts of its schemas cannot be checked here: the server checks the
// arguments as well. Note tells a person what is not checked; it is empty if everything is.
func Usable(t tool.Tool) (set *tool.Set, note string, err error) {
	if set, err = tool.NewSet(t); err == nil {
		return set, "", nil
	}
	var notes []string
	input, skipped, bad := schema.Runnable(t.Input)
	if bad != nil {
		return nil, "", err
	}
	t.Input = input
	if len(skipped) > 0 {
		notes = append(notes, "what its schema says at "+places(skipped))
	}
	if len(t.OutputSchema) > 0 {
		output, skipped, bad := schema.Runnable(t.OutputSchema)
		switch {
		case bad != nil:
			output = nil
			notes = append(notes, "its results, whose schema cannot be used")
		case len(skipped) > 0:
			notes = append(notes, "what the schema of its results says at "+places(skipped))
		}
		t.OutputSchema = output
	}
	set, err = tool.NewSet(t)
	if len(notes) > 0 {
		note = "is used, and these are only checked by its server: " + strings.Join(notes, "; ")
	}
	return set, note, err
}

// places lists places in a schema for a person.
func places(at []string) string {
	const most = 5
	if len(at) > most {
		return strings.Join(at[:most], ", ") + " and more"
	}
	return strings.Join(at, ", ")
}
