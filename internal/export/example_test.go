package export_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/internal/export"
	"github.com/toolpost/toolpost/journal"
)

// A run becomes three files that others can check without our program.
func ExampleRun() {
	ctx := context.Background()
	store := new(journal.Memory)
	rec, err := journal.Open(ctx, store, "demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = rec.Receipt(ctx, journal.Receipt{
		Call: "call_1", Tool: "read_file", Args: json.RawMessage(`{"path":"src/auth.rs"}`), Status: journal.OK,
	})
	if err == nil {
		_, err = rec.Seal(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	bundle, err := export.Run(store.Read(ctx, "demo", 0), export.Options{Format: export.A})
	if err != nil {
		fmt.Println(err)
		return
	}
	report := export.Verify(bundle.Replay, bundle.Receipt)
	fmt.Println(report.Session, report.Calls, report.Err())
	// Output: demo 1 <nil>
}
