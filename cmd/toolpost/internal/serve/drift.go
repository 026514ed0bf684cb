package serve

import (
	"context"
	"sync"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/llm"
)

// driftCheck is one at a time: routes with the same upstream share its result.
var driftCheck sync.Mutex

// agreement asks an upstream the probes of 'models drift' and compares them with its first result, in the same store.
func agreement(ctx context.Context, id string, m llm.Model, maxAge time.Duration) (float64, error) {
	driftCheck.Lock()
	defer driftCheck.Unlock()
	store, done, err := runstore.OpenAt(settings.EvaluationsDir(), true)
	if err != nil {
		return 0, err
	}
	defer done()
	return eval.Recheck(ctx, store, id, m, maxAge)
}
