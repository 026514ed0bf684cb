// Extract reads an order out of a letter into nested Go types. What does not fit is told to the
// model, which is asked again: by the schema, by a type that refuses, by a check of this program.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/sim"
)

type Order struct {
	Customer struct{ Name, City string }     `json:"customer"`
	Email    string                          `json:"email" format:"email"`
	Placed   time.Time                       `json:"placed"`
	Items    []Item                          `json:"items" minItems:"1"`
	Payment  schema.Union[Payment, payments] `json:"payment"`
	Total    int                             `json:"total" description:"Sum of all items, in cents"`
}

type (
	Item struct {
		Name  string `json:"name"`
		Count int    `json:"count" minimum:"1"`
		Cents int    `json:"cents" description:"Price of one, in cents"`
	}
	Payment  interface{ By() string }
	Card     struct{ Last4 string }
	Transfer struct{ IBAN string }
	payments struct{}
)

func (c Card) By() string     { return "card " + c.Last4 }
func (t Transfer) By() string { return "transfer from " + t.IBAN }
func (payments) Cases() (string, map[string]Payment) {
	return "kind", map[string]Payment{"card": Card{}, "transfer": Transfer{}}
}

func (o Order) Validate() error {
	sum := 0
	for _, i := range o.Items {
		sum += i.Count * i.Cents
	}
	if sum != o.Total {
		return fmt.Errorf("the total is %d, but the items add up to %d", o.Total, sum)
	}
	return nil
}

//go:embed answers.txtar
var answers []byte // of a model that needs three tries; MODEL=openai/gpt-5 asks a real one

const letter = `Hello, I am Ada from Oslo (ada@example.com). On 2 January 2026 at ten I ordered two
lamps at 19.90 each and a cable for 5.00. I pay with the card that ends in 4242.`

func main() {
	var model llm.Model
	model, err := sim.ParseScript(answers)
	if id := os.Getenv("MODEL"); id != "" {
		model, err = provider.Open(id)
	}
	if err != nil {
		log.Fatal(err)
	}
	req := &llm.Request{Messages: []llm.Message{llm.User("Extract the order:\n" + letter)}}
	o, err := refine.Into(context.Background(), model, req, 4, Order.Validate)
	if err != nil {
		log.Fatal(err) // the problem of each try
	}
	fmt.Println(o.Customer, o.Placed.Format(time.DateOnly), o.Items, o.Total, o.Payment.Value.By())
}
