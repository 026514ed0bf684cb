package access

import (
	"context"
	"errors"
	"time"

	"github.com/toolpost/toolpost/catalog"
)

// Row is a key or a team as a store holds it.
type Row struct {
	Kind, ID string
	Rev      int64 // counts how often it was written
	Doc      []byte
}

// The kinds of records.
const (
	keyRecord  = "key"
	teamRecord = "team"
)

// ErrConflict is why a record is not written: somebody else has written it since it was read.
var ErrConflict = errors.New("access: somebody else has changed it")

// Hold is what is reserved for a request that runs.
type Hold struct {
	Request string
	// Again says that the request was admitted before: it is not counted again, and this takes the place of what was reserved then.
	Again  bool
	Scopes []string
	Reservation
	// Until is when it ends by itself, if the gateway that made it has died.
	Until time.Time
}

// counts is what the request adds to its windows when it is admitted.
func (h Hold) counts() Count {
	if h.Again {
		return Count{}
	}
	return Count{Requests: 1}
}

// Reservation is what requests may still use, in tokens and money.
type Reservation struct {
	Most  Count // at most
	Usual Count // by the usual length of answers, where a request does not say how long one may be
}

// of is what a limit counts: one per minute only says how much is begun, and waits for no answer that is longer than most.
func (r Reservation) of(p Period) Count {
	if p == Minute {
		return r.Usual
	}
	return r.Most
}

// plus adds.
func (r Reservation) plus(s Reservation) Reservation {
	return Reservation{r.Most.plus(s.Most), r.Usual.plus(s.Usual)}
}

// LogLine is what is known of a request once it is over. It is a line of the log.
type LogLine struct {
	ID       string        `json:"id"`
	At       time.Time     `json:"at"`
	Team     string        `json:"team"`
	Key      string        `json:"key"`
	Route    string        `json:"route"`    // as the configuration names it
	Model    string        `json:"model"`    // as the client asked for it
	Upstream string        `json:"upstream"` // the id of the model that answered
	Format   string        `json:"format"`
	Status   string        `json:"status"` // "ok", or the kind of error
	Input    int64         `json:"input"`
	Output   int64         `json:"output"`
	Money    catalog.Money `json:"-"` // as usd
	// Cached says that the answer was given before: nobody was asked, and nothing was used.
	Cached bool `json:"cached,omitempty"`
	// Unpriced says that the price is not known, so Money is too little.
	Unpriced bool `json:"unpriced,omitempty"`
	// Estimated says that nobody said how many tokens it were.
	Estimated bool          `json:"estimated,omitempty"`
	Took      time.Duration `json:"-"` // as seconds
	// Shares are what each of several upstreams used: together, what the line says. Without any, all of it is Upstream's. They count
	// in the sums; the log does not keep them.
	Shares []Share `json:"-"`
}

func (e *LogLine) count() Count { return Count{Tokens: add(e.Input, e.Output), Money: int64(e.Money)} }

func (e *LogLine) day() string { return e.At.UTC().Format(time.DateOnly) }

// Spend is what some requests used together.
type Spend struct {
	// Team, Key, Route, Model, Upstream and Day are what they have in common; others are empty.
	Team      string        `json:"team,omitempty"`
	Key       string        `json:"key,omitempty"`
	Route     string        `json:"route,omitempty"`
	Model     string        `json:"model,omitempty"`
	Upstream  string        `json:"upstream,omitempty"`
	Day       string        `json:"day,omitempty"`
	Requests  int64         `json:"requests"`
	Failed    int64         `json:"failed"`  // of the requests
	Cached    int64         `json:"cached"`  // of the requests: answers that were given before
	Refused   int64         `json:"refused"` // beside the requests: a limit or a bound of the key
	Input     int64         `json:"input"`
	Output    int64         `json:"output"`
	Money     catalog.Money `json:"-"`         // as usd
	Unpriced  int64         `json:"unpriced"`  // requests without a price, by each upstream that was asked
	Estimated int64         `json:"estimated"` // requests whose tokens nobody counted, by each upstream that was asked
}

// Grouping is what usage is told by. The order of the result is theirs.
type Grouping string

// The groupings.
const (
	ByTeam     Grouping = "team"
	ByKey      Grouping = "key"
	ByRoute    Grouping = "route"
	ByModel    Grouping = "model"
	ByUpstream Grouping = "upstream"
	ByDay      Grouping = "day"
)

// Store holds keys, teams, counts and the log. All methods are safe for concurrent use, and
// what they have written survives the process. Books of several gateways may share one.
type Store interface {
	// Get returns a record; one of revision 0 is not there.
	Get(ctx context.Context, kind, id string) (Row, error)
	// List returns all records of a kind, by id.
	List(ctx context.Context, kind string) ([]Row, error)
	// Put writes a record that was read at r.Rev, or [ErrConflict].
	Put(ctx context.Context, r Row) error
	// Admit counts a request in its windows, unless it was admitted before, and reserves h, if check allows it: it is told what was
	// used in each window, with this request, and what others have reserved in each scope. No
	// other request of the scopes is checked in between. An error of check is returned as it is, and then
	// nothing is counted.
	Admit(ctx context.Context, now time.Time, h Hold, windows []Window, check func(used map[Window]Count, held map[string]Reservation) error) error
	// Settle ends the reservation of a request, adds what it used to its windows and
	// writes it to the log. Doing so twice is doing it once.
	Settle(ctx context.Context, e LogLine, windows []Window) error
	// Add adds what is neither in the log nor counted in windows to the sums of a day.
	Add(ctx context.Context, u Spend) error
	// Usage sums up the requests that are picked, since a day, in order.
	Usage(ctx context.Context, only Filter, since string, by []Grouping) ([]Spend, error)
	// Log returns the latest requests that are picked, the newest first.
	Log(ctx context.Context, only Filter, most int) ([]LogLine, error)
	// KeepBodies puts bodies beside the log. Doing so twice is doing it once.
	KeepBodies(ctx context.Context, v Bodies) error
	// Bodies returns those of a request; ones without an ID are not there.
	Bodies(ctx context.Context, id string) (Bodies, error)
	// Clean forgets the log and bodies before a time, and counts and reservations that are over at now.
	Clean(ctx context.Context, now, before time.Time) error
}
