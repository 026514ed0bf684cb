package main

import "testing"

// makePipe reports that there are no named pipes among files.
func makePipe(*testing.T, string) bool { return false }
