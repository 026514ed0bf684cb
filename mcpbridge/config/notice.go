package config

// Notice is something that a person should know of a server.
type Notice struct {
	Server, Tool string // Tool is empty if it concerns the whole server
	Text         string // follows the name
	// Changed says that the tool is not used because its definition changed.
	Changed bool
}

// String returns the notice as a sentence.
func (n Notice) String() string {
	if n.Tool == "" {
		return "MCP server " + n.Server + " " + n.Text
	}
	return "tool " + n.Tool + " of MCP server " + n.Server + " " + n.Text
}
