package access

import (
	"context"
	"errors"
	"time"

	"github.com/toolpost/toolpost/catalog"
)

// Row is a stored record, such as a key or a team.
type Row struct {
	Kind, ID string
	Rev      int64 // the number of writes
	Doc      []byte
}

// The kinds of records.
const (
	keyRecord  = "key"
	teamRecord = "team"
)

// ErrConflict reports that another writer changed the record after it was read.
var ErrConflict = errors.New("access: somebody else has changed it")

// Hold is the reservation of a running request.
type Hold struct {
	Request string
	// Again reports that the request was admitted before. It is not counted again, and this reservation replaces the
	// earlier one.
	Again  bool
	Scopes []string
	Reservation
	// Until is when the reservation expires if the gateway that made it dies.
	Until time.Time
}

// counts returns what the request adds to its windows when it is admitted.
func (h Hold) counts() Count {
	if h.Again {
		return Count{}
	}
	return Count{Requests: 1}
}

// Reservation is the amount of tokens and money that requests may still use.
type Reservation struct {
	Most  Count // at most
	Usual Count // with answers of usual length, where a request does not limit the length
}

// of returns the part of the reservation that a limit counts. Limits per minute count the usual length of answers.
func (r Reservation) of(p Period) Count {
	if p == Minute {
		return r.Usual
	}
	return r.Most
}

func (r Reservation) plus(s Reservation) Reservation {
	return Reservation{r.Most.plus(s.Most), r.Usual.plus(s.Usual)}
}

// LogLine is the log line of a finished request.
type LogLine struct {
	ID       string        `json:"id"`
	At       time.Time     `json:"at"`
	Team     string        `json:"team"`
	Key      string        `json:"key"`
	Route    string        `json:"route"`    // name in the configuration
	Model    string        `json:"model"`    // name that the client asked for
	Upstream string        `json:"upstream"` // the id of the model that answered
	Format   string        `json:"format"`
	Status   string        `json:"status"`         // "ok", or the kind of error
	User     string        `json:"user,omitempty"` // end user that the client named
	Tag      string        `json:"tag,omitempty"`  // what the client booked the request to
	Input    int64         `json:"input"`
	Output   int64         `json:"output"`
	Money    catalog.Money `json:"-"` // encoded as usd
	// Cached reports that the answer came from the cache: no upstream was asked and nothing was used.
	Cached bool `json:"cached,omitempty"`
	// Unpriced reports that the price is unknown, so Money is too low.
	Unpriced bool `json:"unpriced,omitempty"`
	// Estimated reports that the tokens were estimated because the upstream did not report them.
	Estimated bool          `json:"estimated,omitempty"`
	Took      time.Duration `json:"-"` // encoded as seconds
	// Attempts are the upstreams that were asked, in order. A request that the first upstream answered has none.
	Attempts []UpstreamAttempt `json:"attempts,omitempty"`
	// Shares are the parts of each of several upstreams; they add up to the totals of the line. If empty, all usage is
	// Upstream's. Shares count in the sums, but are not stored in the log.
	Shares []Share `json:"-"`
}

// UpstreamAttempt is one upstream that was asked for an answer.
type UpstreamAttempt struct {
	Upstream string  `json:"upstream"`
	Kind     string  `json:"kind"`             // "ok", or the kind of error
	Status   int     `json:"status,omitempty"` // HTTP status of the upstream, if it sent one
	Error    string  `json:"error,omitempty"`  // without keys
	Seconds  float64 `json:"seconds"`
}

func (e *LogLine) count() Count { return Count{Tokens: add(e.Input, e.Output), Money: int64(e.Money)} }

func (e *LogLine) day() string { return e.At.UTC().Format(time.DateOnly) }

// Spend is the total usage of a group of requests.
type Spend struct {
	// Team, Key, Route, Model, Upstream, User, Tag and Day are the values of the group. Fields outside the grouping are empty.
	Team      string        `json:"team,omitempty"`
	Key       string        `json:"key,omitempty"`
	Route     string        `json:"route,omitempty"`
	Model     string        `json:"model,omitempty"`
	Upstream  string        `json:"upstream,omitempty"`
	User      string        `json:"user,omitempty"`
	Tag       string        `json:"tag,omitempty"`
	Day       string        `json:"day,omitempty"`
	Requests  int64         `json:"requests"`
	Failed    int64         `json:"failed"`  // of the requests
	Cached    int64         `json:"cached"`  // of the requests: answered from the cache
	Refused   int64         `json:"refused"` // not counted in requests: refused because of a limit or the key
	Input     int64         `json:"input"`
	Output    int64         `json:"output"`
	Money     catalog.Money `json:"-"`         // encoded as usd
	Unpriced  int64         `json:"unpriced"`  // requests without a known price, counted for each upstream that was asked
	Estimated int64         `json:"estimated"` // requests with estimated tokens, counted for each upstream that was asked
}

// Grouping is a column that usage is grouped by. Results are sorted by the groupings in the given order.
type Grouping string

// The groupings.
const (
	ByTeam     Grouping = "team"
	ByKey      Grouping = "key"
	ByRoute    Grouping = "route"
	ByModel    Grouping = "model"
	ByUpstream Grouping = "upstream"
	ByUser     Grouping = "user"
	ByTag      Grouping = "tag"
	ByDay      Grouping = "day"
)

// Store holds keys, teams, counts and the log. All methods are safe for concurrent use. Written data survives the
// process, except in [Memory]. Books of several gateways may share a store.
type Store interface {
	// Get returns a record. A missing record has revision 0.
	Get(ctx context.Context, kind, id string) (Row, error)
	// List returns all records of a kind, by id.
	List(ctx context.Context, kind string) ([]Row, error)
	// Put writes a record that was read at r.Rev, or returns [ErrConflict].
	Put(ctx context.Context, r Row) error
	// Admit counts a request in its windows, unless it was admitted before, and reserves h if check returns nil. The
	// arguments of check are the usage in each window, including this request, and the reservations of others in each
	// scope. No other request of the scopes is checked in between. An error of check is returned unchanged, and nothing
	// is counted then.
	Admit(ctx context.Context, now time.Time, h Hold, windows []Window, check func(used map[Window]Count, held map[string]Reservation) error) error
	// Extend changes when the reservations of running requests expire.
	Extend(ctx context.Context, requests []string, until time.Time) error
	// Settle ends the reservation of a request, adds its usage to its windows and writes its log line. It returns the
	// usage in each window then. It is idempotent: for a request that is settled it returns no usage.
	Settle(ctx context.Context, e LogLine, windows []Window) (used map[Window]Count, err error)
	// Add adds usage to the sums of a day that is neither in the log nor counted in windows.
	Add(ctx context.Context, u Spend) error
	// Usage sums up the selected requests since a day, sorted by the groupings.
	Usage(ctx context.Context, only Filter, since string, by []Grouping) ([]Spend, error)
	// Log returns the latest selected requests, newest first.
	Log(ctx context.Context, q LogQuery) ([]LogLine, error)
	// KeepBodies stores bodies. It is idempotent.
	KeepBodies(ctx context.Context, v Bodies) error
	// Bodies returns the bodies of a request. The ID of missing bodies is empty.
	Bodies(ctx context.Context, id string) (Bodies, error)
	// Erase deletes what is named, in one transaction.
	Erase(ctx context.Context, e Erasure) error
	// Clean deletes log lines and bodies before a time, and counts and reservations that have ended at now.
	Clean(ctx context.Context, now, before time.Time) error
}
