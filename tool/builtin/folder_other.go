//go:build !unix

package builtin

import "io/fs"

// folderID identifies no folder on this system. Its path counts.
func folderID(fs.FileInfo) string { return "" }
