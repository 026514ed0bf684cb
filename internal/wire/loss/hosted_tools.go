package loss

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// WithoutHosted returns req without the hosted tools that refused gives a reason to leave out,
// and a warning for each. The request is not changed.
func WithoutHosted(req *llm.Request, refused func(llm.ToolDef) error) (*llm.Request, []llm.Warning) {
	var warnings []llm.Warning
	kept := make([]llm.ToolDef, 0, len(req.Tools))
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool {
			if err := refused(t); err != nil {
				warnings = append(warnings, llm.Warning{Code: llm.Ignored, Feature: t.Name, Detail: notOffered(t, cause(err))})
				continue
			}
		}
		kept = append(kept, t)
	}
	if len(warnings) == 0 {
		return req, nil
	}
	out := req.Clone()
	out.Tools = kept
	out.Choice.Allowed = slices.DeleteFunc(out.Choice.Allowed, func(name string) bool {
		return !slices.ContainsFunc(kept, func(t llm.ToolDef) bool { return t.Name == name })
	})
	return out, warnings
}

// notOffered returns the warning for a tool that is left out: its name, its type if that adds something, and the
// reason.
func notOffered(t llm.ToolDef, why string) string {
	if t.Hosted == nil || len(t.Extra) == 0 || strings.Contains(t.Name, t.Hosted.Type) || strings.Contains(why, t.Hosted.Type) {
		return "the tool is not offered: " + why
	}
	return "the tool is not offered: " + t.Hosted.Type + ": " + why
}

// cause is an error of an encoder without where it was found.
func cause(err error) string {
	if e, ok := err.(*llm.Error); ok && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}
