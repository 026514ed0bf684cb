package openmodel

import (
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

// ScriptPrefix is the prefix of a script file in the name of a simulated model.
const ScriptPrefix = "script:"

// simServer is the simulator of this process. It runs until the process ends.
var simServer = sync.OnceValue(func() inProcess {
	inside := make(inProcess)
	go http.Serve(inside, new(sim.Server))
	return inside
})

// openSim opens a simulated model: the offline model, a script, or a model of the simulator with its dialects and
// faults. The simulator uses real HTTP within the process.
func openSim(rest string) (llm.Model, error) {
	if rest == "offline" {
		return sim.Offline{}, nil
	}
	if file, ok := strings.CutPrefix(rest, ScriptPrefix); ok {
		text, err := cli.ReadBounded(file)
		if err != nil {
			return nil, err
		}
		script, err := sim.ParseScript([]byte(text))
		if err != nil {
			return nil, err
		}
		return readScript(script), nil
	}
	if err := sim.CheckModel(rest); err != nil {
		return nil, err
	}
	id := "http://127.0.0.1/v1#sim/" + rest
	known, err := catalog.Default().Load("sim", fmt.Appendf(nil, "models:\n  %q: {native_tools: true, text_calls: all}\n", id))
	if err != nil {
		return nil, err
	}
	client := &provider.Client{Catalog: known, HTTP: outbound.New(outbound.Rules{Dial: simServer().dial, NoProxy: true})}
	return client.Open(id)
}

// readScript parses calls in the text of a script's answers, as .raw answers require.
func readScript(s *sim.Script) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		if req.Promotion == llm.PromoteDefault {
			asked := *req
			asked.Promotion = llm.PromoteAll
			req = &asked
		}
		return emulate.ReadCalls(s, nil).Stream(ctx, req)
	})
}

// inProcess is a listener for connections from this process.
type inProcess chan net.Conn

func (l inProcess) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (l inProcess) Accept() (net.Conn, error) { return <-l, nil }

// Close does nothing: the listener ends with the process.
func (l inProcess) Close() error { return nil }

// Addr returns an empty address.
func (l inProcess) Addr() net.Addr { return &net.IPAddr{} }
