package journal_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// An effect is announced before it happens and receipted after. Nothing can be
// changed later without Verify noticing.
func Example() {
	ctx := context.Background()
	store := new(journal.Memory)
	rec, err := journal.Open(ctx, store, "demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	args := json.RawMessage(`{"path": "notes.txt", "text": "hello"}`)
	if _, err := rec.Intent(ctx, journal.Intent{Call: "call_1", Tool: "write_file", Args: args}); err != nil {
		fmt.Println(err) // and do not write the file
		return
	}
	// … the file is written here …
	output, err := journal.OutputHash([]llm.Part{llm.Text{Text: "5 bytes written"}}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := rec.Receipt(ctx, journal.Receipt{
		Call: "call_1", Tool: "write_file", Args: args, OutputHash: output, Status: journal.OK,
		SideEffects: []journal.SideEffect{{Type: "file_modified", Path: "notes.txt"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(receipt.ParamsHash)
	if _, err := rec.Seal(ctx); err != nil {
		fmt.Println(err)
		return
	}
	report, err := journal.Verify(store.Read(ctx, "demo", 0))
	fmt.Println(report.State(), report.Entries, err)
	// Output:
	// sha256:ca9bd83e5206279af8c426a68401b86b75c16622cf1821b388d1b34bde42d446
	// sealed 3 <nil>
}

// After a crash the calls whose effects nobody knows of are reported, and are
// not announced again.
func ExampleOpen_afterACrash() {
	ctx := context.Background()
	store := new(journal.Memory)
	before, err := journal.Open(ctx, store, "demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := before.Intent(ctx, journal.Intent{Call: "call_1", Tool: "pay"}); err != nil {
		fmt.Println(err)
		return
	}
	// The process ends here, and with it its lease. Another one opens the run.
	if err := before.Close(ctx); err != nil {
		fmt.Println(err)
		return
	}
	after, err := journal.Open(ctx, store, "demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, intent := range after.Unknown() {
		fmt.Println("outcome unknown:", intent.Tool)
	}
	_, err = after.Intent(ctx, journal.Intent{Call: "call_1", Tool: "pay"})
	fmt.Println(err)
	// Output:
	// outcome unknown: pay
	// journal: call call_1 was begun before a crash and its outcome is unknown; it must not be run again unasked
}

func ExampleCanonical() {
	b, err := journal.Canonical([]byte(`{"b": 1.0, "a": [12345678901234567890, "\u003c"]}`))
	fmt.Printf("%s %v\n", b, err)
	_, err = journal.Canonical([]byte(`{"a": 1, "a": 2}`))
	fmt.Println(err)
	// Output:
	// {"a":[12345678901234567890,"<"],"b":1} <nil>
	// journal: no canonical form: the name "a" occurs twice in the object that ends at byte 16
}
