package access

import (
	"encoding/json"
	"fmt"
	"time"
)

// Alert reports that a key or a team has used a part of one of its limits.
type Alert struct {
	At      time.Time
	Team    string
	Key     string // id of the key; "" if the limit is the team's
	Limit   Quota
	Percent int // the part of the limit, one of Book.AlertAt
	Used    int64
	Resets  time.Time // end of the period; zero if never
}

// String returns a sentence for people.
func (a Alert) String() string {
	whose := "The team " + a.Team
	if a.Key != "" {
		whose = fmt.Sprintf("The key %s of team %s", a.Key, a.Team)
	}
	text := fmt.Sprintf("%s has used %d %% of its limit %s: %s", whose, a.Percent, a.Limit, a.Limit.Unit.amount(a.Used))
	if !a.Resets.IsZero() {
		text += ". The period ends " + a.Resets.Format(time.RFC3339)
	}
	return text + "."
}

// MarshalJSON returns the alert with its sentence as "text", which chat services show.
func (a Alert) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Text    string    `json:"text"`
		Event   string    `json:"event"`
		At      time.Time `json:"at"`
		Team    string    `json:"team"`
		Key     string    `json:"key,omitempty"`
		Limit   Quota     `json:"limit"`
		Percent int       `json:"percent"`
		Used    string    `json:"used"`
		Resets  time.Time `json:"resets,omitzero"`
	}{a.String(), "budget", a.At, a.Team, a.Key, a.Limit, a.Percent, a.Limit.Unit.amount(a.Used), a.Resets})
}

// report calls b.Alert for each limit of which a request has used up another part. The argument used is the usage with
// what the request added. Of the parts that it used up at once, the largest is reported. No part is reported twice in a
// period, because the store adds the requests of all gateways one after another.
func (b *Book) report(g *Rights, at time.Time, added Count, used map[Window]Count) {
	if b.Alert == nil || len(used) == 0 {
		return
	}
	g.limits(func(scope string, l Quota) bool {
		after := used[Window{scope, l.Per, l.Per.begin(at).Unix()}].of(l.Unit)
		a := Alert{At: b.now(), Team: g.Key.Team, Limit: l, Used: after, Resets: l.Per.end(at)}
		for _, percent := range b.AlertAt {
			if part := l.part(percent); after-added.of(l.Unit) < part && part <= after {
				a.Percent = max(a.Percent, percent)
			}
		}
		if l.Per == Minute || a.Percent == 0 {
			return true
		}
		if scope == scopes(&g.Key)[0] {
			a.Key = g.Key.ID
		}
		b.Alert(a)
		return true
	})
}

// part returns a part of the limit, rounded up.
func (l Quota) part(percent int) int64 {
	p := int64(percent)
	return l.Most/100*p + (l.Most%100*p+99)/100
}
