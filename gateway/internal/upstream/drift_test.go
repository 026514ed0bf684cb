package upstream

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// An upstream is out while its agreement is below the threshold. A check that could not be made changes nothing.
func TestDriftTakesAnUpstreamOutAndBack(t *testing.T) {
	var share float64
	var failed error
	u := NewTarget("m")
	u.Drift = Drift{Every: time.Hour, Below: 0.9, Agreement: func(context.Context, string, llm.Model, time.Duration) (float64, error) { return share, failed }}
	var log bytes.Buffer
	for _, step := range []struct {
		share float64
		err   error
		out   bool
		says  string
	}{
		{1, nil, false, ""},
		{0.89, nil, true, "upstream is not the model that was tested"},
		{0.5, nil, true, ""},
		{1, errors.New("no answer"), true, "could not be measured"},
		{0.9, nil, false, "is the model that was tested again"},
		{0, errors.New("no answer"), false, "could not be measured"},
	} {
		share, failed = step.share, step.err
		log.Reset()
		u.checkDrift(t.Context(), nil, "m", "r", slog.New(slog.NewTextHandler(&log, nil)))
		if u.out() != step.out || !strings.Contains(log.String(), step.says) || step.says == "" && log.Len() > 0 {
			t.Errorf("%v: out %v, %s", step, u.out(), log.String())
		}
	}
	u.strayed.Store(true)
	if u.drift.forget(); u.out() {
		t.Error("it is out after the checks were turned off")
	}
}
