package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// probeTime is how long an upstream may take to say how it is.
const probeTime = 10 * time.Second

// checker is a model that can be asked whether it is there, which costs nothing. Those of
// package provider are.
type checker interface {
	Check(ctx context.Context) ([]llm.Warning, error)
}

// probe asks the upstreams that want it how they are, until ctx is done.
func (g *Gateway) probe(ctx context.Context, running *sync.WaitGroup) {
	for _, r := range g.routes {
		for _, u := range r.upstreams {
			m, err := u.probed(g)
			if u.Health <= 0 {
				u.sick.Store(false)
			}
			if m == nil || err != nil {
				continue
			}
			running.Go(func() { u.watch(ctx, m, r.Model, g) })
		}
	}
}

// probed returns the model that is asked, nil if none is.
func (u *upstream) probed(g *Gateway) (checker, error) {
	if u.Health <= 0 {
		return nil, nil
	}
	m, err := u.open(&g.settings, "")
	c, ok := m.(checker)
	if !ok {
		return nil, err
	}
	return c, err
}

// watch asks an upstream how it is, again and again.
func (u *upstream) watch(ctx context.Context, m checker, route string, g *Gateway) {
	tick := time.NewTicker(u.Health)
	defer tick.Stop()
	for {
		u.look(ctx, m, route, g)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks an upstream once. The log is told when that changes something. One that is well may be asked a question at once, although it has
// failed before.
func (u *upstream) look(ctx context.Context, m checker, route string, g *Gateway) {
	within, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_, err := m.Check(within)
	if err == nil {
		u.breaker.MayTry()
	}
	if ctx.Err() != nil || u.sick.Swap(err != nil) == (err != nil) {
		return
	}
	if err != nil {
		g.settings.Log.Warn("upstream is not healthy", "route", route, "upstream", u.Model, "kind", llm.KindOf(err).String(), "error", err.Error())
		return
	}
	g.settings.Log.Info("upstream is healthy again", "route", route, "upstream", u.Model)
}
