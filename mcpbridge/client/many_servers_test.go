package client

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
)

// TestFiveThousandToolsOfTwentyServers bounds the memory of many tools, and reports how long listing and offering take.
// The time has no bound here: it depends on what else the machine does.
func TestFiveThousandToolsOfTwentyServers(t *testing.T) {
	const servers, tools = 20, 250
	var sessions []*mcp.ClientSession
	answer := listAnswer(t, fmt.Sprint(tools))
	for range servers {
		sessions = append(sessions, answering(t, answer))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := new(Servers)
	began, used := time.Now(), processorTime()
	for i, session := range sessions {
		name := fmt.Sprint("s", i)
		l := &remote{Endpoint: &connection.Endpoint{ServerConfig: config.ServerConfig{Name: name, Command: "x"}}, host: all, record: toollist.Memory{Known: map[string]config.ServerTool{}}}
		list, err := toollist.Read(context.Background(), name, session)
		if err != nil {
			t.Fatal(err)
		}
		l.list = list
		l.record.Learn(l.ServerConfig, list)
		all.remotes = append(all.remotes, l)
	}
	listed, listedCPU := time.Since(began), processorTime()-used
	began, used = time.Now(), processorTime()
	for _, l := range all.remotes {
		l.rebuild()
	}
	set, err := all.current()
	if err != nil || set.Len() != servers*tools {
		t.Fatalf("%d tools, %v", set.Len(), err)
	}
	offered, offeredCPU := time.Since(began), processorTime()-used
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("list %s (CPU %s), offer %s (CPU %s), %d MB", listed, listedCPU, offered, offeredCPU, held>>20)
	if held > 100<<20 {
		t.Errorf("5,000 tools hold %d MB", held>>20)
	}
	runtime.KeepAlive(all)
}
