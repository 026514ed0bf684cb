package mcpbridge

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// BenchmarkThousandTools is what a server with 1,000 tools costs when it is listed:
// the list itself, the offer with its hashes, and narrowing for four vendors.
func BenchmarkThousandTools(b *testing.B) {
	client, server := mcp.NewInMemoryTransports()
	go func() { _ = mcptest.Many("1000").Run(b.Context(), server) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(), client, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	list, err := readList(context.Background(), "many", session)
	if err != nil || len(list.defs) != 1000 {
		b.Fatal(len(list.defs), err)
	}
	l := &link{ServerConfig: ServerConfig{Name: "many", Command: "x"}, host: new(Servers), record: memory{Known: map[string]ServerTool{}}}
	l.record.learn(l.ServerConfig, list)
	l.list = list
	b.Run("list", func(b *testing.B) {
		for range b.N {
			if _, err := readList(context.Background(), "many", session); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("offer", func(b *testing.B) {
		for range b.N {
			l.rebuild()
		}
	})
	b.Run("narrow", func(b *testing.B) {
		for range b.N {
			narrowAll(b, l.offer.set)
		}
	})
}

func narrowAll(b *testing.B, set *tool.Set) {
	for t := range set.All() {
		for _, vendor := range schema.Vendors() {
			if _, err := schema.Narrow(t.Input, vendor, false); err != nil {
				b.Fatal(fmt.Errorf("%s for %s: %w", t.Name, vendor, err))
			}
		}
	}
}
