// Image asks a model about an image: "image MODEL FILE".
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: image MODEL FILE, like anthropic/claude-sonnet-4-5 cat.png")
	}
	data, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	model, err := provider.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	question := llm.User("What is in this image?", llm.Media{Kind: llm.Image, Data: data})
	req := &llm.Request{Messages: []llm.Message{question}}
	resp, err := llm.Generate(context.Background(), model, req)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Message.Text())
}
