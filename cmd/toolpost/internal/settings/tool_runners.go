package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/tool"
)

// laneChoice selects the runner of a tool that several parties could run.
type laneChoice struct {
	Overall agent.Lane
	Tools   []agent.ProviderTool // the named tools, in order
}

// ParseLanes parses the words of the setting: LANE for all tools, TOOL=LANE for one tool, TOOL=NAME to replace the
// vendor's tool by the tool NAME.
func ParseLanes(words []string) (laneChoice, error) {
	c := laneChoice{Overall: agent.LaneAuto}
	for _, word := range words {
		name, value, one := strings.Cut(word, "=")
		if !one {
			lane, err := agent.ParseLane(word)
			if err != nil || word == "" {
				return c, fmt.Errorf("%q is not one of auto, native, mcp, local and never, and has no TOOL= before it", word)
			}
			c.Overall = lane
			continue
		}
		t := agent.ProviderTool{Name: strings.TrimSpace(name)}
		if !tool.ValidName(t.Name) {
			return c, fmt.Errorf("%q names no tool", name)
		}
		if slices.ContainsFunc(c.Tools, func(o agent.ProviderTool) bool { return o.Name == t.Name }) {
			return c, fmt.Errorf("%s is named twice", t.Name)
		}
		lane, err := agent.ParseLane(value)
		switch {
		case value == "":
			return c, fmt.Errorf("%s= says nothing", t.Name)
		case err == nil:
			t.Lane = lane
		case tool.ValidName(value):
			t.Own = value
		default:
			return c, fmt.Errorf("%q is neither a lane nor a tool", value)
		}
		c.Tools = append(c.Tools, t)
	}
	return c, nil
}
