//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package ask

import "os"

// flushInput does nothing on systems without a known way to drop unread input. There, only the delay before keys count
// protects a question.
func flushInput(*os.File) {}
