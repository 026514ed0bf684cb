package state

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/tables"
)

// SQL is a store in a database, which several gateways may share. Make one with [OpenSQL].
type SQL struct {
	// Now tells the time; nil means time.Now.
	Now func() time.Time

	db                                        *sql.DB
	get, put, claim, alike, deleteAny, delete *sql.Stmt

	mu    sync.Mutex
	since map[Kind]int             // bytes put since it was last looked whether they are too many
	full  map[Kind]map[string]bool // owners with too many entries that are held, when that was last counted
}

const columns = `kind, owner, hash, item, size, held, at, until_at, value`

// The statements. The value is the last column, because then SQLite need not read it to sum up sizes.
var (
	replace = ` ON CONFLICT (kind, owner, hash, item) DO UPDATE SET size = excluded.size, held = excluded.held,
	at = excluded.at, until_at = excluded.until_at, value = excluded.value`
	insert      = `INSERT INTO toolpost_state (` + columns + `) VALUES ` + tables.Values(1, 9) + replace
	insertClaim = insert + ` WHERE toolpost_state.until_at <= $10 OR toolpost_state.value = $11`
	selectOne   = `SELECT hash, value FROM toolpost_state WHERE kind = $1 AND owner = $2 AND hash = $3 AND until_at > $4 ORDER BY at DESC, item`
	dropAlike   = `DELETE FROM toolpost_state WHERE kind = $1 AND owner = $2 AND hash = $3 AND item NOT IN (
	SELECT item FROM toolpost_state WHERE kind = $4 AND owner = $5 AND hash = $6 ORDER BY at DESC, item LIMIT $7)`
	dropAny   = `DELETE FROM toolpost_state WHERE kind = $1 AND owner = $2 AND hash = $3 AND until_at > $4`
	dropMine  = dropAny + ` AND value = $5`
	dropEnded = `DELETE FROM toolpost_state WHERE until_at <= $1`
	sumOwners = `SELECT owner, CAST(SUM(size) AS BIGINT) FROM toolpost_state WHERE kind = $1 AND held = 0 GROUP BY owner`
	dropRest  = `DELETE FROM toolpost_state WHERE (kind, owner, hash, item) IN (
	SELECT kind, owner, hash, item FROM (
		SELECT kind, owner, hash, item, SUM(size) OVER (PARTITION BY owner ORDER BY at DESC, hash, item) AS own
		FROM toolpost_state WHERE kind = $1 AND held = 0) AS newest
	WHERE own > $2)`
	selectHeld = `SELECT owner, hash, item, until_at, value FROM toolpost_state WHERE kind = $1 AND held = 1 AND until_at > $2
	ORDER BY at, owner, hash, item LIMIT $3`
	countOwn  = `SELECT COUNT(*) FROM toolpost_state WHERE kind = $1 AND owner = $2 AND held = 1 AND until_at > $3`
	countHeld = `SELECT owner FROM toolpost_state WHERE kind = $1 AND held = 1 GROUP BY owner HAVING COUNT(*) >= $2`
)

// versions are the tables; see [tables.Set].
var versions = [][]string{{
	`CREATE TABLE IF NOT EXISTS toolpost_state (
	kind     TEXT NOT NULL,
	owner    TEXT NOT NULL,
	hash     TEXT NOT NULL,
	item     TEXT NOT NULL,
	size     BIGINT NOT NULL,
	held     BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	until_at BIGINT NOT NULL,
	value    BYTEA NOT NULL,
	PRIMARY KEY (kind, owner, hash, item))`,
	`CREATE INDEX IF NOT EXISTS toolpost_state_until ON toolpost_state (until_at)`,
}}

// CheckSQL returns the error that [OpenSQL] would return for tables of a newer version. It changes nothing.
func CheckSQL(ctx context.Context, db *sql.DB) error {
	if err := set.Check(ctx, db); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

var set = tables.Set{ID: 3, Versions: versions}

// OpenSQL returns the store in a database of SQLite or PostgreSQL. It makes its tables if they are
// not there, and brings those of an earlier version up to date; those of a newer version are an
// error. The database stays the caller's. Give SQLite journal_mode(WAL), a busy_timeout and one
// connection. Somebody has to call Sweep from time to time, as [gateway.Live] does.
//
// [gateway.Live]: https://pkg.go.dev/github.com/toolpost/toolpost/gateway#Live
func OpenSQL(ctx context.Context, db *sql.DB) (*SQL, error) {
	if err := set.Migrate(ctx, db); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	s := &SQL{db: db, since: make(map[Kind]int)}
	err := tables.Prepare(ctx, db, tables.Statement{Into: &s.get, Text: selectOne}, tables.Statement{Into: &s.put, Text: insert}, tables.Statement{Into: &s.claim, Text: insertClaim},
		tables.Statement{Into: &s.alike, Text: dropAlike}, tables.Statement{Into: &s.deleteAny, Text: dropAny}, tables.Statement{Into: &s.delete, Text: dropMine})
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	return s, nil
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state: %w", err)
}

func (h Hash) text() string { return hex.EncodeToString(h[:]) }

// row is an entry in a result of a query.
type row struct {
	hash  string
	value []byte
}

func (r *row) fields() []any { return []any{&r.hash, &r.value} }

// batch is how many keys one question is about.
const batch = 200

// Get implements [Store].
func (s *SQL) Get(ctx context.Context, kind Kind, owner string, hashes ...Hash) (map[Hash][][]byte, error) {
	at := now(s.Now).UnixMicro()
	found := make(map[Hash][][]byte)
	for part := range slices.Chunk(hashes, batch) {
		var list []row
		err := tables.Patiently(ctx, func() (err error) {
			var rows *sql.Rows
			if len(part) == 1 {
				rows, err = s.get.QueryContext(ctx, string(kind), owner, part[0].text(), at)
			} else {
				rows, err = s.several(ctx, kind, owner, part, at)
			}
			list, err = tables.Collect(rows, err, (*row).fields)
			return err
		})
		if err != nil {
			return nil, failed(err)
		}
		for _, r := range list {
			var h Hash
			if _, err := hex.Decode(h[:], []byte(r.hash)); err != nil {
				return nil, failed(err)
			}
			found[h] = append(found[h], r.value)
		}
	}
	return found, nil
}

// several asks about several keys at once.
func (s *SQL) several(ctx context.Context, kind Kind, owner string, hashes []Hash, at int64) (*sql.Rows, error) {
	args := []any{string(kind), owner, at}
	var places strings.Builder
	for i, h := range hashes {
		if i > 0 {
			places.WriteString(", ")
		}
		args = append(args, h.text())
		fmt.Fprintf(&places, "$%d", len(args))
	}
	return s.db.QueryContext(ctx, `SELECT hash, value FROM toolpost_state WHERE kind = $1 AND owner = $2 AND until_at > $3 AND hash IN (`+places.String()+`) ORDER BY at DESC, item`, args...)
}

// args are those of the columns of an entry.
func (e *Kept) args(at time.Time) []any {
	held := 0
	if e.Hold {
		held = 1
	}
	return []any{string(e.Kind), e.Owner, e.Hash.text(), e.Item, e.size(), held, at.UnixMicro(), e.Until.UnixMicro(), e.Value}
}

// Put implements [Store].
func (s *SQL) Put(ctx context.Context, entries ...Kept) error {
	for _, e := range entries {
		if err := e.check(); err != nil {
			return err
		}
	}
	entries = slices.Clone(entries) // two that put the same rows in different order would wait for each other
	slices.SortFunc(entries, func(a, b Kept) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	if err := tables.Patiently(ctx, func() error { return s.putOnce(ctx, entries) }); err != nil {
		return failed(err)
	}
	for _, e := range entries {
		if s.tooMany(&e) {
			return s.trim(ctx, e.Kind)
		}
	}
	return nil
}

// putOnce keeps entries in one transaction.
func (s *SQL) putOnce(ctx context.Context, entries []Kept) error {
	at := now(s.Now)
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	put, alike := tx.StmtContext(ctx, s.put), tx.StmtContext(ctx, s.alike)
	for _, e := range entries {
		if _, err := put.ExecContext(ctx, e.args(at)...); err != nil {
			return err
		}
		if n := limits[e.Kind].alike; n > 1 {
			h := e.Hash.text()
			if _, err := alike.ExecContext(ctx, string(e.Kind), e.Owner, h, string(e.Kind), e.Owner, h, n); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// tooMany counts new entries and reports from time to time that the limits must be checked.
func (s *SQL) tooMany(e *Kept) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since[e.Kind] += e.size(); s.since[e.Kind] < limits[e.Kind].size/2 {
		return false
	}
	s.since[e.Kind] = 0
	return true
}

// claims bounds how often a claim is tried that others get in the way of.
const claims = 10

// Claim implements [Store].
func (s *SQL) Claim(ctx context.Context, e Kept, mine []byte) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if e.Hold && mine == nil {
		if there, err := s.place(ctx, &e); there != nil || err != nil {
			return there, err
		}
	}
	for range claims {
		at := now(s.Now)
		var res sql.Result
		err := tables.Patiently(ctx, func() (err error) {
			res, err = s.claim.ExecContext(ctx, append(e.args(at), at.UnixMicro(), mine)...)
			return err
		})
		if err != nil {
			return nil, failed(err)
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			if err == nil && !e.Hold && s.tooMany(&e) {
				return e.Value, s.trim(ctx, e.Kind)
			}
			return e.Value, failed(err)
		}
		found, err := s.Get(ctx, e.Kind, e.Owner, e.Hash)
		if err != nil {
			return nil, err
		}
		if list := found[e.Hash]; len(list) > 0 { // else it has ended in between
			return list[0], nil
		}
	}
	return nil, failed(fmt.Errorf("%s is claimed by too many at once", e.Kind))
}

// place reports that the owner of an entry may not hold another one. For kinds whose entries are counted, it returns
// the value under the key otherwise.
func (s *SQL) place(ctx context.Context, e *Kept) ([]byte, error) {
	if !limits[e.Kind].counted {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.full[e.Kind][e.Owner] {
			return nil, ErrFull
		}
		return nil, nil
	}
	var n int
	err := tables.Patiently(ctx, func() error {
		return s.db.QueryRowContext(ctx, countOwn, string(e.Kind), e.Owner, now(s.Now).UnixMicro()).Scan(&n)
	})
	if err != nil || n < limits[e.Kind].held {
		return nil, failed(err)
	}
	found, err := s.Get(ctx, e.Kind, e.Owner, e.Hash)
	if err != nil {
		return nil, err
	}
	if list := found[e.Hash]; len(list) > 0 {
		return list[0], nil
	}
	return nil, ErrFull
}

// Delete implements [Store].
func (s *SQL) Delete(ctx context.Context, k Place, mine []byte) (bool, error) {
	statement, args := s.deleteAny, []any{string(k.Kind), k.Owner, k.Hash.text(), now(s.Now).UnixMicro()}
	if mine != nil {
		statement, args = s.delete, append(args, mine)
	}
	var res sql.Result
	err := tables.Patiently(ctx, func() (err error) {
		res, err = statement.ExecContext(ctx, args...)
		return err
	})
	if err != nil {
		return false, failed(err)
	}
	n, err := res.RowsAffected()
	return n > 0, failed(err)
}

// Erase implements [Store].
func (s *SQL) Erase(ctx context.Context, owner string) error {
	return failed(tables.Patiently(ctx, func() error {
		_, err := s.db.ExecContext(ctx, `DELETE FROM toolpost_state WHERE owner = $1`, owner)
		return err
	}))
}

// heldRow is a held entry in a result of a query.
type heldRow struct {
	owner, hash, item string
	until             int64
	value             []byte
}

func (r *heldRow) fields() []any { return []any{&r.owner, &r.hash, &r.item, &r.until, &r.value} }

// Held implements [Store].
func (s *SQL) Held(ctx context.Context, kind Kind, most int) ([]Kept, error) {
	rows, err := s.db.QueryContext(ctx, selectHeld, string(kind), now(s.Now).UnixMicro(), most)
	list, err := tables.Collect(rows, err, (*heldRow).fields)
	if err != nil {
		return nil, failed(err)
	}
	out := make([]Kept, len(list))
	for i, r := range list {
		out[i] = Kept{Place: Place{Kind: kind, Owner: r.owner}, Item: r.item, Value: r.value, Until: time.UnixMicro(r.until).UTC(), Hold: true}
		if _, err := hex.Decode(out[i].Hash[:], []byte(r.hash)); err != nil {
			return nil, failed(err)
		}
	}
	return out, nil
}

// Sweep implements [Store].
func (s *SQL) Sweep(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, dropEnded, now(s.Now).UnixMicro()); err != nil {
		return failed(err)
	}
	for kind := range limits {
		if err := s.trim(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// ownerSum is what an owner has of a kind.
type ownerSum struct {
	owner string
	size  int64
}

func (o *ownerSum) fields() []any { return []any{&o.owner, &o.size} }

// fairShare returns how many bytes each owner may have, so that all together have at most so many. Owners that need
// less than an equal part leave the rest to the others.
func fairShare(sums []ownerSum, size int64) int64 {
	slices.SortFunc(sums, func(a, b ownerSum) int { return cmp.Compare(a.size, b.size) })
	for i, o := range sums {
		if share := size / int64(len(sums)-i); o.size > share {
			return share
		}
		size -= o.size
	}
	return math.MaxInt64
}

// trim drops the oldest entries of owners beyond their fair share of a kind, and notes the owners with too many
// entries that cannot be dropped.
func (s *SQL) trim(ctx context.Context, kind Kind) error {
	most := limits[kind]
	rows, err := s.db.QueryContext(ctx, sumOwners, string(kind))
	sums, err := tables.Collect(rows, err, (*ownerSum).fields)
	if err != nil {
		return failed(err)
	}
	if share := fairShare(sums, int64(room)*int64(most.size)); share < math.MaxInt64 {
		if _, err := s.db.ExecContext(ctx, dropRest, string(kind), share); err != nil {
			return failed(err)
		}
	}
	if most.held == 0 || most.counted {
		return nil
	}
	rows, err = s.db.QueryContext(ctx, countHeld, string(kind), most.held)
	owners, err := tables.Collect(rows, err, func(o *string) []any { return []any{o} })
	if err != nil {
		return failed(err)
	}
	full := make(map[string]bool, len(owners))
	for _, o := range owners {
		full[o] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full == nil {
		s.full = make(map[Kind]map[string]bool)
	}
	s.full[kind] = full
	return nil
}
