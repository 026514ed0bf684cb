// Command toolpost makes any language model call any tool, and shows its work.
package main

import "github.com/toolpost/toolpost/cmd/toolpost/internal/program"

func main() { program.Main() }
