package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A lease in a database has two halves. A holder shows that its owner is alive: it
// ends with the owner's process. A row names the owner: an entry is inserted only
// while the row contains the token of its writer. An owner that the database has lost
// sight of, and whose run was taken over, therefore writes no more entries.
const (
	insertOwned = `INSERT INTO toolpost_journal (run, seq, line)
	SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT) FROM toolpost_lease WHERE run = $1 AND token = $4`
	insertLine = `INSERT INTO toolpost_journal (run, seq, line)
	SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT) WHERE NOT EXISTS (SELECT 1 FROM toolpost_lease WHERE run = $1)`
	unlessThere = ` ON CONFLICT (run, seq) DO NOTHING`

	insertLease = `INSERT INTO toolpost_lease (run, token, process, host, since) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (run) DO UPDATE SET token = excluded.token, process = excluded.process, host = excluded.host, since = excluded.since`
	selectLease = `SELECT token, process, host, since FROM toolpost_lease WHERE run = $1`
	deleteLease = `DELETE FROM toolpost_lease WHERE run = $1 AND token = $2`
)

// holder knows which owners of runs are alive.
type holder interface {
	// hold takes hold of a run until drop is called for the same lease or the
	// process ends. If somebody has it, the error is a *HeldError, which may not
	// know whom.
	hold(ctx context.Context, l Lease) error
	drop(ctx context.Context, l Lease) error
	// lock is added to insertOwned: the row is not changed before the entry is
	// there.
	lock() string
}

// holder returns that of the database, by what it understands.
func (s *SQL) holder(ctx context.Context) (holder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds != nil {
		return s.holds, nil
	}
	var version string
	if s.db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version) == nil {
		file, err := sqliteFile(ctx, s.db)
		if err != nil {
			return nil, err
		}
		s.holds = &fileHolder{dir: file, held: make(map[string]*ownerFile)}
		return s.holds, nil
	}
	var schema sql.NullString
	if err := s.db.QueryRowContext(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	s.holds = &advisory{db: s.db, schema: schema.String, held: make(map[string]string)}
	return s.holds, nil
}

// sqliteFile returns the directory for the owner files, next to the database, or ""
// for a database in memory.
func sqliteFile(ctx context.Context, db *sql.DB) (string, error) {
	var n int
	var name, file string
	err := db.QueryRowContext(ctx, `SELECT seq, name, file FROM pragma_database_list WHERE name = 'main'`).Scan(&n, &name, &file)
	switch {
	case err != nil:
		return "", fmt.Errorf("journal: %w", err)
	case file == "":
		return "", nil
	}
	return file + "-owners", nil
}

// fileHolder holds runs of a SQLite database, which is a file of this machine, with
// files next to it.
type fileHolder struct {
	dir  string // "" if the database is in the memory of this process
	mu   sync.Mutex
	held map[string]*ownerFile
}

func (h *fileHolder) lock() string { return "" } // a statement that writes is alone

func (h *fileHolder) hold(_ context.Context, l Lease) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dir == "" {
		if o, held := h.held[l.Run]; held {
			return &HeldError{l.Run, o.lease.Owner}
		}
		h.held[l.Run] = &ownerFile{lease: l}
		return nil
	}
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	o, err := holdFile(filepath.Join(h.dir, l.Run+ownerExtension), l)
	if err != nil {
		return err
	}
	h.held[l.Run] = o
	return nil
}

func (h *fileHolder) drop(_ context.Context, l Lease) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.held[l.Run]
	if o == nil || o.lease.Token != l.Token {
		return nil
	}
	delete(h.held, l.Run)
	if o.file == nil {
		return nil
	}
	return o.end()
}

// advisory holds runs in PostgreSQL, by advisory locks of one session that is
// kept for them: the server ends them when the connection ends, which the death
// of the process does and its being stopped does not.
type advisory struct {
	db     *sql.DB
	schema string // in which the tables are
	mu     sync.Mutex
	conn   *sql.Conn         // nil if nothing is held
	held   map[string]string // tokens of leases, by run
}

// lock stops other processes from changing the row until the entry is written. A
// process that takes the run then sees the entry.
func (a *advisory) lock() string { return ` FOR SHARE` }

// key is the number of the lock.
func (a *advisory) key(run string) int64 {
	sum := sha256.Sum256([]byte("toolpost lease\x00" + a.schema + "\x00" + run))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

func (a *advisory) hold(ctx context.Context, l Lease) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held[l.Run] != "" { // the session would get it twice
		return &HeldError{Run: l.Run}
	}
	// A query that is cancelled ends the connection, and with it all the locks.
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	locked := false
	for again := range 2 {
		err := a.connect(ctx)
		if err == nil {
			err = a.conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, a.key(l.Run)).Scan(&locked)
		}
		if err == nil {
			break
		}
		a.disconnect()
		if again == 1 {
			return fmt.Errorf("journal: %w", err)
		}
	}
	if !locked {
		return &HeldError{Run: l.Run}
	}
	a.held[l.Run] = l.Token
	return nil
}

func (a *advisory) connect(ctx context.Context) (err error) {
	if a.conn != nil {
		return nil
	}
	if a.db.Stats().MaxOpenConnections == 1 {
		return errors.New("leases need a separate connection; let the pool of the database have more than one")
	}
	a.conn, err = a.db.Conn(ctx)
	return err
}

// disconnect ends the session. Leases whose locks it held go on until somebody
// else takes their runs.
func (a *advisory) disconnect() {
	if a.conn == nil {
		return
	}
	_ = a.conn.Raw(func(any) error { return driver.ErrBadConn }) // not back to the pool: it may hold locks
	a.conn.Close()
	a.conn = nil
}

func (a *advisory) drop(ctx context.Context, l Lease) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held[l.Run] != l.Token {
		return nil
	}
	delete(a.held, l.Run)
	if a.conn == nil {
		return nil
	}
	if len(a.held) == 0 {
		defer func() { a.conn.Close(); a.conn = nil }()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var had bool
	if err := a.conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, a.key(l.Run)).Scan(&had); err != nil {
		_ = a.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return nil
}

// Lease implements [Leaser].
func (s *SQL) Lease(ctx context.Context, run string) (Lease, error) {
	if err := errors.Join(ctx.Err(), ValidRun(run)); err != nil {
		return Lease{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, err := s.holder(ctx)
	if err != nil {
		return Lease{}, err
	}
	l := newLease(run)
	err = h.hold(ctx, l)
	if held := new(HeldError); errors.As(err, &held) && held.Owner.Process == 0 {
		_, held.Owner, _ = s.leaseRow(ctx, run) // that it has an owner is sure, whatever the name
	}
	if err != nil {
		return Lease{}, err
	}
	if _, err := s.db.ExecContext(ctx, insertLease, run, l.Token, l.Owner.Process, l.Owner.Host, l.Owner.Since.Format(time.RFC3339)); err != nil {
		return Lease{}, errors.Join(fmt.Errorf("journal: %w", err), h.drop(ctx, l))
	}
	s.forget(run) // the owner before may have written since
	return l, nil
}

// leaseRow returns token and owner of a run, "" if it has none.
func (s *SQL) leaseRow(ctx context.Context, run string) (token string, o Owner, err error) {
	var since string
	err = s.db.QueryRowContext(ctx, selectLease, run).Scan(&token, &o.Process, &o.Host, &since)
	if errors.Is(err, sql.ErrNoRows) {
		return "", Owner{}, nil
	}
	if err != nil {
		return "", Owner{}, fmt.Errorf("journal: %w", err)
	}
	o.Since, _ = time.Parse(time.RFC3339, since)
	return token, o, nil
}

// Release implements [Leaser].
func (s *SQL) Release(ctx context.Context, l Lease) error {
	h, err := s.holder(ctx)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, deleteLease, l.Run, l.Token)
	if err != nil {
		err = fmt.Errorf("journal: %w", err)
	}
	return errors.Join(err, h.drop(ctx, l))
}
