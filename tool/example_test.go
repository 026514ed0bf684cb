package tool_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func ExampleFunc() {
	type query struct {
		City string `json:"city" description:"name of a city, like Rome"`
		Days int    `json:"days,omitempty" minimum:"1" maximum:"14"`
	}
	weather := tool.Func("weather", "Returns the forecast for a city.", func(_ context.Context, q query) (string, error) {
		return "sunny in " + q.City, nil
	})
	weather.Effects = tool.ReadOnly

	out, err := weather.Run(context.Background(), []byte(`{"city": "Rome"}`))
	fmt.Println(llm.Result{Parts: out.Parts}.Text(), err)
	_, err = weather.Run(context.Background(), []byte(`{"town": "Rome"}`))
	fmt.Println(tool.FromError(err).Code)
	// Output:
	// sunny in Rome <nil>
	// validation
}

func ExampleSet_Prefix() {
	search := tool.Func("search", "Searches.", func(context.Context, struct{}) (string, error) { return "", nil })
	docs := tool.MustSet(search).Prefix("docs")
	code := tool.MustSet(search).Prefix("code")
	all, err := tool.Join(docs, code)
	if err != nil {
		fmt.Println(err)
		return
	}
	server, name, _ := all.Original("code__search")
	fmt.Println(all.Names(), server, name)
	// Output: [docs__search code__search] code search
}

func ExampleSet_Select() {
	none := func(context.Context, struct{}) (string, error) { return "", nil }
	all := tool.MustSet(
		tool.Func("get_weather", "Returns the forecast for a city.", none),
		tool.Func("book_flight", "Books a seat on a plane.", none),
		tool.Func("read_file", "Reads a file.", none),
	)
	few, left := all.Select("Will I need an umbrella in Rome?", tool.Selection{Tools: 1})
	fmt.Println(few.Names(), len(left))
	// Output: [get_weather] 2
}

func ExampleError_Next() {
	err := tool.FromError(errors.New("HTTP 429: slow down"))
	fmt.Println(err.Code, err.Next(1), err.Next(2), err.Next(3))
	err = tool.FromError(errors.New("no such city"))
	fmt.Println(err.Code, err.Next(1), err.Next(2), err.Next(3), err.Next(4))
	// Output:
	// rate_limit same same escalate
	// not_found rephrase interference vortex escalate
}
