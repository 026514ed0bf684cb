package agent

import (
	"fmt"

	"github.com/toolpost/toolpost/llm"
)

// Lane is the place where a tool runs that the model's provider could run itself, like a
// web search.
type Lane string

// The lanes.
const (
	LaneAuto   Lane = "auto"   // the provider if it can and no policy wants control, else MCP, else local
	LaneNative Lane = "native" // the provider
	LaneMCP    Lane = "mcp"    // a tool of an MCP server
	LaneLocal  Lane = "local"  // a tool of the program
	LaneNever  Lane = "never"  // the tool is not offered
)

// lanes are all words for lanes.
var lanes = map[string]Lane{
	"": LaneAuto, "auto": LaneAuto, "native": LaneNative, "mcp": LaneMCP, "local": LaneLocal, "never": LaneNever,
	"ai-web-search": LaneNative, "duckduckgo": LaneLocal,
}

// ParseLane reads the name of a lane. Older words are understood: ai-web-search
// is native, duckduckgo local. An empty name means LaneAuto.
func ParseLane(s string) (Lane, error) {
	lane, ok := lanes[s]
	if !ok {
		return "", fmt.Errorf("agent: %q is not a lane; the lanes are native, mcp, local, never and auto", s)
	}
	return lane, nil
}

// ProviderTool is a tool that the provider of a model may run itself.
type ProviderTool struct {
	Name string // like [llm.WebSearch]
	Lane Lane   // empty means LaneAuto
	// Own is the name of the tool of the program that replaces it. Empty means the tools
	// of the same name, in any server or namespace.
	Own string
	// Uncontrolled says that the policy has nothing to say about what the provider
	// runs: LaneAuto then takes the provider even if there is a policy.
	Uncontrolled bool
	// Config restricts the tool, in every lane. A restriction that the chosen lane
	// cannot enforce is refused.
	Config llm.HostedConfig
}

// LaneChosen reports the lane of a tool and the reason. With LaneNever the model is not told about
// the tool.
type LaneChosen struct {
	Tool  string `json:"tool"`
	Lane  Lane   `json:"lane"`
	Asked Lane   `json:"asked"`
	Why   string `json:"why"`
}

// EventType returns "lane".
func (LaneChosen) EventType() string { return "lane" }
