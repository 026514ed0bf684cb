package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// BenchmarkThousandTools is what a server with 1,000 tools costs us: reading its list,
// making tools of it with their hashes, and narrowing for four vendors. What the
// server itself does for it is not counted: its answer is there already.
//
//	go test ./mcpbridge/client -run '^$' -bench ThousandTools
func BenchmarkThousandTools(b *testing.B) {
	session := listedBefore(b, "1000")
	read := func() *toollist.List {
		list, err := toollist.Read(context.Background(), "many", session)
		if err != nil || len(list.Defs) != 1000 {
			b.Fatal(err)
		}
		return list
	}
	list := read()
	l := &remote{Endpoint: &connection.Endpoint{ServerConfig: config.ServerConfig{Name: "many", Command: "x"}}, host: new(Servers), record: toollist.Memory{Known: map[string]config.ServerTool{}}}
	l.list = list
	l.record.Learn(l.ServerConfig, list)
	l.rebuild()
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"list", func() { read() }},
		{"hash", func() { toollist.New(list.Defs) }},
		{"offer", l.rebuild},
		{"narrow", func() { narrowAll(b, l.offer.set) }},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			began := processorTime()
			for b.Loop() {
				step.do()
			}
			b.ReportMetric(float64((processorTime()-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// listedBefore returns a session with a server whose list is bytes that were written
// before.
func listedBefore(tb testing.TB, tools string) *mcp.ClientSession {
	return answering(tb, listAnswer(tb, tools))
}

// listAnswer is the answer of a server to tools/list.
func listAnswer(tb testing.TB, tools string) string {
	client, server := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	go func() { _ = mcptest.Many(tools).Run(ctx, server) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, client, nil)
	if err != nil {
		tb.Fatal(err)
	}
	res, err := session.ListTools(ctx, nil)
	if err != nil {
		tb.Fatal(err)
	}
	answer, err := json.Marshal(res)
	if err != nil {
		tb.Fatal(err)
	}
	return string(answer)
}

// answering connects to a server of the older revisions that answers tools/list with
// that result.
func answering(tb testing.TB, result string) *mcp.ClientSession {
	fromServer, toUs := io.Pipe()
	fromUs, toServer := io.Pipe()
	tb.Cleanup(func() { _, _ = fromUs.Close(), toUs.Close() })
	go func() {
		in := bufio.NewReader(fromUs)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var req struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.Unmarshal(line, &req)
			switch req.Method {
			case "initialize":
				fmt.Fprintf(toUs, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`+"\n", req.ID)
			case "tools/list":
				fmt.Fprintf(toUs, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, result)
			}
		}
	}()
	client := toollist.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(tb.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { session.Close() })
	return session
}

// TestManyToolsCostLittle bounds what listing and offering a thousand tools allocates.
// A validator for each would take five times as much; they are made at first use.
func TestManyToolsCostLittle(t *testing.T) {
	session := listedBefore(t, "1000")
	l := &remote{Endpoint: &connection.Endpoint{ServerConfig: config.ServerConfig{Name: "many", Command: "x"}}, host: new(Servers), record: toollist.Memory{Known: map[string]config.ServerTool{}}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	list, err := toollist.Read(context.Background(), "many", session)
	if err != nil {
		t.Fatal(err)
	}
	l.list = list
	l.record.Learn(l.ServerConfig, list)
	l.rebuild()
	runtime.ReadMemStats(&after)
	if l.offer.set.Len() != 1000 {
		t.Fatalf("there are %d tools", l.offer.set.Len())
	}
	if size := after.TotalAlloc - before.TotalAlloc; size > 40<<20 {
		t.Errorf("listing a thousand tools allocates %d MiB", size>>20)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 12<<20 {
		t.Errorf("a thousand tools hold %d KiB", held>>10)
	}
	runtime.KeepAlive(l)
	one, _ := l.offer.set.Lookup("many__tool_7")
	if faults := l.offer.set.Schema(one.Name).Validate([]byte(`{"key":7}`)); len(faults) == 0 {
		t.Error("wrong arguments pass")
	}
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
