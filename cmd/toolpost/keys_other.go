//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package main

import "os"

// flushInput does nothing on systems where no way is known to drop what was
// typed. There, only the delay before keys count protects a question.
func flushInput(*os.File) {}
