package access

import "github.com/toolpost/toolpost/catalog"

// Share is what one upstream used of a request for which several were asked, as when the filter of the first took its answer away and
// the next one answered: each charges for its own.
type Share struct {
	Upstream            string
	Input, Output       int64
	Money               catalog.Money
	Unpriced, Estimated bool
}

// one counts what is so.
func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// usageOf is the usage of one request.
func usageOf(e *LogLine) Spend {
	return Spend{Team: e.Team, Key: e.Key, Route: e.Route, Model: e.Model, Upstream: e.Upstream, Day: e.day(), Requests: 1, Input: e.Input, Output: e.Output, Money: e.Money,
		Failed: one(e.Status != "ok"), Cached: one(e.Cached), Unpriced: one(e.Unpriced), Estimated: one(e.Estimated)}
}

// usagesOf is the usage of one request by upstream. The request itself counts with the one that answered, so that sums of
// requests are right however they are told; others have what they used alone.
func usagesOf(e *LogLine) []Spend {
	answered := usageOf(e)
	if len(e.Shares) == 0 {
		return []Spend{answered}
	}
	answered.Input, answered.Output, answered.Money, answered.Unpriced, answered.Estimated = 0, 0, 0, 0, 0
	list := []Spend{answered}
	for _, s := range e.Shares {
		u := Spend{Team: e.Team, Key: e.Key, Route: e.Route, Model: e.Model, Upstream: s.Upstream, Day: e.day(), Input: s.Input, Output: s.Output, Money: s.Money,
			Unpriced: one(s.Unpriced), Estimated: one(s.Estimated)}
		if s.Upstream == e.Upstream {
			list[0] = list[0].plus(u, list[0].common(Groupings))
		} else {
			list = append(list, u)
		}
	}
	return list
}
