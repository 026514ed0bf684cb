// Gateway embeds the gateway in a program's own server: clients of OpenAI and of Anthropic ask the
// same route with a key that the program made, next to a handler of the program.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

var said = regexp.MustCompile(`I am an offline stand-in|hello`)

const message = `"messages":[{"role":"user","content":"Say hello to Ada"}]`

func main() {
	ctx := context.Background()
	keys, err := gateway.OpenAccess(ctx, nil) // or in a database
	if err != nil {
		log.Fatal(err)
	}
	_, secret, err := keys.Create(ctx, gateway.Key{Team: "acme"}, "requests/minute=60")
	if err != nil {
		log.Fatal(err)
	}
	g, err := gateway.New(gateway.Setup{
		Access: keys,
		Open: func(id string, way gateway.Way) (llm.Model, error) { // or a provider.Client's Open
			return sim.Offline{}, nil
		},
		Routes: []gateway.ModelRoute{{Model: "house",
			Upstreams: []gateway.Upstream{{Model: "sim/offline"}}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", g)
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, ask := range [][2]string{
		{"/v1/chat/completions", `{"model":"house",` + message + `}`},
		{"/v1/messages", `{"model":"house","max_tokens":99,` + message + `}`},
		{"/hello", ``},
	} {
		req, err := http.NewRequest("POST", server.URL+ask[0], strings.NewReader(ask[1]))
		if err != nil {
			log.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			log.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Printf("%s %d %s %v\n", ask[0], resp.StatusCode, said.Find(answer), err)
	}
}
