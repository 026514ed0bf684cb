package upstream

import (
	"context"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// Drift configures the checks whether an upstream still is the model that was tested.
type Drift struct {
	Every time.Duration // between two checks; 0 means none
	Below float64       // the agreement under which the upstream is skipped; 0 means never
	// Agreement asks the model fixed questions and returns the share of its first answers with which it still agrees. A
	// result that is younger than maxAge may be used again.
	Agreement func(ctx context.Context, id string, m llm.Model, maxAge time.Duration) (float64, error)
}

// drift is the result of the last drift check.
type drift struct {
	measured  atomic.Bool
	agreement atomic.Uint64 // bits of a float64
	strayed   atomic.Bool   // the agreement is below the threshold
}

// forget drops the result, which must not outlive the checks.
func (d *drift) forget() {
	d.measured.Store(false)
	d.strayed.Store(false)
}

// Agreement returns the result of the last drift check, and false if there is none.
func (u *Target) Agreement() (float64, bool) {
	return math.Float64frombits(u.agreement.Load()), u.measured.Load()
}

// out reports whether the upstream is skipped while another is available, because a check failed.
func (u *Target) out() bool { return u.sick.Load() || u.strayed.Load() }

func (u *Target) watchDrift(ctx context.Context, m llm.Model, id, route string, log *slog.Logger) {
	tick := time.NewTicker(u.Drift.Every)
	defer tick.Stop()
	for {
		u.checkDrift(ctx, m, id, route, log)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// checkDrift checks the upstream once and logs a change. After a check that could not be made the upstream stays as it is.
func (u *Target) checkDrift(ctx context.Context, m llm.Model, id, route string, log *slog.Logger) {
	share, err := u.Drift.Agreement(ctx, id, m, u.Drift.Every/2)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		log.Warn("drift of an upstream could not be measured", "route", route, "upstream", u.Model, "error", err.Error())
		return
	}
	u.agreement.Store(math.Float64bits(share))
	u.measured.Store(true)
	below := share < u.Drift.Below
	if u.strayed.Swap(below) == below {
		return
	}
	if below {
		log.Warn("upstream is not the model that was tested", "route", route, "upstream", u.Model, "agreement", share, "drift_below", u.Drift.Below)
		return
	}
	log.Info("upstream is the model that was tested again", "route", route, "upstream", u.Model, "agreement", share)
}
