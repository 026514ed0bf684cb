package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

type visit struct {
	Stops []struct {
		At time.Time `json:"at"`
	} `json:"stops"`
}

// TestFuncSaysWhichValueWasRefused: also where a type decodes itself.
func TestFuncSaysWhichValueWasRefused(t *testing.T) {
	_, err := run(t, func(context.Context, visit) (string, error) { return "", nil }, `{"stops":[{"at":"2026-01-02T10:00:00Z"},{"at":"2026-01-02"}]}`)
	e := tool.FromError(err)
	if e == nil || e.Code != tool.Validation || len(e.Details) != 1 || e.Details[0].Field != "stops.1.at" || !strings.Contains(e.Message, "The value at /stops/1/at was refused: parsing time") {
		t.Errorf("got %+v", e)
	}
}

type city struct {
	City string `json:"city" description:"name of a city, like Rome"`
	Days int    `json:"days,omitempty"`
}

func weather(_ context.Context, in city) (string, error) { return "sunny in " + in.City, nil }

func run[In, Out any](t *testing.T, fn func(context.Context, In) (Out, error), args string) (tool.Output, error) {
	t.Helper()
	tl := tool.Func("f", "a function", fn)
	return tl.Call(t.Context(), json.RawMessage(args))
}

func TestFuncResults(t *testing.T) {
	picture := llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte{1}}
	for _, c := range []struct {
		why  string
		call func() (tool.Output, error)
		want []llm.Part
	}{
		{"a string is text as it is", func() (tool.Output, error) {
			return run(t, weather, `{"city":"Rome"}`)
		}, []llm.Part{llm.Text{Text: "sunny in Rome"}}},
		{"a struct is JSON, without HTML escapes", func() (tool.Output, error) {
			return run(t, func(context.Context, city) (map[string]string, error) { return map[string]string{"a": "<b>"}, nil }, `{"city":""}`)
		}, []llm.Part{llm.Text{Text: `{"a":"<b>"}`}}},
		{"media are passed on", func() (tool.Output, error) {
			return run(t, func(context.Context, struct{}) (llm.Media, error) { return picture, nil }, `{}`)
		}, []llm.Part{picture}},
		{"so are several parts", func() (tool.Output, error) {
			return run(t, func(context.Context, struct{}) ([]llm.Part, error) {
				return []llm.Part{picture, llm.Text{Text: "a"}}, nil
			}, ``)
		}, []llm.Part{picture, llm.Text{Text: "a"}}},
		{"an empty struct says nothing", func() (tool.Output, error) {
			return run(t, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }, `{}`)
		}, nil},
		{"raw JSON stays as it is", func() (tool.Output, error) {
			return run(t, func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`[1,2]`), nil }, `{}`)
		}, []llm.Part{llm.Text{Text: "[1,2]"}}},
	} {
		out, err := c.call()
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		if diff := cmp.Diff(c.want, out.Parts); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
}

func TestFuncDecodesStrictly(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, c := range []struct{ args, field, why string }{
		{`{"city":"Rome","town":"x"}`, "", "an unknown field"},
		{`{"city":3}`, "city", "a wrong type"},
		{`{"city":"Rome"} {}`, "", "a second value"},
		{`{"city":`, "", "no JSON"},
		{`[]`, "", "no object"},
	} {
		attacks++
		called := false
		_, err := run(t, func(_ context.Context, in city) (string, error) { called = true; return "", nil }, c.args)
		e := tool.FromError(err)
		if called || e == nil || e.Code != tool.Validation {
			t.Errorf("%s: called %v, error %v", c.why, called, err)
			continue
		}
		if c.field != "" && (len(e.Details) != 1 || e.Details[0].Field != c.field) {
			t.Errorf("%s: details %v, want field %s", c.why, e.Details, c.field)
		}
	}
}

func TestPanicsAreErrors(t *testing.T) {
	boom := func(context.Context, struct{}) (string, error) { panic("boom") }
	tl := tool.Func("f", "", boom)
	raw := tool.Tool{Name: "raw", Call: func(context.Context, json.RawMessage) (tool.Output, error) { panic("boom") }}
	for name, call := range map[string]func() (tool.Output, error){
		"Call of Func": func() (tool.Output, error) { return tl.Call(t.Context(), nil) },
		"Run of Func":  func() (tool.Output, error) { return tl.Run(t.Context(), nil) },
		"Run of a raw": func() (tool.Output, error) { return raw.Run(t.Context(), nil) },
	} {
		_, err := call()
		var p *tool.PanicError
		if !errors.As(err, &p) || tool.FromError(err).Code != tool.Execution || len(p.Stack) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), ".go:") {
			t.Errorf("%s: the stack is in the text a model may see: %v", name, err)
		}
	}
}

func TestOutputBesideAnError(t *testing.T) {
	out, err := run(t, func(context.Context, struct{}) (tool.Output, error) {
		return tool.Output{Did: []tool.SideEffect{{Type: "file_modified", Path: "a"}}}, errors.New("half done")
	}, `{}`)
	if err == nil || len(out.Did) != 1 {
		t.Errorf("what was done before the failure is lost: %v %v", out, err)
	}
}

func TestFuncPanicsWithoutASchema(t *testing.T) {
	for why, make := range map[string]func(){
		"no JSON":   func() { tool.Func("bad", "", func(context.Context, chan int) (string, error) { return "", nil }) },
		"no object": func() { tool.Func("bad", "", func(context.Context, []string) (string, error) { return "", nil }) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), "bad") {
					t.Errorf("%s: recovered %v, want a panic that names the tool", why, p)
				}
			}()
			make()
		}()
	}
}

// TestOrigins: a function that a program passes has the origin Program; a literal has an unknown origin.
func TestOrigins(t *testing.T) {
	call := func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{}, nil }
	if got := tool.New("change", "Changes something.", nil, call).Origin; got != tool.Program {
		t.Errorf("New: %v", got)
	}
	if got := (tool.Tool{Name: "change", Call: call}).Origin; got != tool.Unknown {
		t.Errorf("a literal: %v", got)
	}
}
