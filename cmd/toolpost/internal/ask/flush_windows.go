package ask

import (
	"os"

	"golang.org/x/sys/windows"
)

// flushInput drops unread input of a console.
func flushInput(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
