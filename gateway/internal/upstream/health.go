package upstream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// maxCheck is how long a health check may take.
const maxCheck = 10 * time.Second

// Checker is a model with a health check that costs nothing. Models of package provider are checkers.
type Checker interface {
	Check(ctx context.Context) ([]llm.Warning, error)
}

// Watch checks the health and the drift of all upstreams that are configured for it until ctx is done.
func (t Table) Watch(ctx context.Context, running *sync.WaitGroup, log *slog.Logger) {
	for _, r := range t {
		for _, u := range r.Targets {
			if u.Health <= 0 {
				u.sick.Store(false)
			}
			if u.Drift.Every <= 0 {
				u.drift.forget()
			}
			if u.Health <= 0 && u.Drift.Every <= 0 {
				continue
			}
			m, id, err := u.Open("")
			if err != nil {
				continue
			}
			if u.Drift.Every > 0 && u.Drift.Agreement != nil {
				running.Go(func() { u.watchDrift(ctx, m, id, r.Name, log) })
			}
			if c, ok := m.(Checker); ok && u.Health > 0 {
				running.Go(func() { u.watch(ctx, c, r.Name, log) })
			}
		}
	}
}

func (u *Target) watch(ctx context.Context, m Checker, route string, log *slog.Logger) {
	tick := time.NewTicker(u.Health)
	defer tick.Stop()
	for {
		u.check(ctx, m, route, log)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// check checks the upstream once and logs a change. A healthy upstream may be asked at once, even if its breaker is open.
func (u *Target) check(ctx context.Context, m Checker, route string, log *slog.Logger) {
	within, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	_, err := m.Check(within)
	if err == nil {
		u.each(func(m *modelState) { m.breaker.MayTry() })
	}
	if ctx.Err() != nil || u.sick.Swap(err != nil) == (err != nil) {
		return
	}
	if err != nil {
		log.Warn("upstream is not healthy", "route", route, "upstream", u.Model, "kind", FailureKind(err), "error", err.Error())
		return
	}
	log.Info("upstream is healthy again", "route", route, "upstream", u.Model)
}
