// Parser reads tool calls from text, without any model: from standard input, piece by piece.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// pieces yields what standard input has, line by line.
func pieces(yield func(string, error) bool) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if line != "" && !yield(line, nil) || err != nil {
			return
		}
	}
}

func main() {
	p := &dialect.Parser{Tools: []llm.ToolDef{{Name: "weather"}}}
	for ev, err := range p.Parse(pieces) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			fmt.Printf("text %q\n", ev.Text)
		case llm.Call:
			fmt.Println("call", ev.Name, string(ev.Args), ev.Provenance.Dialect)
		case llm.InvalidCall:
			fmt.Println("invalid", ev.Name, ev.Problem)
		}
	}
}
