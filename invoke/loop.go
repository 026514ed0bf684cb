package invoke

import (
	"fmt"

	"github.com/toolpost/toolpost/journal"
)

// The longest cycle that is looked for, and how much history that needs.
const (
	longestCycle = 6
	historyLen   = 64
)

// loopGuard notices a model that repeats itself: the same call with the same result,
// or the same few calls in turn. A call whose result changes is not a loop: the model
// may be waiting for something.
type loopGuard struct {
	limit   int // 0 means 3, below 0 off
	history []loopEntry
	dropped int // entries no longer in history
	strikes int // loops met in a row
}

type loopEntry struct {
	tool   string
	params journal.Hash
	result journal.Hash // empty until it is known, and if there never was one
}

// verdict is the guard's decision about a call. The zero value lets it run; a
// reason alone is a warning.
type verdict struct {
	reason       string
	refuse, stop bool
}

// same reports whether b may repeat a.
func (a *loopEntry) same(b *loopEntry) bool {
	return a.tool == b.tool && a.params == b.params && (a.result == b.result || a.result == "" || b.result == "")
}

// next takes the next call and returns the decision about it, and its place in
// the history, to be passed to result later. Repetitions in a row are first
// warned about, then refused, then stop the run; any other call resets that.
func (g *loopGuard) next(name string, params journal.Hash) (verdict, int) {
	limit := g.limit
	if limit == 0 {
		limit = 3
	}
	if limit < 0 {
		return verdict{}, -1
	}
	if len(g.history) == 2*historyLen {
		g.dropped += historyLen
		g.history = append(g.history[:0], g.history[historyLen:]...)
	}
	g.history = append(g.history, loopEntry{tool: name, params: params})
	place := g.dropped + len(g.history) - 1
	for period := 1; period <= longestCycle; period++ {
		if n := g.repetitions(period); n >= limit {
			g.strikes++
			return g.judge(name, period, n), place
		}
	}
	g.strikes = 0
	return verdict{}, place
}

// repetitions counts how often the last period calls stand one after the other
// at the end of the history.
func (g *loopGuard) repetitions(period int) int {
	n := len(g.history)
	run := 0
	for i := n - 1; i >= period && g.history[i].same(&g.history[i-period]); i-- {
		run++
	}
	return run/period + 1
}

func (g *loopGuard) judge(name string, period, n int) verdict {
	v := verdict{refuse: g.strikes == 2, stop: g.strikes > 2}
	if period == 1 {
		v.reason = fmt.Sprintf("%s was called %d times in a row with the same arguments", name, n)
	} else {
		v.reason = fmt.Sprintf("the same %d calls were made %d times in turn", period, n)
	}
	return v
}

// result tells the guard what the call at place returned.
func (g *loopGuard) result(place int, hash journal.Hash) {
	if i := place - g.dropped; place >= 0 && i >= 0 {
		g.history[i].result = hash
	}
}
