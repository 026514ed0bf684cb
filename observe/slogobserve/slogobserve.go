// Package slogobserve writes the steps of package observe to a log. It is a separate package because log/slog adds
// 100 kB to a program.
package slogobserve

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/observe/internal/pairs"
)

// New returns an observer that writes a line for each step when it is over: runs,
// model calls and tool calls at the level Info, or Warn if they failed, and turns
// and beginnings at Debug. The log omits the text of people, models and tools. Of an
// error it has only the kind, because the text may quote them.
func New(l *slog.Logger) observe.Observer { return &observer{l} }

type observer struct{ l *slog.Logger }

// Begin writes that a step begins.
func (o *observer) Begin(ctx context.Context, s observe.Step) context.Context {
	if o.l.Enabled(ctx, slog.LevelDebug) {
		name, attrs := describe(s, false)
		o.l.LogAttrs(ctx, slog.LevelDebug, name+" begins", attrs...)
	}
	return ctx
}

// End writes how a step ended.
func (o *observer) End(ctx context.Context, s observe.Step) {
	level := slog.LevelInfo
	span := s.Timing()
	if _, turn := s.(*observe.Turn); turn {
		level = slog.LevelDebug
	}
	if span.Err != nil {
		level = max(level, slog.LevelWarn)
	}
	if !o.l.Enabled(ctx, level) {
		return
	}
	name, attrs := describe(s, true)
	attrs = append(attrs, slog.Duration("took", span.Took.Round(time.Microsecond)))
	if span.Err != nil {
		attrs = append(attrs, slog.String("error", llm.KindOf(span.Err).String()))
	}
	o.l.LogAttrs(ctx, level, name, attrs...)
}

// describe returns the name and the attributes of a step.
func describe(s observe.Step, over bool) (string, []slog.Attr) {
	var a attrs
	switch s := s.(type) {
	case *observe.Request:
		a.text("request", s.ID, "method", s.Method, "path", s.Path)
		if over {
			a.text("team", s.Team, "upstream", s.Upstream)
			a.number("status", s.Status)
			a.usage(s.Usage)
		}
		return "request", a
	case *observe.Run:
		a.text("run", s.ID, "parent", s.Parent, "model", s.Model)
		if over {
			a.text("status", s.Status)
			a.number("turns", s.Turns, "calls", s.Calls)
			a.usage(s.Usage)
		}
		return "run", a
	case *observe.Turn:
		a.text("run", s.Run, "model", s.Model)
		a.number("turn", s.N)
		return "turn", a
	case *observe.ModelCall:
		a.text("run", s.Run, "model", s.Model)
		a.number("turn", s.Turn)
		if over {
			a.text("vendor", s.Vendor, "host", s.Host, "wire", s.Wire, "route", s.Route, "answer", s.ID, "answered", s.Answered, "finish", string(s.Finish), "entry", s.Recorded)
			a.number("attempts", s.Attempts, "retries", len(s.Retries), "invalid_calls", s.Invalid)
			a.usage(s.Usage)
		}
		return "model call", a
	case *observe.ToolCall:
		a.text("run", s.Run, "tool", s.Tool, "call", s.ID)
		a.number("turn", s.Turn)
		if over {
			a.text("status", s.Status, "code", s.Code, "by", s.By, "repairs", strings.Join(s.Classes(), ","), "receipt", s.Receipt)
			a.number("attempts", s.Attempts)
			a = append(a, slog.Bool("allowed", s.Allowed))
		}
		return "tool call", a
	}
	return "step", a
}

// attrs are the attributes of a line.
type attrs []slog.Attr

// text adds names and non-empty values.
func (a *attrs) text(list ...string) { *a = pairs.Text(*a, slog.String, list...) }

// number adds names and non-zero numbers.
func (a *attrs) number(list ...any) { *a = pairs.Number(*a, slog.Int, list...) }

func (a *attrs) usage(u llm.Usage) {
	a.number("input_tokens", u.Input, "output_tokens", u.Output, "cache_read", u.CacheRead, "cache_write", u.CacheWrite, "reasoning", u.Reasoning)
}
