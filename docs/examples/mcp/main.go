// Mcp serves a Go function over MCP and uses it as a client, over HTTP in one program. Either half
// works with other clients and servers.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

func weather(_ context.Context, in struct{ City string }) (string, error) {
	return "sunny in " + in.City, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	look := tool.Func("get_weather", "Current weather in a city.", weather)
	look.Effects = tool.ReadOnly // clients are asked about calls of other tools
	service, err := serve.NewService(serve.ServiceOptions{Name: "sky",
		Runner: &invoke.Runner{Tools: tool.MustSet(look)}})
	check(err)
	defer service.Close()
	handler, err := service.Handler(serve.HTTPAccess{})
	check(err)
	server := httptest.NewServer(handler)
	defer server.Close()

	dir, err := os.MkdirTemp("", "mcp") // keeps accepted definitions and logins
	check(err)
	defer os.RemoveAll(dir)
	sky := config.ServerConfig{Name: "sky", URL: server.URL}
	servers, err := client.Open(client.Options{Dir: dir}, sky)
	check(err)
	defer servers.Close()
	tools, err := servers.Tools(context.Background())
	check(err)
	a := &agent.Agent{Model: sim.Offline{}, BeforeTurn: servers.BeforeTurn(tools),
		Tools: &invoke.Runner{Tools: tools, Policy: invoke.AllowAll}} // or invoke.AskFirst
	done, err := a.Ask(context.Background(), llm.User("What is the weather in Rome?"))
	check(err)
	fmt.Println(done.Text)
}
