// Package pinname holds the names of pins that the runtime explains to people. Content, Folder and Program precede a path.
package pinname

// The names.
const (
	Command = "command"
	Address = "address"
	File    = "file"
	Content = "content " // of a file that is about to change
	Folder  = "folder "
	Program = "program "
	Path    = "path " // of an argument that leads through a link
)
