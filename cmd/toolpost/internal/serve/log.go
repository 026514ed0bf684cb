package serve

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

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
