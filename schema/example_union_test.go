package schema_test

import (
	"fmt"

	"github.com/toolpost/toolpost/schema"
)

type Event interface{ Title() string }

type Meeting struct {
	With string `json:"with"`
}

type Trip struct {
	To string `json:"to"`
}

func (m Meeting) Title() string { return "meeting with " + m.With }
func (t Trip) Title() string    { return "trip to " + t.To }

type events struct{}

func (events) Cases() (string, map[string]Event) {
	return "kind", map[string]Event{"meeting": Meeting{}, "trip": Trip{}}
}

func ExampleUnion() {
	var day []schema.Union[Event, events]
	err := schema.Decode([]byte(`[{"kind":"meeting","with":"Ada"},{"kind":"trip","to":"Oslo"}]`), &day)
	for _, e := range day {
		fmt.Println(e.Value.Title())
	}
	fmt.Println(err)
	// Output:
	// meeting with Ada
	// trip to Oslo
	// <nil>
}
