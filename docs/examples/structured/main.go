// Structured reads a Go value out of a text. See provider.Open for real models.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
)

type Contact struct {
	Name  string `json:"name"`
	Email string `json:"email" format:"email"`
	Phone string `json:"phone,omitempty"`
}

func main() {
	req := &llm.Request{Messages: []llm.Message{
		llm.User("Extract the contact. name: Ada, email: ada@example.com")}}
	contact, err := refine.Into[Contact](context.Background(), sim.Offline{}, req, 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(contact.Name, contact.Email)
}
