package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/observe/otlp"
)

// The defaults of opsConfig.
const (
	defaultDrain  = 30 * time.Second
	defaultLeave  = 5 * time.Second
	defaultReload = 2 * time.Second
	defaultHeader = 64 << 10
)

// serving is a running gateway.
type serving struct {
	cmd     *cobra.Command
	options options
	log     *slog.Logger
	json    bool // the log is JSON, and so is everything else that is printed
	live    *gateway.Live
	with    *settings.Settings // the settings at the start
	last    *settings.Settings // the settings of the last reload
	addr    string             // the listen address

	endLog func()         // ends the log
	spans  *otlp.Exporter // trace exporter; nil without a collector

	guards guards
	tools  *routeTools // the tools of the routes
	cert   atomic.Pointer[tls.Certificate]
	seen   [sha256.Size]byte // digest of the configuration files
	lost   []string          // files of stores that were removed or replaced
}

// logTo begins a log in a format.
func (v *serving) logTo(format string) {
	v.json = format == "json"
	v.log, v.endLog = gatewayLog(v.cmd.ErrOrStderr(), format)
}

// announce prints where something is served.
func (v *serving) announce(to io.Writer, what, url string) {
	if v.json {
		slog.New(slog.NewJSONHandler(to, nil)).Info(what, "address", url)
		return
	}
	fmt.Fprintf(to, "%s %s\n", what, url)
}

// noticeLog returns the log for notices, nil if they are printed as text.
func (v *serving) noticeLog() *slog.Logger {
	if v.json {
		return v.log
	}
	return nil
}

// say logs mistakes and warnings, one line each.
func (v *serving) say(level slog.Level, what string, list []configcheck.Mistake) {
	for _, x := range list {
		v.log.Log(context.Background(), level, what, "file", x.File, "line", x.Line, "setting", x.Path, "problem", x.Problem)
	}
}

// digest returns a hash of the configuration files, to detect changes. A file that cannot be read has no content.
func (v *serving) digest() [sha256.Size]byte {
	h := sha256.New()
	s := v.now()
	for _, file := range []string{s.File, s.Gateway.Ops.TLS.Cert, s.Gateway.Ops.TLS.Key} {
		if file == "" {
			continue
		}
		b, err := readConfig(file)
		fmt.Fprintf(h, "%s %d %v ", file, len(b), err == nil)
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// now returns the current settings.
func (v *serving) now() *settings.Settings {
	if v.last != nil {
		return v.last
	}
	return v.with
}

// reload applies the current configuration files. If they have mistakes, nothing changes.
func (v *serving) reload() {
	const kept = "the configuration is not used; the one before it stays"
	wrong, err := v.replace()
	switch v.say(slog.LevelError, "a mistake in the configuration", wrong); {
	case err != nil:
		v.log.Error(kept, "error", err.Error())
	case len(wrong) > 0:
		v.log.Error(kept, "file", v.now().File, "mistakes", len(wrong))
	default:
		v.log.Info("the configuration was read again", "file", v.with.File)
	}
}

// replace applies the configuration files, or returns their mistakes.
func (v *serving) replace() (wrong []configcheck.Mistake, err error) {
	m, s, c := v.examine()
	if wrong, _ := m.Split(false, ""); s != nil && len(wrong) == 0 {
		m.AddError(v.emptied(s))
	}
	wrong, said := m.Split(false, "")
	if len(wrong) > 0 {
		v.live.Refused()
		return wrong, nil
	}
	cert, err := loadCertificate(s.Gateway.Ops.TLS)
	if err != nil {
		v.live.Refused()
		return nil, err
	}
	c.Routes, c.Access, c.State = GatewayRoutes(s.Gateway), v.guards.book, v.guards.state
	if v.spans != nil {
		c.Observer = v.spans
	}
	if err := v.live.Replace(c); err != nil {
		return nil, err
	}
	v.say(slog.LevelWarn, "the configuration was read, though something may not be meant so", said)
	if cert != nil {
		v.cert.Store(cert)
	}
	v.last = s
	for _, path := range configcheck.NeedRestart(reflect.ValueOf(v.with.Gateway), reflect.ValueOf(s.Gateway), "gateway") {
		v.log.Warn("a changed setting needs a restart; until then the old value is used", "setting", path)
	}
	return nil, nil
}

// emptied refuses a configuration without routes if there were routes before. Editors truncate a file briefly, and the
// offline model must not answer during that time.
func (v *serving) emptied(s *settings.Settings) error {
	last := v.now()
	if len(last.Gateway.Routes) == 0 || len(s.Gateway.Routes) > 0 {
		return nil
	}
	for _, from := range s.Sources {
		if from == s.File && from != "" {
			return configcheck.Errorf("gateway.routes", "all routes were removed, and the offline model would answer for every name; restart the gateway if you want that")
		}
	}
	return fmt.Errorf("%s is empty or gone", last.File)
}

// follow reloads the configuration when its files change or on SIGHUP, until ctx is done.
func (v *serving) follow(ctx context.Context) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	tick := time.NewTicker(cmp.Or(v.with.Gateway.Ops.Reload, defaultReload))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			v.seen = v.digest()
			v.reload()
		case <-tick.C:
			v.lookAtStores()
			if now := v.digest(); now != v.seen {
				v.seen = now
				v.reload()
			}
		}
	}
}

// lookAtStores logs when a file of a store was removed or replaced. /readyz reports it until the file is back.
func (v *serving) lookAtStores() {
	lost := v.guards.lost()
	if slices.Equal(lost, v.lost) {
		return
	}
	if v.lost = lost; len(lost) == 0 {
		v.live.Trouble("")
		v.log.Info("the files of the stores are there again")
		return
	}
	v.live.Trouble("a file in which the gateway keeps things was removed or replaced; it has to be started again")
	v.log.Error("a file of the gateway's data was removed or replaced while it is open: writes from now on are lost when the gateway ends, and other programs do not see them; restart the gateway", "files", lost)
}

// loadCertificate reads the certificate, nil if none is configured.
func loadCertificate(c settings.TLSConfig) (*tls.Certificate, error) {
	if c.Cert == "" && c.Key == "" {
		return nil, nil
	}
	if c.Cert == "" || c.Key == "" {
		return nil, errors.New("it needs both cert and key")
	}
	cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be used: %w", err)
	}
	return &cert, nil
}

// serve listens until ctx is done, and then waits for open responses.
func (v *serving) serve(ctx context.Context, addr string, handler http.Handler) error {
	cert, err := loadCertificate(v.with.Gateway.Ops.TLS)
	if err != nil {
		return err
	}
	v.cert.Store(cert)
	listener, err := listen.On(addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	routed, done, err := v.withConsole(routedHandler(v.with.Gateway.Ops.OpsAddr, v.live, v.metrics(), handler, addr), nil)
	if err != nil {
		return err
	}
	defer done()
	server := v.server(routed)
	server.BaseContext = v.live.BaseContext
	scheme := "http"
	if cert != nil {
		scheme = "https"
		server.TLSConfig = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return v.cert.Load(), nil },
		}
	}
	failed := make(chan error, 2)
	ops, err := v.ops(failed)
	if err != nil {
		return err
	}
	if ops != nil {
		defer ops.Close()
	}
	v.seen = v.digest()
	v.announce(v.cmd.OutOrStdout(), "listening on", scheme+"://"+listener.Addr().String())
	cli.MustEnd(ctx)
	following, stop := context.WithCancel(ctx)
	defer stop()
	go v.follow(following)
	go collect(following, time.Second)
	go func() {
		if cert != nil {
			failed <- server.ServeTLS(listener, "", "")
		} else {
			failed <- server.Serve(listener)
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	v.leave(ctx)
	listener.Close()
	v.drain(ctx, server)
	return nil
}

// leave serves requests for drain_delay after SIGTERM. Load balancers see at /readyz that no more should come.
func (v *serving) leave(ctx context.Context) {
	v.live.Leave()
	var by cli.Signalled
	if !errors.As(context.Cause(ctx), &by) || by.By != syscall.SIGTERM {
		return // a person waits for the end
	}
	delay := cmp.Or(v.with.Gateway.Ops.DrainDelay, defaultLeave)
	v.log.Info("the gateway is about to end; /readyz reports 503, and requests are still served", "for", delay)
	time.Sleep(delay)
}

// drain waits for open responses, up to a limit. The listener is closed: load balancers try another gateway. Requests
// on open connections are still served.
func (v *serving) drain(ctx context.Context, server *http.Server) {
	limit := cmp.Or(v.with.Gateway.Ops.Drain, defaultDrain)
	v.log.Info("no more requests are taken; open answers may end", "within", limit)
	began := time.Now()
	bounded := func(limit time.Duration, wait func(context.Context) error) bool {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		return wait(within) == nil
	}
	idle := bounded(limit, v.live.Idle)
	v.live.Drain()
	if !idle {
		v.log.Warn("answers that had not ended are ended with an error")
		v.live.End()
		bounded(EndTime, v.live.Idle)
	}
	if !bounded(EndTime, server.Shutdown) {
		v.log.Warn("answers without a reader are cut off")
		server.Close()
	}
	if book := v.guards.book; book != nil {
		bounded(EndTime, func(ctx context.Context) error {
			if left := book.Close(ctx); left > 0 {
				v.log.Error("what some requests used could not be written and is lost", "requests", left)
			}
			return nil
		})
	}
	v.log.Info("the gateway has ended", "after", time.Since(began).Round(time.Millisecond))
}

// EndTime limits how long the final error of a response may take.
const EndTime = 5 * time.Second

// server returns a server with the limits of the configuration.
func (v *serving) server(handler http.Handler) *http.Server {
	c := v.with.Gateway.Ops
	s := &http.Server{
		Handler:           bodiesWithin(cmp.Or(c.BodyTimeout, time.Minute), handler),
		ReadHeaderTimeout: cmp.Or(c.HeaderTimeout, 10*time.Second),
		IdleTimeout:       cmp.Or(c.IdleTimeout, 2*time.Minute),
		MaxHeaderBytes:    cmp.Or(c.MaxHeader, defaultHeader),
		ErrorLog:          slog.NewLogLogger(v.log.Handler(), slog.LevelDebug),
		Protocols:         new(http.Protocols),
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: cmp.Or(c.WriteTimeout, 2*time.Minute)},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true) // Amazon's JavaScript client requires it
	return s
}

// bodiesWithin limits how long a client may take to send a request body, even if the handler does not read it: package
// http waits for the body before it sends the response. A handler that reads the whole body and then needs longer
// removes the limit.
func bodiesWithin(limit time.Duration, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limit))
		}
		handler.ServeHTTP(w, r)
	})
}

// metrics serves the metrics of the gateway, and the number of dropped spans.
func (v *serving) metrics() http.Handler {
	if v.spans == nil {
		return v.live.Metrics()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.live.Metrics().ServeHTTP(w, r)
		fmt.Fprintf(w, "# HELP toolpost_spans_dropped_total Spans of traces that could not be sent.\n# TYPE toolpost_spans_dropped_total counter\ntoolpost_spans_dropped_total %d\n", v.spans.Dropped())
	})
}

// ops serves health and metrics on a separate address, if configured.
func (v *serving) ops(failed chan<- error) (*http.Server, error) {
	if v.with.Gateway.Ops.OpsAddr == "" {
		return nil, nil
	}
	listener, err := listen.On(v.with.Gateway.Ops.OpsAddr)
	if err != nil {
		return nil, fmt.Errorf("ops_addr: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/healthz", v.live.Health())
	mux.Handle("/readyz", v.live.Health())
	mux.Handle("/metrics", v.metrics())
	server := v.server(gateway.NoPages(mux, v.with.Gateway.Ops.OpsHosts...))
	v.announce(v.cmd.ErrOrStderr(), "health and metrics on", "http://"+listener.Addr().String())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return server, nil
}

// routedHandler adds the health endpoints to the clients' endpoints. It adds metrics if only this machine can reach the
// address.
func routedHandler(opsAddr string, live *gateway.Live, metrics, clients http.Handler, addr string) http.Handler {
	ours := map[string]http.Handler{"/healthz": live.Health(), "/readyz": live.Health()}
	if opsAddr == "" && listen.Loopback(addr) == nil {
		ours["/metrics"] = gateway.LocalOnly(metrics)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if own := ours[r.URL.Path]; own != nil && r.Method != http.MethodPost {
			own.ServeHTTP(w, r)
			return
		}
		clients.ServeHTTP(w, r) // not a mux, which would clean paths that clients send on purpose
	})
}

// gatewayLog returns a log of a gateway that writes to w, as text or JSON. Call end after the last message.
func gatewayLog(w io.Writer, format string) (log *slog.Logger, end func()) {
	lines := &lineBuffer{w: w}
	var handler slog.Handler = slog.NewTextHandler(lines, nil)
	if format == "json" {
		handler = slog.NewJSONHandler(lines, nil)
	}
	return slog.New(promptHandler{handler, lines}), lines.flush
}

// The limits of a lineBuffer.
const (
	logWait = 100 * time.Millisecond
	logMost = 64 << 10
)

// lineBuffer batches the lines of a log. It writes the first line at once and the lines shortly after it together.
// Otherwise a gateway with thousands of requests per second would spend much of its time on separate writes.
type lineBuffer struct {
	w io.Writer

	mu    sync.Mutex
	held  []byte
	last  time.Time // time of the last write
	timer *time.Timer
}

// Write adds a line.
func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := logWait - time.Since(b.last)
	if len(b.held) == 0 && wait <= 0 {
		b.last = time.Now()
		return b.w.Write(line)
	}
	if len(b.held) == 0 {
		if b.timer == nil {
			b.timer = time.AfterFunc(wait, b.flush)
		} else {
			b.timer.Reset(wait)
		}
	}
	if b.held = append(b.held, line...); len(b.held) >= logMost {
		b.write()
	}
	return len(line), nil
}

// flush writes the buffered lines.
func (b *lineBuffer) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write()
}

// write is flush for callers that hold b.mu.
func (b *lineBuffer) write() {
	if len(b.held) > 0 {
		_, _ = b.w.Write(b.held) // the log itself failed, so the error is dropped
		b.held, b.last = b.held[:0], time.Now()
	}
}

// promptHandler writes warnings and errors at once.
type promptHandler struct {
	slog.Handler
	lines *lineBuffer
}

func (h promptHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.lines.flush()
	}
	return err
}

func (h promptHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return promptHandler{h.Handler.WithAttrs(attrs), h.lines}
}

func (h promptHandler) WithGroup(name string) slog.Handler {
	return promptHandler{h.Handler.WithGroup(name), h.lines}
}

// How much garbage a gateway may accumulate before a collection: a number of bytes, but within these percentages of the
// live heap. Otherwise a gateway with few requests would collect a few megabytes all the time, and a gateway with
// thousands of open streams would keep as much garbage as live data.
const (
	spareMemory  = 48 << 20
	leastPercent = 20
	mostPercent  = 400
)

// garbagePercent returns the GC percentage for a live heap of the given size.
func garbagePercent(live uint64) int {
	percent := spareMemory * 100 / max(live, 1)
	return int(min(max(percent, leastPercent), mostPercent))
}

// collect adjusts the garbage collector to the live heap until the context ends. It does nothing if GOGC is set.
func collect(ctx context.Context, every time.Duration) {
	if os.Getenv("GOGC") != "" {
		return
	}
	const usual = 100
	defer debug.SetGCPercent(usual)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	set := usual
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		metrics.Read(live)
		// Changing the setting stops the world briefly, so small differences are ignored.
		if p := garbagePercent(live[0].Value.Uint64()); p*10 < set*9 || p*10 > set*11 {
			debug.SetGCPercent(p)
			set = p
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
