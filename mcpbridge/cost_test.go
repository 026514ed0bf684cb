package mcpbridge_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

// BenchmarkCall compares a call through 'mcp serve' and through a relay with the peer: the same call from the client of the
// Go SDK to its server. The calls alternate, and x-sdk is the median as a multiple of the peer's. Every call is recorded in a
// folder, as by the command. The tool only reads; before the one in intent, the record also waits for the disk. There,
// less-disk is the multiple for a record that does not wait, and disk-µs is how long the disk takes for a line of a file.
//
//	go test ./mcpbridge -run '^$' -bench BenchmarkCall
func BenchmarkCall(b *testing.B) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, way := range []string{"stdio", "http"} {
			server := ordinaryAt(b, way, revision)
			direct := func(*testing.B) mcp.Transport { return peerTransport(server) }
			relay := func(b *testing.B) mcp.Transport { return relayOrdinary(b, way, server, journal.SyncIntents) }
			for _, c := range []struct {
				name, tool string
				peer, own  func(*testing.B) mcp.Transport
			}{
				{"serve", "echo", func(b *testing.B) mcp.Transport { return serveOrdinary(b, server) }, func(b *testing.B) mcp.Transport { return serveEcho(b, way) }},
				{"relay", "echo", direct, relay},
				{"intent", "add", direct, relay},
			} {
				b.Run(way+" "+revision+" "+c.name, func(b *testing.B) {
					peer := caller(b, revision, c.tool, c.peer(b))
					own := caller(b, revision, c.tool, c.own(b))
					hasty, disk := func() time.Duration { return 0 }, func() time.Duration { return 0 }
					if c.name == "intent" {
						hasty, disk = caller(b, revision, c.tool, relayOrdinary(b, way, server, journal.SyncNone)), lineToDisk(b)
					}
					var peers, owns, hastes, disks []time.Duration
					for b.Loop() {
						peers, owns, hastes, disks = append(peers, peer()), append(owns, own()), append(hastes, hasty()), append(disks, disk())
					}
					of := median(peers)
					b.ReportMetric(float64(median(owns).Microseconds()), "own-µs")
					b.ReportMetric(float64(of.Microseconds()), "sdk-µs")
					b.ReportMetric(float64(median(owns))/float64(of), "x-sdk")
					if c.name == "intent" {
						b.ReportMetric(float64(median(hastes))/float64(of), "x-sdk-less-disk")
						b.ReportMetric(float64(median(disks).Microseconds()), "disk-µs")
					}
				})
			}
		}
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// lineToDisk returns a function that adds a line to a file, waits for the disk, and returns how long that took.
func lineToDisk(b *testing.B) func() time.Duration {
	f, err := os.Create(filepath.Join(b.TempDir(), "line"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	line := []byte(strings.Repeat("x", 500) + "\n")
	return func() time.Duration {
		began := time.Now()
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
}

// caller returns a function that calls a tool through a transport, and returns how long that took.
func caller(b *testing.B, revision, name string, transport mcp.Transport) func() time.Duration {
	ctx := context.Background()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "cost", Version: "1"}, nil).Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		b.Fatalf("they speak %s", got)
	}
	args := map[string]any{"text": "hello"}
	if name == "add" {
		args = map[string]any{"a": 2, "b": 3}
	}
	call := func() time.Duration {
		began := time.Now()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil || res.IsError {
			b.Fatal(res, err)
		}
		return time.Since(began)
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		b.Fatal(err)
	}
	call() // opens the record
	return call
}

// ordinaryAt is the ordinary server: a program, or at an address.
func ordinaryAt(b *testing.B, way, revision string) config.ServerConfig {
	server := config.ServerConfig{Name: "one", Trust: config.TrustAnnotations}
	switch {
	case way == "stdio":
		server.Command, server.Env = mcptest.Command("ordinary")
	case revision < "2026":
		server.URL = mcptest.HTTP(b, mcptest.Ordinary(), nil) + "/mcp"
	default:
		server.URL = mcptest.HTTP(b, mcptest.Ordinary(), nil) + "/stateless"
	}
	return server
}

func peerTransport(server config.ServerConfig) mcp.Transport {
	if server.URL != "" {
		return &mcp.StreamableClientTransport{Endpoint: server.URL, MaxRetries: -1}
	}
	cmd := exec.Command(server.Command)
	cmd.Env = os.Environ()
	for name, value := range server.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return &mcp.CommandTransport{Command: cmd}
}

// serveOrdinary is the server of the SDK in this process, like the one that it is compared with.
func serveOrdinary(b *testing.B, server config.ServerConfig) mcp.Transport {
	if server.URL != "" {
		return peerTransport(server)
	}
	return overPipe(b, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return mcptest.Ordinary().Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: out.(io.WriteCloser)})
	})
}

// overPipe is a transport to a server of lines, through pipes of the system.
func overPipe(b *testing.B, serve func(context.Context, io.Reader, io.Writer) error) mcp.Transport {
	toServer, fromClient, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	toClient, fromServer, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { fromClient.Close(); toClient.Close() })
	go func() {
		_ = serve(context.Background(), toServer, fromServer)
		fromServer.Close()
		toServer.Close()
	}()
	return &mcp.IOTransport{Reader: toClient, Writer: fromClient}
}

// overHTTP is a transport to a handler.
func overHTTP(b *testing.B, h http.Handler, err error) mcp.Transport {
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(h)
	b.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return &mcp.StreamableClientTransport{Endpoint: server.URL, MaxRetries: -1}
}

// costOptions are those of the command.
func costOptions(b *testing.B, tools *tool.Set, sync journal.Sync) serve.ServiceOptions {
	store, err := journal.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	store.Sync = sync
	return serve.ServiceOptions{
		Runner: &invoke.Runner{Tools: tools, Policy: invoke.AllowAll},
		Record: func(ctx context.Context) (*journal.Recorder, error) {
			return journal.Open(ctx, store, journal.NewRun())
		},
		Failed: func(err error) { b.Error(err) },
	}
}

type echoArgs struct {
	Text string `json:"text"`
}

// serveEcho is 'mcp serve' with the tool echo.
func serveEcho(b *testing.B, way string) mcp.Transport {
	echo := tool.Func("echo", "Return the text.", func(_ context.Context, in echoArgs) (tool.Output, error) { return tool.Text(in.Text), nil })
	echo.Effects = tool.ReadOnly
	s, err := serve.NewService(costOptions(b, tool.MustSet(echo), journal.SyncIntents))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	if way == "stdio" {
		return overPipe(b, s.ServePipe)
	}
	h, err := s.Handler(serve.HTTPAccess{})
	return overHTTP(b, h, err)
}

// relayOrdinary is 'mcp serve --through'.
func relayOrdinary(b *testing.B, way string, server config.ServerConfig, sync journal.Sync) mcp.Transport {
	servers, err := client.Open(client.Options{Supervised: true}, server)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { servers.Close() })
	r, err := servers.Relay("one", costOptions(b, nil, sync))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	if way == "stdio" {
		return overPipe(b, r.ServePipe)
	}
	h, err := r.Handler(serve.HTTPAccess{})
	return overHTTP(b, h, err)
}
