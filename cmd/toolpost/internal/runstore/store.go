// Package runstore opens the record of runs and finds runs in it.
package runstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/journal"
)

// Store is a store that the commands can list and read.
type Store interface {
	journal.Store
	journal.Lister
	Lines(ctx context.Context, run string) iter.Seq2[[]byte, error]
}

// Name returns the name of the run store: --journal, or the journal of the settings.
func Name(cmd *cobra.Command) (string, error) {
	if f := cmd.Flag("journal"); f != nil && f.Value.String() != "" {
		return f.Value.String(), nil
	}
	s, err := settings.Load(cmd)
	if err != nil {
		return "", err
	}
	return s.Journal, nil
}

// Open opens the store of a command. It fails if the store does not exist, unless create is set. The caller calls
// done.
func Open(cmd *cobra.Command, create bool) (store Store, done func(), err error) {
	name, err := Name(cmd)
	if err != nil {
		return nil, nil, err
	}
	if err := settings.NoPassword(cmd, "journal", name, settings.StoreEnv); err != nil {
		return nil, nil, err
	}
	return OpenAt(name, create)
}

// OpenAt opens a store: a directory, sqlite:FILE or a PostgreSQL address.
func OpenAt(name string, create bool) (store Store, done func(), err error) {
	switch {
	case strings.HasPrefix(name, "sqlite:"):
		store, done, err = OpenSQLite(strings.TrimPrefix(name, "sqlite:"), create)
		return store, done, settings.NamingNewer(name, err)
	case settings.IsPostgres(name):
		store, done, err = openDatabase("pgx", name)
		return store, done, settings.NamingNewer(name, err)
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && !create {
		return nil, nil, fmt.Errorf("there are no runs: %s does not exist", name)
	}
	dir, err := journal.OpenDir(name)
	return dir, func() {}, err
}

func OpenSQLite(file string, create bool) (Store, func(), error) {
	if _, err := os.Stat(file); err != nil && !create {
		return nil, nil, fmt.Errorf("there are no runs: %w", err)
	}
	address, err := SQLiteAddress(file, "FULL", CommandBusy)
	if err != nil {
		return nil, nil, err
	}
	return openDatabase("sqlite", address)
}

// The busy timeouts of SQLite for a database that another program has locked. Commands wait long. A gateway waits
// briefly, because SQLite's wait ignores contexts; it retries for two seconds itself.
const (
	CommandBusy = 10 * time.Second
	ServedBusy  = 20 * time.Millisecond
)

// SQLiteAddress creates the file of a database if it does not exist, and returns its address. Commits with FULL survive
// a loss of power, commits with NORMAL only the death of the process.
func SQLiteAddress(file, synchronous string, busy time.Duration) (string, error) {
	// The file must be private from the start.
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	f.Close()
	address := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(),
		RawQuery: fmt.Sprintf("_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(%s)", busy.Milliseconds(), synchronous)}
	return address.String(), nil
}

func openDatabase(driver, address string) (Store, func(), error) {
	db, err := sql.Open(driver, address)
	if err != nil {
		return nil, nil, errors.New("the address of the database cannot be read") // the error may quote a password
	}
	store, err := journal.OpenSQL(db)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return store, func() { db.Close() }, nil
}

// Source is one run from a file or a store.
type Source struct {
	Name  string // of the run or of the file
	Run   string // the expected run; empty for a file, which may hold any run
	Lines func(context.Context) iter.Seq2[[]byte, error]
	Sig   string // the file of signatures; empty if the store does not keep them
}

// Entries yields the entries of the run as recorded. It drops a torn last line.
func (s Source) Entries(ctx context.Context) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for line, err := range s.Lines(ctx) {
			if err != nil {
				yield(journal.Entry{}, err)
				return
			}
			if !bytes.HasSuffix(line, []byte("\n")) {
				return
			}
			e, err := journal.ParseEntry(cli.TrimNewline(line))
			if newer := new(journal.FormatError); errors.As(err, &newer) {
				yield(e, newer)
				return
			}
			if err != nil {
				yield(e, fmt.Errorf("%s: %w (verify says more)", s.Name, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// FindTarget finds the target of a command: a run of the store, else a file or directory. It sets either src or path.
// The caller calls done.
func FindTarget(cmd *cobra.Command, target string) (src *Source, path string, done func(), err error) {
	_, missing := os.Stat(target)
	isPath := strings.ContainsAny(target, `/\`) || target == "." || target == ".."
	if isPath || journal.ValidRun(target) != nil {
		return nil, target, func() {}, missing
	}
	store, done, err := Open(cmd, false)
	if err == nil {
		var found Source
		if found, err = namedSource(cmd, store, target); err == nil {
			return &found, "", done, nil
		}
		done()
	}
	if missing == nil {
		return nil, target, func() {}, nil
	}
	return nil, "", nil, err
}

// Find finds the run of a command. The caller calls done.
func Find(cmd *cobra.Command, target string) (src Source, done func(), err error) {
	found, path, done, err := FindTarget(cmd, target)
	if err != nil {
		return src, nil, err
	}
	if found != nil {
		return *found, done, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return src, nil, cli.Usagef(cmd, "%s is a directory; name a run's file", path)
	}
	return FromFile(path), done, nil
}

// OpenRegular opens a file for reading. A pipe or a device is an error, because opening or reading it might block
// forever.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// FromFile returns the run in a file.
func FromFile(path string) Source {
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	return Source{Name: name, Sig: strings.TrimSuffix(path, ".jsonl") + ".sig", Lines: func(ctx context.Context) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			f, err := OpenRegular(path)
			if err != nil {
				yield(nil, err)
				return
			}
			defer f.Close()
			for line, err := range journal.Lines(f) {
				if err == nil {
					err = ctx.Err()
				}
				if !yield(line, err) || err != nil {
					return
				}
			}
		}
	}}
}

// FromStore returns a run of a store. The run may be empty.
func FromStore(store Store, run string) Source {
	src := Source{Name: run, Run: run, Lines: func(ctx context.Context) iter.Seq2[[]byte, error] { return store.Lines(ctx, run) }}
	if dir, ok := store.(*journal.Dir); ok {
		src.Sig = strings.TrimSuffix(dir.File(run), ".jsonl") + ".sig"
	}
	return src
}

// namedSource returns a run of a store by name. A run without entries is an error.
func namedSource(cmd *cobra.Command, store Store, run string) (Source, error) {
	run, err := Named(cmd.Context(), store, run)
	if err != nil {
		return Source{}, err
	}
	src := FromStore(store, run)
	for _, err := range src.Lines(cmd.Context()) {
		return src, err
	}
	name, _ := Name(cmd) // the store was opened by this name
	return src, fmt.Errorf("there is no run %s in %s", run, settings.RedactAddress(name))
}

// Listed is a run in a list.
type Listed struct {
	Run     string `json:"run"`
	State   string `json:"state"`
	Entries int64  `json:"entries"`
	Calls   int    `json:"calls"`
	Started string `json:"started,omitempty"`
	Model   string `json:"model,omitempty"`
	Task    string `json:"task,omitempty"`
	Team    string `json:"team,omitempty"`  // for a request to a gateway
	Route   string `json:"route,omitempty"` // for a request to a gateway
}

// TaskOf describes the task of a run with its team and route, if known.
func TaskOf(task, team, route string) string {
	var of []string
	for _, row := range []struct{ name, value string }{{"team", team}, {"route", route}} {
		if row.value != "" {
			of = append(of, row.name+" "+row.value)
		}
	}
	if len(of) == 0 {
		return task
	}
	return strings.Join(of, ", ") + ": " + task
}

// List reads a complete run and verifies it. Otherwise the list would report a broken run as sealed.
func List(cmd *cobra.Command, store Store, run string) Listed {
	l := Listed{Run: run}
	report, err := journal.VerifyLines(func(yield func([]byte, error) bool) {
		for line, err := range store.Lines(cmd.Context(), run) {
			if err == nil {
				l.add(line)
			}
			if !yield(line, err) {
				return
			}
		}
	})
	l.State, l.Entries = report.State(), report.Entries
	broken, newer := new(journal.BrokenError), new(journal.FormatError)
	switch {
	case errors.As(err, &newer):
		l.State = "newer"
	case err != nil && !errors.As(err, &broken):
		l.State = "unread"
	case report.Run != "" && report.Run != run:
		l.State = "broken" // the file holds another run
	}
	return l
}

func (l *Listed) add(line []byte) {
	e, err := journal.ParseEntry(cli.TrimNewline(line))
	if err != nil {
		return
	}
	if l.Started == "" {
		l.Started = e.At.Format("2006-01-02 15:04:05")
	}
	switch e.Kind {
	case journal.KindStart:
		var s journal.Start
		if e.Decode(&s) == nil {
			l.Task, l.Model, l.Team, l.Route = s.Task, s.Model, s.Team, s.Route
		}
	case journal.KindReceipt, journal.KindRefusal:
		l.Calls++
	}
}

// Latest is the id of the newest run of a store, unless a run has this name.
const Latest = "latest"

// datedRun is a run with its start time.
type datedRun struct {
	Run   string
	began time.Time
}

// NewestFirst returns the runs of a store, the newest first. If the first entry of a run cannot be read, the time in
// its id is used.
func NewestFirst(ctx context.Context, store Store) ([]datedRun, error) {
	var all []datedRun
	for run, err := range store.Runs(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, datedRun{run, beganAt(ctx, store, run)})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b datedRun) int { return cmp.Or(b.began.Compare(a.began), strings.Compare(b.Run, a.Run)) })
	return all, nil
}

func beganAt(ctx context.Context, store Store, run string) time.Time {
	for line, err := range store.Lines(ctx, run) {
		if e, bad := journal.ParseEntry(cli.TrimNewline(line)); err == nil && bad == nil {
			return e.At
		}
		break
	}
	const form = "20060102-150405"
	at, _ := time.Parse(form, run[:min(len(form), len(run))])
	return at
}

// Named returns the id of a run that may be named "latest".
func Named(ctx context.Context, store Store, name string) (string, error) {
	if name != Latest {
		return name, nil
	}
	for range store.Lines(ctx, Latest) {
		return Latest, nil
	}
	runs, err := NewestFirst(ctx, store)
	if err == nil && len(runs) == 0 {
		err = errors.New("there are no runs yet, so none is the latest")
	}
	if err != nil {
		return "", err
	}
	return runs[0].Run, nil
}

// NamedIn is [Named] for the store at an address.
func NamedIn(ctx context.Context, journal, name string) (string, error) {
	if name != Latest {
		return name, nil
	}
	store, done, err := OpenAt(journal, false)
	if err != nil {
		return "", err
	}
	defer done()
	return Named(ctx, store, name)
}
