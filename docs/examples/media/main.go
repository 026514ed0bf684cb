// Media asks about an image and a PDF, with web search, a cache mark and a reasoning effort, in
// the format of the model's vendor, and shows the request: "media MODEL IMAGE PDF QUESTION".
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

// search is for vendors without a web search; builtin.Search is a real one.
func search(_ context.Context, in struct{ Query string }) (string, error) {
	return "there are no pages about " + in.Query, nil
}

func media(kind llm.MediaKind, file string) llm.Media {
	data, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	return llm.Media{Kind: kind, MIME: http.DetectContentType(data), Name: file, Data: data}
}

type spy struct{} // shows some words of the request
var words = regexp.MustCompile(`"(image\w*|document|file|web_search\w*|cache_\w+|\w*effort)"`)

func (spy) RoundTrip(r *http.Request) (*http.Response, error) {
	if body, err := r.GetBody(); err == nil {
		sent, _ := io.ReadAll(body)
		fmt.Printf("%s %s\n", r.URL.Path, words.FindAll(sent, -1))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: media MODEL IMAGE PDF QUESTION")
	}
	model, err := (&provider.Client{HTTP: &http.Client{Transport: spy{}}}).Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	pdf := media(llm.Document, os.Args[3]) // Anthropic keeps up to the mark; others need none
	pdf.Extra = llm.Extra{"messages": {"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}}
	question := llm.User(os.Args[4], media(llm.Image, os.Args[2]), pdf)
	look := tool.Func(llm.WebSearch, "Search the web.", search)
	twice := agent.ProviderTool{Name: llm.WebSearch, Config: llm.HostedConfig{MaxUses: 2}}
	a := &agent.Agent{Model: model, ID: os.Args[1],
		Tools:   &invoke.Runner{Tools: tool.MustSet(look)},
		Hosted:  []agent.ProviderTool{twice},
		Request: llm.Request{Reasoning: &llm.Reasoning{Effort: "low"}}}
	for ev, err := range a.Run(context.Background(), question) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev := ev.(type) {
		case agent.LaneChosen:
			fmt.Printf("%s: %s, because %s\n", ev.Tool, ev.Lane, ev.Why)
		case llm.Warning:
			fmt.Println("warning:", ev.Code, ev.Feature+":", ev.Detail)
		case invoke.Outcome:
			fmt.Println(ev.Call.Name, string(ev.Call.Args), ev.Receipt.Status)
		case agent.Done:
			fmt.Println(ev.Text)
		}
	}
}
