package client

//lint:file-ignore SA1019 log messages are deprecated by the newest revision, and servers of all revisions send them.

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// hearLogs passes on log messages, if the program wants them.
func (l *remote) hearLogs(o *mcp.ClientOptions) {
	if l.host.options.Log != nil {
		o.LoggingMessageHandler = func(_ context.Context, req *mcp.LoggingMessageRequest) { l.logged(req.Params) }
	}
}

// askForLogs asks a server of the newest revision for the log messages of a call.
func (l *remote) askForLogs(live *liveSession, params *mcp.CallToolParams) {
	if l.host.options.Log != nil && live.session.InitializeResult().ProtocolVersion == rpc.Newest {
		params.Meta[mcp.MetaKeyLogLevel] = logLevel
	}
}

// wantLogs asks a server of an older revision for log messages. Later revisions are asked with each call.
func (l *remote) wantLogs(ctx context.Context, live *liveSession) {
	r := live.session.InitializeResult()
	if l.host.options.Log == nil || r.ProtocolVersion == rpc.Newest || r.Capabilities == nil || r.Capabilities.Logging == nil {
		return
	}
	_ = live.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: logLevel}) // a server that refuses has no logs
}

// logged passes on a log message of the server.
func (l *remote) logged(p *mcp.LoggingMessageParams) {
	if p == nil {
		return
	}
	text, is := p.Data.(string)
	if !is {
		data, err := json.Marshal(p.Data)
		if err != nil {
			return
		}
		text = string(data)
	}
	l.host.options.Log(l.Name, clean(string(p.Level)), l.Redact(text))
}
