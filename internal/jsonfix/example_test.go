package jsonfix_test

import (
	"fmt"

	"github.com/toolpost/toolpost/internal/jsonfix"
)

func ExampleFix() {
	value, edits, err := jsonfix.Fix("Sure:\n```json\n{'city': 'Rome', days: 3,}\n```")
	fmt.Println(string(value), err)
	for _, e := range edits {
		fmt.Println(e.Class, e.Rule, e.Start, e.End)
	}
	// Output:
	// {"city": "Rome", "days": 3} <nil>
	// syntax text-before 0 6
	// syntax code-fence 6 13
	// syntax quotes 15 16
	// syntax quotes 23 24
	// syntax unquoted-key 31 35
	// syntax trailing-comma 38 39
	// syntax code-fence 41 44
}

func ExampleReader() {
	var r jsonfix.Reader
	for _, piece := range []string{`{"path": "src/`, `main.go", "line": 1`, `2,} and so on`} {
		n := r.Feed(piece)
		fmt.Printf("%d of %d: %q\n", n, len(piece), r.Take())
	}
	fmt.Println(r.Done(), r.Rest())
	// Output:
	// 14 of 14: "{\"path\": \"src/"
	// 19 of 19: "main.go\", \"line\": "
	// 3 of 13: "12}"
	// true  and so on
}

func ExamplePartial() {
	shown, _ := jsonfix.Partial(`{"path": "src/main.go", "line": 12, "te`)
	fmt.Println(string(shown))
	// Output: {"path": "src/main.go", "line": 12}
}
