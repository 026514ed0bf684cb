package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Leaser is a Store in which a run has at most one owner at a time, in all processes
// that share the medium. Only the owner adds to a run that has one.
//
// A Leaser also refuses a second [Intent] for a call with [ErrTwice], from any writer,
// unless a person granted another attempt: for each intent after the first, the run
// must contain an [Approval] with the scope [ScopeRepeat].
type Leaser interface {
	// Lease makes the caller the owner of a run, which need not exist yet. If the run
	// has an owner, it returns a *[HeldError] at once, also if that owner is the same
	// process or has been stopped. The lease of an owner ends when its process dies.
	//
	// The owner puts the lease's Token into every Entry it appends. Append refuses an
	// entry with the token of a lease that has ended, with [ErrLeaseLost], and an
	// entry without a token for a run that has an owner, with a *HeldError.
	Lease(ctx context.Context, run string) (Lease, error)

	// Release ends a lease. Ending it twice is not an error. A run that waits for an
	// external event gives up its lease this way. The process that continues it takes
	// a new one.
	Release(ctx context.Context, l Lease) error
}

// Lease is the ownership of a run.
type Lease struct {
	Run   string
	Token string // unlike that of every other lease
	Owner Owner
}

// Owner says who owns a run.
type Owner struct {
	Process int       `json:"process"` // its id
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
}

// String names the process and the host.
func (o Owner) String() string {
	if o.Process == 0 {
		return someProcess
	}
	s := fmt.Sprintf("process %d on %s", o.Process, o.Host)
	if !o.Since.IsZero() {
		s += " since " + o.Since.UTC().Format("2006-01-02 15:04:05 MST")
	}
	return s
}

// newLease returns a lease of this process.
func newLease(run string) Lease {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "an unnamed host"
	}
	return Lease{Run: run, Token: randomText(24), Owner: Owner{Process: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)}}
}

// HeldError reports that a run has an owner, which has not ended.
type HeldError struct {
	Run   string
	Owner Owner
}

// Error names the owner and the remedy.
func (e *HeldError) Error() string {
	return fmt.Sprintf("journal: run %s is owned by %s, which has not ended; wait for that process, or end it", e.Run, e.Owner)
}

// ErrLeaseLost is the error of writing with a lease that has ended: it was
// released, or the store could no longer tell that its owner was alive and
// somebody else took the run.
var ErrLeaseLost = errors.New("journal: the lease of the run has ended, and somebody else may own it")

// ErrNoLease is the error of continuing a run in a store that is not a
// [Leaser]: whether another process is at work on it cannot be known. See
// [Unleased].
var ErrNoLease = errors.New("journal: the store has no leases, so somebody else may be at work on the run")

// leaseLost is ErrLeaseLost with the name of the run.
func leaseLost(run string) error { return fmt.Errorf("%w: %s", ErrLeaseLost, run) }

// Unleased returns a store whose runs [Open] continues although s has no leases. The
// caller must make sure that no other process works on them: two processes that
// continue one run perform its effects twice.
func Unleased(s Store) Store { return unleased{s} }

type unleased struct{ Store }

func (unleased) Lease(_ context.Context, run string) (Lease, error) { return Lease{Run: run}, nil }
func (unleased) Release(context.Context, Lease) error               { return nil }

// acquire takes the lease of a run if the store has leases.
func acquire(ctx context.Context, store Store, run string) (l Lease, leased bool, err error) {
	s, ok := store.(Leaser)
	if !ok {
		return Lease{}, false, nil
	}
	l, err = s.Lease(ctx, run)
	return l, err == nil, err
}

// release ends a lease, whatever happened to ctx.
func release(ctx context.Context, store Store, l Lease) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return store.(Leaser).Release(ctx, l)
}

// appendOwned appends an entry without a token to a run that had an owner: as
// its owner for that one entry, if the run has no other one.
func appendOwned(ctx context.Context, s Leaser, e Entry, add func(Entry) (Entry, error)) (Entry, error) {
	l, err := s.Lease(ctx, e.Run)
	if err != nil {
		return Entry{}, err
	}
	e.Lease = l.Token
	written, err := add(e)
	if rerr := s.Release(context.WithoutCancel(ctx), l); err == nil {
		err = rerr
	}
	return written, err
}

// someProcess is the holder of a lock that the system does not name.
const someProcess = "another process"

// patience bounds how long a database may take for an entry: a receipt is written
// without regard to cancellation, and must not wait for ever.
const patience = 30 * time.Second
