package invoke_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func Example() {
	type path struct {
		Path string `json:"path"`
	}
	read := tool.Func("read", "Reads a file.", func(_ context.Context, p path) (string, error) { return "text of " + p.Path, nil })
	read.Effects = tool.ReadOnly
	remove := tool.Func("remove", "Removes a file.", func(_ context.Context, p path) (tool.Output, error) {
		return tool.Output{Did: []tool.SideEffect{{Type: "file_deleted", Path: p.Path}}}, nil
	})

	ctx := context.Background()
	store := new(journal.Memory)
	rec, err := journal.Open(ctx, store, "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := &invoke.Runner{Tools: tool.MustSet(read, remove)}
	session, err := runner.Session(rec)
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := []llm.Call{ // as a model wrote them
		{ID: "a", Name: "read", Args: []byte(`{"path":"a.txt"}`)},
		{ID: "b", Name: "remove", Args: []byte(`{"path":"a.txt"}`)},
		{ID: "c", Name: "delete", Args: []byte(`{"path":"b.txt"}`)},
	}
	for ev, err := range session.Do(ctx, calls) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if o, ok := ev.(invoke.Outcome); ok {
			text, _, _ := strings.Cut(o.Result.Text(), "\n")
			fmt.Println(o.Call.ID, o.Receipt.Status, o.Receipt.SideEffects, text)
		}
	}
	// Output:
	// a ok [] text of a.txt
	// b ok [{file_deleted a.txt map[]}] remove is done and returned nothing.
	// c refused [] The call of delete is not valid. (attempt 1 of 3)
}

func ExampleRunner_approve() {
	deploy := tool.Func("deploy", "Deploys.", func(context.Context, struct{}) (string, error) { return "deployed", nil })
	deploy.Origin = tool.MCP // as if a server offered it
	runner := &invoke.Runner{
		Tools:  tool.MustSet(deploy),
		Policy: invoke.AskFirst(nil),
		Approve: func(_ context.Context, q invoke.Question) (journal.Approval, error) {
			fmt.Printf("May I call %s %s? %s.\n", q.Tool, q.Args, q.Reason)
			return q.Answer(true, "ada", ""), nil
		},
	}
	session, err := runner.Session(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := session.Results(context.Background(), []llm.Call{{Name: "deploy"}})
	fmt.Println(results[0].Text(), err)
	// Output:
	// May I call deploy {}? deploy comes from an MCP server, may change things, and no policy allows it.
	// deployed <nil>
}

func ExampleResultView() {
	type part struct {
		ID   int
		Name string
		Note *string
	}
	list := tool.Func("list", "Lists parts.", func(context.Context, struct{}) ([]part, error) {
		var parts []part
		for i := range 40 {
			parts = append(parts, part{i, fmt.Sprint("part number ", i), nil})
		}
		return parts, nil
	})
	runner := &invoke.Runner{Tools: tool.MustSet(list), Output: invoke.ResultView{Mode: invoke.Minimal, NoSpill: true}}
	session, err := runner.Session(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := session.Results(context.Background(), []llm.Call{{Name: "list"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _, _ := strings.Cut(results[0].Text(), "\n\n[output shortened")
	fmt.Println(text)
	// Output:
	// [40]: ID|Name
	//  (empty: Note)
	//  0|part number 0
	// [Showing 1 of 40 items]
}
