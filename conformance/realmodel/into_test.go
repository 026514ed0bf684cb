package realmodel

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire"
)

//go:embed testdata/extract.jsonl
var extractFile []byte

// What is to be taken out of a text.
type (
	person struct {
		Name string `json:"name"`
		Age  int    `json:"age"`
		City string `json:"city"`
	}
	order struct {
		Item     string  `json:"item"`
		Quantity int     `json:"quantity"`
		Price    float64 `json:"price"`
	}
	event struct {
		Title string `json:"title"`
		Date  string `json:"date"`
		Place string `json:"place"`
	}
	review struct {
		Product     string `json:"product"`
		Stars       int    `json:"stars"`
		Recommended bool   `json:"recommended"`
	}
	contact struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	}
)

// into asks for a T and reports whether it is valid by T's schema, and right.
func into[T any](t *testing.T, model llm.Model, text string, want json.RawMessage) (valid, right bool) {
	t.Helper()
	zero := 0.0
	req := &llm.Request{Temperature: &zero, MaxTokens: 600, Messages: []llm.Message{llm.User("Extract the data from this text: " + text)}}
	got, err := refine.Into[T](context.Background(), model, req, 3)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return false, false
	}
	s, err := schema.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if faults := schema.MustCompile(s).Validate(b); len(faults) > 0 {
		t.Errorf("%s: %s is not valid: %v", text, b, faults)
		return false, false
	}
	var expected T
	if err := json.Unmarshal(want, &expected); err != nil {
		t.Fatal(err)
	}
	if right = reflect.DeepEqual(got, expected); !right {
		t.Logf("%s: %s", text, b)
	}
	return true, right
}

// TestInto has the small model fill in 50 forms: each must be valid; how many
// are right is reported.
func TestInto(t *testing.T) {
	model := open(t, serve(t), wire.Chat, false)
	kinds := map[string]func(*testing.T, llm.Model, string, json.RawMessage) (bool, bool){
		"person": into[person], "order": into[order], "event": into[event], "review": into[review], "contact": into[contact],
	}
	asked, valid, right := 0, 0, 0
	dec := json.NewDecoder(bytes.NewReader(extractFile))
	for dec.More() {
		var row struct {
			Kind, Text string
			Want       json.RawMessage
		}
		if err := dec.Decode(&row); err != nil {
			t.Fatal(err)
		}
		v, r := kinds[row.Kind](t, model, row.Text, row.Want)
		asked++
		if v {
			valid++
		}
		if r {
			right++
		}
	}
	t.Logf("%d of %d are valid, %d right", valid, asked, right)
}
