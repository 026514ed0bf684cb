package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// SQL is a Store in a database. Make one with [OpenSQL].
type SQL struct {
	// Secrets finds the secrets to strip; nil means the known forms. It must not be
	// changed once the store is in use.
	Secrets *Secrets

	db *sql.DB

	mu    sync.Mutex
	heads map[string]*head // of runs, as far as this process knows
	holds holder           // nil before the first lease
}

// head is the end of a run as this process last saw it.
type head struct {
	last   Entry
	ledger *ledger // shared by the writers of the run
}

// The statements are the part of SQL that SQLite and PostgreSQL share. The
// primary key is what keeps a run from forking: of two writers of one number,
// one inserts no row. How a line is inserted depends on the run's owner.
const (
	selectLast = `SELECT line FROM toolpost_journal WHERE run = $1 ORDER BY seq DESC LIMIT 1`
	selectPage = `SELECT seq, line FROM toolpost_journal WHERE run = $1 AND seq >= $2 ORDER BY seq LIMIT $3`
	selectRuns = `SELECT DISTINCT run FROM toolpost_journal`
)

// OpenSQL returns the store in a database of SQLite or PostgreSQL. It creates its
// tables, toolpost_journal, toolpost_lease and toolpost_schema, if they are not there, and brings
// those of an earlier version up to date; tables of a newer version are a
// *[SchemaError], and are left alone. The database stays the caller's, who opens
// it with the driver of his choice and closes it. An entry that it does not take
// within 30 s is an error.
//
// What survives the death of the machine is the database's affair: leave
// PostgreSQL's synchronous_commit on; give SQLite journal_mode(WAL),
// synchronous(FULL) and a busy_timeout.
func OpenSQL(db *sql.DB) (*SQL, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := migrate(ctx, db, schemas); err != nil {
		return nil, err
	}
	return &SQL{db: db, heads: make(map[string]*head)}, nil
}

// maxTurns bounds how often a writer that came second tries again.
const maxTurns = 1000

// Append implements [Store].
func (s *SQL) Append(ctx context.Context, e Entry) (Entry, error) { return s.append(ctx, e, &known{}) }

func (s *SQL) append(ctx context.Context, e Entry, k *known) (Entry, error) {
	if err := ValidRun(e.Run); err != nil {
		return Entry{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, fresh := s.head(e.Run)
	for range maxTurns {
		if !fresh {
			last, err := s.last(ctx, e.Run)
			if err != nil {
				return Entry{}, err
			}
			h.last = last
		}
		written, c, ok, err := s.insert(ctx, &h, e, k)
		if err != nil {
			s.forget(e.Run)
			return Entry{}, err
		}
		if ok {
			h.ledger.learn(&written, c)
			s.remember(h, written)
			return written, nil
		}
		token, _, err := s.leaseRow(ctx, e.Run)
		switch {
		case err != nil:
			return Entry{}, err
		case e.Lease != "" && token != e.Lease:
			return Entry{}, leaseLost(e.Run)
		case e.Lease == "" && token != "":
			return appendOwned(ctx, s, e, func(e Entry) (Entry, error) { return s.append(ctx, e, k) })
		}
		fresh = false
	}
	return Entry{}, fmt.Errorf("journal: run %s: other writers were faster %d times", e.Run, maxTurns)
}

// insert writes e at the end of its run, unless somebody else has done so or the
// writer does not own the run.
func (s *SQL) insert(ctx context.Context, h *head, e Entry, k *known) (_ Entry, c counted, ok bool, err error) {
	statement, args := insertLine+unlessThere, []any{e.Run, 0, ""}
	if e.Lease != "" {
		holds, err := s.holder(ctx)
		if err != nil {
			return Entry{}, c, false, err
		}
		statement, args = insertOwned+holds.lock()+unlessThere, append(args, e.Lease)
	}
	line, err := e.follow(&h.last, k, s.Secrets, nil)
	if err == nil {
		c, err = h.ledger.admit(h.last.Seq, &e, k, func(from int64) iter.Seq2[Entry, error] { return s.Read(ctx, e.Run, from) })
	}
	if err != nil {
		return Entry{}, c, false, err
	}
	args[1], args[2] = e.Seq, string(line)
	res, err := s.db.ExecContext(ctx, statement, args...)
	if err != nil {
		return Entry{}, c, false, fmt.Errorf("journal: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return Entry{}, c, false, fmt.Errorf("journal: %w", err)
	}
	return e, c, n == 1, nil
}

// last reads the last entry of a run.
func (s *SQL) last(ctx context.Context, run string) (Entry, error) {
	var line string
	err := s.db.QueryRowContext(ctx, selectLast, run).Scan(&line)
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, nil
	}
	if err != nil {
		return Entry{}, fmt.Errorf("journal: %w", err)
	}
	e, err := ParseEntry([]byte(line))
	if err == nil && e.Run != run {
		err = fmt.Errorf("it belongs to run %s", e.Run)
	}
	if err != nil {
		return Entry{}, lastBroken("entry of run "+run, err)
	}
	return e, nil
}

// head returns the known end of a run, and whether there is one.
func (s *SQL) head(run string) (head, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.heads[run]; h != nil {
		return *h, true
	}
	return head{ledger: new(ledger)}, false
}

// remember keeps the head without its body: the next entry needs its number
// and hash.
func (s *SQL) remember(h head, e Entry) {
	e.Body, e.Stripped = nil, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.heads[e.Run]; old != nil && old.last.Seq > e.Seq {
		return
	}
	if len(s.heads) >= maxRemembered {
		clear(s.heads)
	}
	h.last = e
	s.heads[e.Run] = &h
}

func (s *SQL) forget(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heads, run)
}

// row is a line and the number it is filed under.
type row struct {
	seq  int64
	line string
}

// page is how many lines are fetched at a time. No connection is held while
// they are yielded: the caller may well write meanwhile.
const page = 256

// rows yields the lines of a run.
func (s *SQL) rows(ctx context.Context, run string, from int64) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for {
			rows, err := s.fetch(ctx, run, from)
			if err != nil {
				yield(row{}, fmt.Errorf("journal: %w", err))
				return
			}
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
				from = r.seq + 1
			}
			if len(rows) < page {
				return
			}
		}
	}
}

func (s *SQL) fetch(ctx context.Context, run string, from int64) ([]row, error) {
	rows, err := s.db.QueryContext(ctx, selectPage, run, from, page)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.seq, &r.line); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Read implements [Store].
func (s *SQL) Read(ctx context.Context, run string, from int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for r, err := range s.rows(ctx, run, from) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			e, err := ParseEntry([]byte(r.line))
			if err == nil && (e.Seq != r.seq || e.Run != run) {
				err = fmt.Errorf("journal: it is in the place of entry %d of run %s", r.seq, run)
			}
			if err != nil {
				yield(e, inRun(run, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Lines yields the lines of a run as the database holds them, each with a
// newline, for [VerifyLines].
func (s *SQL) Lines(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for r, err := range s.rows(ctx, run, 0) {
			if !yield([]byte(r.line+"\n"), err) || err != nil {
				return
			}
		}
	}
}

// Runs implements [Lister].
func (s *SQL) Runs(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		names, err := s.names(ctx)
		if err != nil {
			yield("", fmt.Errorf("journal: %w", err))
			return
		}
		slices.Sort(names) // a database may have its own idea of order
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

func (s *SQL) names(ctx context.Context) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, selectRuns)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}
