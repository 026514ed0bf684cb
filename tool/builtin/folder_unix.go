//go:build unix

package builtin

import (
	"fmt"
	"io/fs"
	"syscall"
)

// folderID identifies a folder by its device and inode.
func folderID(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	}
	return ""
}
