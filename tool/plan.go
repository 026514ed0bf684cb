package tool

// Plan describes the effects of a call, for a person who decides about it. It
// is as complete as the arguments: an effect whose field is empty does not
// happen.
type Plan struct {
	// Command is the program with its arguments. Dir is its working folder, and
	// Input its standard input.
	Command    []string
	Dir, Input string
	// AnyProgram means that the call itself chose the program.
	AnyProgram bool
	// Files are the files that would change.
	Files []FileChange
	// Request is the method and the address of a request over the network.
	// Arguments that are not part of the address are sent with it.
	Request string
}

// FileChange is a text file before and after a call.
type FileChange struct {
	// Path is where the file is below the folder of the tool, with links
	// followed and slashes between its parts.
	Path string
	// New means that there is no such file yet; Before is empty then.
	New           bool
	Before, After string
}
