package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
)

// servePrivately starts a gateway for this command alone: with the routes of the settings, on a free port of this
// machine, without keys, administrators and a certificate. The caller calls stop.
func servePrivately(cmd *cobra.Command, s *settings.Settings, log *slog.Logger) (url string, stop func(), err error) {
	s.Gateway.Keys = settings.KeysConfig{}
	s.Gateway.Ops.OpsAddr, s.Gateway.Ops.TLS = "", settings.TLSConfig{}
	for i := range s.Gateway.Routes {
		s.Gateway.Routes[i].Bodies = nil // they are kept with the log of a gateway with keys
	}
	v := &serving{cmd: cmd, with: s, log: log}
	if v.tools, err = OpenRouteTools(cmd, s, false, log); err != nil {
		return "", nil, err
	}
	setup, err := gatewaySetup(s, log)
	if err == nil {
		v.live, err = gateway.NewLive(setup)
	}
	if err != nil {
		v.tools.Close()
		return "", nil, err
	}
	listener, err := listen.On("127.0.0.1:0")
	if err != nil {
		v.live.Close()
		v.tools.Close()
		return "", nil, err
	}
	server := v.server(gateway.LocalOnly(v.live))
	server.BaseContext = v.live.BaseContext
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the gateway has ended", "error", err.Error())
		}
	}()
	return "http://" + listener.Addr().String(), func() {
		v.live.Drain()
		v.live.End()
		within, cancel := context.WithTimeout(context.Background(), EndTime)
		defer cancel()
		if server.Shutdown(within) != nil {
			server.Close()
		}
		<-ended
		v.live.Close()
		v.tools.Close()
	}, nil
}
