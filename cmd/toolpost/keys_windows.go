package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// flushInput drops what was typed at a console and not read yet.
func flushInput(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
