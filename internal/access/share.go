package access

import "github.com/toolpost/toolpost/catalog"

// Share is the usage of one upstream in a request that used several, such as when the filter of the first blocked its
// answer and the next one answered. Each upstream charges for its own usage.
type Share struct {
	Upstream            string
	Input, Output       int64
	Money               catalog.Money
	Unpriced, Estimated bool
}

// one returns 1 if is is true, otherwise 0.
func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// usageOf returns the usage of one request.
func usageOf(e *LogLine) Spend {
	return Spend{Team: e.Team, Key: e.Key, Route: e.Route, Model: e.Model, Upstream: e.Upstream, User: e.User, Tag: e.Tag, Day: e.day(), Requests: 1, Input: e.Input, Output: e.Output, Money: e.Money,
		Failed: one(e.Status != "ok"), Cached: one(e.Cached), Unpriced: one(e.Unpriced), Estimated: one(e.Estimated)}
}

// usagesOf returns the usage of one request by upstream. The upstream that answered counts the request, so request
// counts are right in every grouping. The others count only tokens and money.
func usagesOf(e *LogLine) []Spend {
	answered := usageOf(e)
	if len(e.Shares) == 0 {
		return []Spend{answered}
	}
	answered.Input, answered.Output, answered.Money, answered.Unpriced, answered.Estimated = 0, 0, 0, 0, 0
	list := []Spend{answered}
	for _, s := range e.Shares {
		u := Spend{Team: e.Team, Key: e.Key, Route: e.Route, Model: e.Model, Upstream: s.Upstream, User: e.User, Tag: e.Tag, Day: e.day(), Input: s.Input, Output: s.Output, Money: s.Money,
			Unpriced: one(s.Unpriced), Estimated: one(s.Estimated)}
		if s.Upstream == e.Upstream {
			list[0] = list[0].plus(u, list[0].common(Groupings))
		} else {
			list = append(list, u)
		}
	}
	return list
}
