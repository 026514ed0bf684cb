// Longchat holds a chat of many turns through a small window: "longchat TURNS". It tells the model
// twenty codes early on, and asks for them at the end.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

func main() {
	turns, err := strconv.Atoi(strings.Join(os.Args[1:], " "))
	if err != nil || turns < 40 {
		log.Fatal("usage: longchat TURNS, at least 40")
	}
	store, err := journal.OpenDir("runs")
	if err != nil {
		log.Fatal(err)
	}
	a := &agent.Agent{
		Model:   sim.Recall{}, // knows its request and nothing else; any: provider.Open
		ID:      "sim/recall",
		Store:   store,
		Context: 4_000, // of a model that the catalogue knows, its own window is kept
		Compact: agent.Summarize,
	}
	var chat []llm.Message // what the next turn begins with
	say := func(text string) (answer string) {
		for ev, err := range a.Run(context.Background(), append(chat, llm.User(text))...) {
			if err != nil {
				log.Fatal(err)
			}
			switch ev := ev.(type) {
			case agent.Compacted:
				fmt.Printf("%d messages, %d tokens -> %d tokens\n", ev.Messages, ev.Tokens, ev.Kept)
			case agent.Done:
				chat, answer, a.Parent = ev.Messages, ev.Text, ev.Run
			}
		}
		return answer
	}
	codes := make(map[string]string)
	for i := range turns {
		text := strings.Repeat("we walked on, and talked about the weather. ", 8)
		if i < 20 {
			room := fmt.Sprint("room ", 100+i)
			codes[room] = fmt.Sprintf("K-%05d", rand.IntN(100_000))
			text += fmt.Sprintf("The code of %s is %s. ", room, codes[room])
		}
		say(text + "and then we went on.")
	}
	known := 0
	for room, code := range codes {
		if answer := say("What is the code of " + room + "?"); strings.Contains(answer, code) {
			known++
		}
	}
	fmt.Printf("%d of %d codes are known after %d turns\n", known, len(codes), turns)
}
