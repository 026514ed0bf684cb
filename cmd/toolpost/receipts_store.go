package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/tables"
	"github.com/toolpost/toolpost/journal"
)

// runStore is a store that the commands can list and read.
type runStore interface {
	journal.Store
	journal.Lister
	Lines(ctx context.Context, run string) iter.Seq2[[]byte, error]
}

// storeName returns the name of the run store: --journal, or the journal of the settings.
func storeName(cmd *cobra.Command) (string, error) {
	if f := cmd.Flag("journal"); f != nil && f.Value.String() != "" {
		return f.Value.String(), nil
	}
	s, err := loadSettings(cmd)
	if err != nil {
		return "", err
	}
	return s.Journal, nil
}

// stateDir returns the directory for persistent data other than configuration, such as the history of chat and the
// records of runs.
func stateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolpost")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "toolpost")
	}
	return ".toolpost"
}

// openStore opens the store of a command. It fails if the store does not exist, unless create is set. The caller calls
// done.
func openStore(cmd *cobra.Command, create bool) (store runStore, done func(), err error) {
	name, err := storeName(cmd)
	if err != nil {
		return nil, nil, err
	}
	if f := cmd.Flag("journal"); f != nil && f.Changed && isPostgres(name) && hasPassword(name) {
		return nil, nil, cli.Usagef(cmd, "%s", passwordShown)
	}
	return openStoreAt(name, create)
}

// passwordShown is the error for an address with a password in a flag.
const passwordShown = "a password on the command line is seen by everybody on this machine; put the address in TOOLPOST_STORE or the password in PGPASSWORD"

func isPostgres(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// openStoreAt opens a store: a directory, sqlite:FILE or a PostgreSQL address.
func openStoreAt(name string, create bool) (store runStore, done func(), err error) {
	switch {
	case strings.HasPrefix(name, "sqlite:"):
		store, done, err = openSQLite(strings.TrimPrefix(name, "sqlite:"), create)
		return store, done, namingNewer(name, err)
	case isPostgres(name):
		store, done, err = openDatabase("pgx", name)
		return store, done, namingNewer(name, err)
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && !create {
		return nil, nil, fmt.Errorf("there are no runs: %s does not exist", name)
	}
	dir, err := journal.OpenDir(name)
	return dir, func() {}, err
}

// namingNewer adds the name of the database to an error about tables of a newer version.
func namingNewer(name string, err error) error {
	var schema *journal.SchemaError
	var newer *tables.NewerError
	switch {
	case errors.As(err, &schema):
		newer = &tables.NewerError{Version: schema.Version, Known: schema.Known}
	case !errors.As(err, &newer):
		return err
	}
	if isPostgres(name) {
		name = databaseOf(name)
	}
	return &redactedError{name + ": " + newer.Error(), err}
}

// databaseOf returns the host and the name of a PostgreSQL database, without a password.
func databaseOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the database"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func hasPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Query().Has("password") {
		return true
	}
	_, has := u.User.Password()
	return has
}

func openSQLite(file string, create bool) (runStore, func(), error) {
	if _, err := os.Stat(file); err != nil && !create {
		return nil, nil, fmt.Errorf("there are no runs: %w", err)
	}
	address, err := sqliteAddress(file, "FULL", commandBusy)
	if err != nil {
		return nil, nil, err
	}
	return openDatabase("sqlite", address)
}

// The busy timeouts of SQLite for a database that another program has locked. Commands wait long. A gateway waits
// briefly, because SQLite's wait ignores contexts; it retries for two seconds itself.
const (
	commandBusy = 10 * time.Second
	servedBusy  = 20 * time.Millisecond
)

// sqliteAddress creates the file of a database if it does not exist, and returns its address. Commits with FULL survive
// a loss of power, commits with NORMAL only the death of the process.
func sqliteAddress(file, synchronous string, busy time.Duration) (string, error) {
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

func openDatabase(driver, address string) (runStore, func(), error) {
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

// runSource is one run from a file or a store.
type runSource struct {
	name  string // of the run or of the file
	run   string // the expected run; empty for a file, which may hold any run
	lines func(context.Context) iter.Seq2[[]byte, error]
	sig   string // the file of signatures; empty if the store has no place for one
}

// entries yields the entries of the run as recorded. It drops a torn last line.
func (s runSource) entries(ctx context.Context) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for line, err := range s.lines(ctx) {
			if err != nil {
				yield(journal.Entry{}, err)
				return
			}
			if !bytes.HasSuffix(line, []byte("\n")) {
				return
			}
			e, err := journal.ParseEntry(trimNewline(line))
			if newer := new(journal.FormatError); errors.As(err, &newer) {
				yield(e, newer)
				return
			}
			if err != nil {
				yield(e, fmt.Errorf("%s: %w (verify says more)", s.name, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// trimNewline removes only the newline of a line, because every other byte counts.
func trimNewline(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\n")) }

// findTarget finds the target of a command: a run of the store, else a file or directory. It sets either src or path.
// The caller calls done.
func findTarget(cmd *cobra.Command, target string) (src *runSource, path string, done func(), err error) {
	_, missing := os.Stat(target)
	isPath := strings.ContainsAny(target, `/\`) || target == "." || target == ".."
	if isPath || journal.ValidRun(target) != nil {
		return nil, target, func() {}, missing
	}
	store, done, err := openStore(cmd, false)
	if err == nil {
		var found runSource
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

// findRun finds the run of a command. The caller calls done.
func findRun(cmd *cobra.Command, target string) (src runSource, done func(), err error) {
	found, path, done, err := findTarget(cmd, target)
	if err != nil {
		return src, nil, err
	}
	if found != nil {
		return *found, done, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return src, nil, cli.Usagef(cmd, "%s is a directory; name a run's file", path)
	}
	return fileSource(path), done, nil
}

// openRegular opens a file for reading. A pipe or a device is an error, because opening or reading it might block
// forever.
func openRegular(path string) (*os.File, error) {
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

// fileSource returns the run in a file.
func fileSource(path string) runSource {
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	return runSource{name: name, sig: strings.TrimSuffix(path, ".jsonl") + ".sig", lines: func(ctx context.Context) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			f, err := openRegular(path)
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

// storeSource returns a run of a store. The run may be empty.
func storeSource(store runStore, run string) runSource {
	src := runSource{name: run, run: run, lines: func(ctx context.Context) iter.Seq2[[]byte, error] { return store.Lines(ctx, run) }}
	if dir, ok := store.(*journal.Dir); ok {
		src.sig = strings.TrimSuffix(dir.File(run), ".jsonl") + ".sig"
	}
	return src
}

// namedSource returns a run of a store by name. A run without entries is an error.
func namedSource(cmd *cobra.Command, store runStore, run string) (runSource, error) {
	run, err := runNamed(cmd.Context(), store, run)
	if err != nil {
		return runSource{}, err
	}
	src := storeSource(store, run)
	for _, err := range src.lines(cmd.Context()) {
		return src, err
	}
	name, _ := storeName(cmd) // the store was opened by this name
	return src, fmt.Errorf("there is no run %s in %s", run, redactAddress(name))
}

// redactAddress redacts the password in an address.
func redactAddress(name string) string {
	if u, err := url.Parse(name); err == nil && u.User != nil {
		return u.Redacted()
	}
	return name
}
