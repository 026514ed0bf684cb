package access

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/tables"
)

// SQL is a store in a SQL database. Use [OpenSQL] to create one.
type SQL struct {
	db *sql.DB
	// Every request needs these. SQLite would otherwise parse them each time.
	get, addCounts, held, addHolds, dropHolds, addLine, addUsage *sql.Stmt
}

// The statements of every request. The statement for counts updates all windows of a request.
var (
	selectDoc = `SELECT rev, doc FROM toolpost_access WHERE kind = $1 AND id = $2`
	addCounts = `INSERT INTO toolpost_count (scope, per, begin_at, requests, tokens, money) VALUES ` + tables.Values(2*len(periods), 6) + `
ON CONFLICT (scope, per, begin_at) DO UPDATE SET requests = toolpost_count.requests + excluded.requests,
	tokens = toolpost_count.tokens + excluded.tokens, money = toolpost_count.money + excluded.money
RETURNING scope, per, begin_at, requests, tokens, money`
	selectHeld = `SELECT CAST(COALESCE(SUM(tokens), 0) AS BIGINT), CAST(COALESCE(SUM(money), 0) AS BIGINT),
	CAST(COALESCE(SUM(usual_tokens), 0) AS BIGINT), CAST(COALESCE(SUM(usual_money), 0) AS BIGINT) FROM toolpost_hold WHERE scope = $1 AND until_at > $2 AND request <> $3`
	addHolds = `INSERT INTO toolpost_hold (scope, request, tokens, money, usual_tokens, usual_money, until_at) VALUES ` + tables.Values(2, 7) + `
ON CONFLICT (scope, request) DO UPDATE SET tokens = excluded.tokens, money = excluded.money, usual_tokens = excluded.usual_tokens,
	usual_money = excluded.usual_money, until_at = excluded.until_at`
	dropHolds = `DELETE FROM toolpost_hold WHERE request = $1 AND scope IN ($2, $3)`
	addLine   = `INSERT INTO toolpost_request (id, at, team, key, route, model, upstream, format, status, cached, input, output, money, unpriced, estimated, took, end_user, tag, attempts)
VALUES ` + tables.Values(1, 19) + ` ON CONFLICT (id) DO NOTHING`
	addUsage = `INSERT INTO toolpost_bill (` + strings.Join(groupColumns, ", ") + ", " + strings.Join(sumColumns, ", ") + `) VALUES ` + tables.Values(1, len(groupColumns)+len(sumColumns)) + `
ON CONFLICT (` + strings.Join(groupColumns, ", ") + `) DO UPDATE SET ` + addingUp()
	// The columns of sums: the groupings and the numbers.
	groupColumns = columnsOf(Groupings)
	sumColumns   = []string{"requests", "failed", "cached", "refused", "input", "output", "money", "unpriced", "estimated"}
)

// addingUp returns the SET clause that adds the numbers of a row to the existing ones.
func addingUp() string {
	var set []string
	for _, c := range sumColumns {
		set = append(set, c+" = toolpost_bill."+c+" + excluded."+c)
	}
	return strings.Join(set, ", ")
}

// columnsOf returns the names of the columns.
func columnsOf(list []Grouping) (names []string) {
	for _, g := range list {
		names = append(names, g.column())
	}
	return names
}

// groups and sums return pointers to the fields of those columns.
func (u *Spend) groups() []any {
	var list []any
	for _, g := range Groupings {
		list = append(list, u.at(g))
	}
	return list
}

func (u *Spend) sums() []any {
	return []any{&u.Requests, &u.Failed, &u.Cached, &u.Refused, &u.Input, &u.Output, (*int64)(&u.Money), &u.Unpriced, &u.Estimated}
}

// versions are the migrations of the tables; see [tables.Set].
var versions = [][]string{{
	`CREATE TABLE IF NOT EXISTS toolpost_access (
	kind TEXT NOT NULL,
	id   TEXT NOT NULL,
	rev  BIGINT NOT NULL,
	doc  TEXT NOT NULL,
	PRIMARY KEY (kind, id))`,
	`CREATE TABLE IF NOT EXISTS toolpost_count (
	scope    TEXT NOT NULL,
	per      TEXT NOT NULL,
	begin_at BIGINT NOT NULL,
	requests BIGINT NOT NULL,
	tokens   BIGINT NOT NULL,
	money    BIGINT NOT NULL,
	PRIMARY KEY (scope, per, begin_at))`,
	`CREATE TABLE IF NOT EXISTS toolpost_hold (
	scope    TEXT NOT NULL,
	request  TEXT NOT NULL,
	tokens   BIGINT NOT NULL,
	money    BIGINT NOT NULL,
	until_at BIGINT NOT NULL,
	PRIMARY KEY (scope, request))`,
	`CREATE TABLE IF NOT EXISTS toolpost_usage (
	day       TEXT NOT NULL,
	team      TEXT NOT NULL,
	key       TEXT NOT NULL,
	model     TEXT NOT NULL,
	requests  BIGINT NOT NULL,
	failed    BIGINT NOT NULL,
	input     BIGINT NOT NULL,
	output    BIGINT NOT NULL,
	money     BIGINT NOT NULL,
	unpriced  BIGINT NOT NULL,
	estimated BIGINT NOT NULL,
	PRIMARY KEY (day, team, key, model))`,
	`CREATE TABLE IF NOT EXISTS toolpost_request (
	id        TEXT NOT NULL PRIMARY KEY,
	at        BIGINT NOT NULL,
	team      TEXT NOT NULL,
	key       TEXT NOT NULL,
	model     TEXT NOT NULL,
	upstream  TEXT NOT NULL,
	format    TEXT NOT NULL,
	status    TEXT NOT NULL,
	input     BIGINT NOT NULL,
	output    BIGINT NOT NULL,
	money     BIGINT NOT NULL,
	unpriced  BIGINT NOT NULL,
	estimated BIGINT NOT NULL,
	took      BIGINT NOT NULL)`,
	`CREATE INDEX IF NOT EXISTS toolpost_request_at ON toolpost_request (at)`,
}, {
	`ALTER TABLE toolpost_hold ADD COLUMN usual_tokens BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE toolpost_hold ADD COLUMN usual_money BIGINT NOT NULL DEFAULT 0`,
}, {
	`ALTER TABLE toolpost_request ADD COLUMN route TEXT NOT NULL DEFAULT ''`,
	`ALTER TABLE toolpost_request ADD COLUMN cached BIGINT NOT NULL DEFAULT 0`,
	`CREATE TABLE IF NOT EXISTS toolpost_spend (
	team      TEXT NOT NULL,
	key       TEXT NOT NULL,
	route     TEXT NOT NULL,
	model     TEXT NOT NULL,
	upstream  TEXT NOT NULL,
	day       TEXT NOT NULL,
	requests  BIGINT NOT NULL,
	failed    BIGINT NOT NULL,
	cached    BIGINT NOT NULL,
	refused   BIGINT NOT NULL,
	input     BIGINT NOT NULL,
	output    BIGINT NOT NULL,
	money     BIGINT NOT NULL,
	unpriced  BIGINT NOT NULL,
	estimated BIGINT NOT NULL,
	PRIMARY KEY (team, key, route, model, upstream, day))`,
	// The old table stays for gateways of the previous version that are still running.
	`INSERT INTO toolpost_spend (team, key, route, model, upstream, day, requests, failed, cached, refused, input, output, money, unpriced, estimated)
SELECT team, key, '', model, '', day, requests, failed, 0, 0, input, output, money, unpriced, estimated FROM toolpost_usage`,
	`CREATE INDEX IF NOT EXISTS toolpost_spend_day ON toolpost_spend (day)`,
}, {
	`CREATE TABLE IF NOT EXISTS toolpost_bodies (
	id   TEXT NOT NULL PRIMARY KEY,
	at   BIGINT NOT NULL,
	team TEXT NOT NULL,
	doc  TEXT NOT NULL)`,
	`CREATE INDEX IF NOT EXISTS toolpost_bodies_at ON toolpost_bodies (at)`,
}, {
	`ALTER TABLE toolpost_request ADD COLUMN end_user TEXT NOT NULL DEFAULT ''`,
	`ALTER TABLE toolpost_request ADD COLUMN tag TEXT NOT NULL DEFAULT ''`,
	`ALTER TABLE toolpost_request ADD COLUMN attempts TEXT NOT NULL DEFAULT ''`,
	`CREATE TABLE IF NOT EXISTS toolpost_bill (
	team      TEXT NOT NULL,
	key       TEXT NOT NULL,
	route     TEXT NOT NULL,
	model     TEXT NOT NULL,
	upstream  TEXT NOT NULL,
	end_user  TEXT NOT NULL,
	tag       TEXT NOT NULL,
	day       TEXT NOT NULL,
	requests  BIGINT NOT NULL,
	failed    BIGINT NOT NULL,
	cached    BIGINT NOT NULL,
	refused   BIGINT NOT NULL,
	input     BIGINT NOT NULL,
	output    BIGINT NOT NULL,
	money     BIGINT NOT NULL,
	unpriced  BIGINT NOT NULL,
	estimated BIGINT NOT NULL,
	PRIMARY KEY (team, key, route, model, upstream, end_user, tag, day))`,
	// The old table stays for gateways of the previous version that are still running.
	`INSERT INTO toolpost_bill (team, key, route, model, upstream, end_user, tag, day, requests, failed, cached, refused, input, output, money, unpriced, estimated)
SELECT team, key, route, model, upstream, '', '', day, requests, failed, cached, refused, input, output, money, unpriced, estimated FROM toolpost_spend`,
	`CREATE INDEX IF NOT EXISTS toolpost_bill_day ON toolpost_bill (day)`,
}, {
	// Lists of requests with a filter, newest first. The log may have millions of lines.
	`CREATE INDEX IF NOT EXISTS toolpost_request_team ON toolpost_request (team, at)`,
	`CREATE INDEX IF NOT EXISTS toolpost_request_key ON toolpost_request (key, at)`,
	`CREATE INDEX IF NOT EXISTS toolpost_request_route ON toolpost_request (route, at)`,
	`CREATE INDEX IF NOT EXISTS toolpost_request_model ON toolpost_request (model, at)`,
	`CREATE INDEX IF NOT EXISTS toolpost_request_upstream ON toolpost_request (upstream, at)`,
	`CREATE INDEX IF NOT EXISTS toolpost_request_user ON toolpost_request (end_user, at) WHERE end_user <> ''`,
	`CREATE INDEX IF NOT EXISTS toolpost_request_tag ON toolpost_request (tag, at) WHERE tag <> ''`,
	`CREATE INDEX IF NOT EXISTS toolpost_request_failed ON toolpost_request (at) WHERE status <> 'ok'`,
}}

// OpenSQL returns the store in a SQLite or PostgreSQL database. It creates missing tables and migrates those of earlier
// versions. Tables of a newer version are an error. The caller still owns the database. Open SQLite with
// journal_mode(WAL), a busy_timeout and one connection.
func OpenSQL(ctx context.Context, db *sql.DB) (*SQL, error) {
	if err := (tables.Set{ID: 2, Versions: versions}).Migrate(ctx, db); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	s := &SQL{db: db}
	if err := tables.Prepare(ctx, db, tables.Statement{Into: &s.get, Text: selectDoc}, tables.Statement{Into: &s.addCounts, Text: addCounts},
		tables.Statement{Into: &s.held, Text: selectHeld}, tables.Statement{Into: &s.addHolds, Text: addHolds}, tables.Statement{Into: &s.dropHolds, Text: dropHolds},
		tables.Statement{Into: &s.addLine, Text: addLine}, tables.Statement{Into: &s.addUsage, Text: addUsage}); err != nil {
		return nil, failed(err)
	}
	return s, nil
}

// StoreError reports that a store fails, regardless of the operation.
type StoreError struct{ Err error }

// Error returns the error of the store.
func (e *StoreError) Error() string { return "access: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// failed wraps an error of the database.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &StoreError{err}
}

// answerTime limits each database call on the request path. A database that does not answer in time counts as
// unavailable.
const answerTime = 10 * time.Second

// Get implements [Store].
func (s *SQL) Get(ctx context.Context, kind, id string) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r := Row{Kind: kind, ID: id}
	err := tables.Patiently(ctx, func() error { return s.get.QueryRowContext(ctx, kind, id).Scan(&r.Rev, &r.Doc) })
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, nil
	}
	return r, failed(err)
}

// List implements [Store].
func (s *SQL) List(ctx context.Context, kind string) ([]Row, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, rev, doc FROM toolpost_access WHERE kind = $1 ORDER BY id`, kind)
	return collect(rows, err, func(r *Row) []any { r.Kind = kind; return []any{&r.ID, &r.Rev, &r.Doc} })
}

// collect reads all rows of a query.
func collect[T any](rows *sql.Rows, err error, fields func(*T) []any) ([]T, error) {
	list, err := tables.Collect(rows, err, fields)
	return list, failed(err)
}

// Put implements [Store].
func (s *SQL) Put(ctx context.Context, r Row) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	statement, args := `UPDATE toolpost_access SET rev = rev + 1, doc = $1 WHERE kind = $2 AND id = $3 AND rev = $4`, []any{string(r.Doc), r.Kind, r.ID, r.Rev}
	if r.Rev == 0 {
		statement, args = `INSERT INTO toolpost_access (doc, kind, id, rev) VALUES ($1, $2, $3, 1) ON CONFLICT (kind, id) DO NOTHING`, args[:3]
	}
	var res sql.Result
	err := tables.Patiently(ctx, func() (err error) {
		res, err = s.db.ExecContext(ctx, statement, args...)
		return err
	})
	if err != nil {
		return failed(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return failed(err)
	}
	return ErrConflict
}

// within runs f in a transaction. Its first statement must be a write: SQLite may abort a transaction that reads first
// and writes later.
func (s *SQL) within(ctx context.Context, f func(tx *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return tables.Patiently(ctx, func() error { return s.once(ctx, f) })
}

// once runs f in a transaction without retries.
func (s *SQL) once(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return failed(err)
	}
	defer tx.Rollback() // does nothing after Commit
	if err := f(tx); err != nil {
		return err
	}
	return failed(tx.Commit())
}

// countIn adds c to windows and returns their new counts. The transaction then holds locks on the windows until it
// ends.
func (s *SQL) countIn(ctx context.Context, tx *sql.Tx, windows []Window, c Count) (map[Window]Count, error) {
	args := make([]any, 0, 6*len(windows))
	for _, w := range windows {
		args = append(args, w.Scope, string(w.Per), w.Begin, c.Requests, c.Tokens, c.Money)
	}
	rows, err := tx.StmtContext(ctx, s.addCounts).QueryContext(ctx, args...)
	type row struct {
		Window
		Count
	}
	list, err := collect(rows, err, func(r *row) []any {
		return []any{&r.Scope, &r.Per, &r.Begin, &r.Requests, &r.Tokens, &r.Money}
	})
	used := make(map[Window]Count, len(list))
	for _, r := range list {
		used[r.Window] = r.Count
	}
	return used, err
}

// heldIn returns the reservations of other requests in each scope.
func (s *SQL) heldIn(ctx context.Context, tx *sql.Tx, scopes []string, request string, now time.Time) (map[string]Reservation, error) {
	held := make(map[string]Reservation, len(scopes))
	for _, scope := range scopes {
		var c Reservation
		err := tx.StmtContext(ctx, s.held).QueryRowContext(ctx, scope, now.Unix(), request).Scan(&c.Most.Tokens, &c.Most.Money, &c.Usual.Tokens, &c.Usual.Money)
		if err != nil {
			return nil, failed(err)
		}
		held[scope] = c
	}
	return held, nil
}

// Admit implements [Store].
func (s *SQL) Admit(ctx context.Context, now time.Time, h Hold, windows []Window, check func(map[Window]Count, map[string]Reservation) error) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		used, err := s.countIn(ctx, tx, windows, h.counts())
		if err != nil {
			return err
		}
		held, err := s.heldIn(ctx, tx, h.Scopes, h.Request, now)
		if err != nil {
			return err
		}
		if err := check(used, held); err != nil {
			return err
		}
		var args []any
		for _, scope := range h.Scopes {
			args = append(args, scope, h.Request, h.Most.Tokens, h.Most.Money, h.Usual.Tokens, h.Usual.Money, h.Until.Unix())
		}
		_, err = tx.StmtContext(ctx, s.addHolds).ExecContext(ctx, args...)
		return failed(err)
	})
}

// extendAtOnce is how many reservations one statement renews.
const extendAtOnce = 100

// Extend implements [Store].
func (s *SQL) Extend(ctx context.Context, requests []string, until time.Time) error {
	for part := range slices.Chunk(requests, extendAtOnce) {
		args, marks := []any{until.Unix()}, make([]string, len(part))
		for i, id := range part {
			args, marks[i] = append(args, id), fmt.Sprintf("$%d", i+2)
		}
		if _, err := s.db.ExecContext(ctx, `UPDATE toolpost_hold SET until_at = $1 WHERE request IN (`+strings.Join(marks, ", ")+`)`, args...); err != nil {
			return failed(err)
		}
	}
	return nil
}

// Settle implements [Store]. A request whose reservation has expired is still charged. The log line prevents charging
// it twice.
func (s *SQL) Settle(ctx context.Context, e LogLine, windows []Window) (used map[Window]Count, err error) {
	u, attempts := usageOf(&e), ""
	if len(e.Attempts) > 0 {
		doc, err := json.Marshal(e.Attempts)
		if err != nil {
			return nil, err
		}
		attempts = string(doc)
	}
	err = s.within(ctx, func(tx *sql.Tx) error {
		used = nil
		res, err := tx.StmtContext(ctx, s.addLine).ExecContext(ctx,
			e.ID, e.At.UnixMilli(), e.Team, e.Key, e.Route, e.Model, e.Upstream, e.Format, e.Status, u.Cached, e.Input, e.Output, int64(e.Money), u.Unpriced, u.Estimated, e.Took.Milliseconds(), e.User, e.Tag, attempts)
		if err != nil {
			return failed(err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return failed(err)
		}
		if used, err = s.countIn(ctx, tx, windows, e.count()); err != nil {
			return err
		}
		if _, err := tx.StmtContext(ctx, s.dropHolds).ExecContext(ctx, e.ID, "key:"+e.Key, "team:"+e.Team); err != nil {
			return failed(err)
		}
		for _, u := range usagesOf(&e) {
			if _, err := tx.StmtContext(ctx, s.addUsage).ExecContext(ctx, u.row()...); err != nil {
				return failed(err)
			}
		}
		return nil
	})
	return used, err
}

// row returns the values of all columns.
func (u *Spend) row() []any {
	row := make([]any, 0, len(groupColumns)+len(sumColumns))
	for _, at := range append(u.groups(), u.sums()...) {
		switch at := at.(type) {
		case *string:
			row = append(row, *at)
		case *int64:
			row = append(row, *at)
		}
	}
	return row
}

// Add implements [Store].
func (s *SQL) Add(ctx context.Context, u Spend) error {
	_, err := s.addUsage.ExecContext(ctx, u.row()...)
	return failed(err)
}

// Usage implements [Store].
func (s *SQL) Usage(ctx context.Context, only Filter, since string, by []Grouping) ([]Spend, error) {
	var names, groups []string
	for _, g := range Groupings {
		name := "''"
		if slices.Contains(by, g) {
			name = g.column()
			groups = append(groups, name)
		}
		names = append(names, name)
	}
	query := `SELECT ` + strings.Join(names, ", ")
	for _, sum := range sumColumns {
		query += `, CAST(COALESCE(SUM(` + sum + `), 0) AS BIGINT)`
	}
	where, args := only.where(2)
	query += ` FROM toolpost_bill WHERE day >= $1` + where
	if len(groups) > 0 {
		query += ` GROUP BY ` + strings.Join(groups, ", ")
	}
	rows, err := s.db.QueryContext(ctx, query+` HAVING COUNT(*) > 0`, append([]any{since}, args...)...)
	list, err := collect(rows, err, func(u *Spend) []any { return append(u.groups(), u.sums()...) })
	sortUsage(list, by) // databases may sort differently
	return list, err
}

// Log implements [Store].
func (s *SQL) Log(ctx context.Context, q LogQuery) ([]LogLine, error) {
	where, args := q.where(2)
	rows, err := s.db.QueryContext(ctx, `SELECT id, at, team, key, route, model, upstream, format, status, cached, input, output, money, unpriced, estimated, took, end_user, tag, attempts
FROM toolpost_request WHERE 1 = 1`+where+` ORDER BY at DESC, id LIMIT $1`, append([]any{q.Most}, args...)...)
	type row struct {
		LogLine
		at, cached, money, unpriced, estimated, took int64
		attempts                                     string
	}
	list, err := collect(rows, err, func(r *row) []any {
		return []any{&r.ID, &r.at, &r.Team, &r.Key, &r.Route, &r.Model, &r.Upstream, &r.Format, &r.Status, &r.cached, &r.Input, &r.Output, &r.money, &r.unpriced, &r.estimated, &r.took, &r.User, &r.Tag, &r.attempts}
	})
	out := make([]LogLine, len(list))
	for i, r := range list {
		out[i] = r.LogLine
		out[i].At, out[i].Took = time.UnixMilli(r.at).UTC(), time.Duration(r.took)*time.Millisecond
		out[i].Cached = r.cached > 0
		out[i].Money, out[i].Unpriced, out[i].Estimated = catalog.Money(r.money), r.unpriced > 0, r.estimated > 0
		if r.attempts != "" && err == nil {
			err = json.Unmarshal([]byte(r.attempts), &out[i].Attempts)
		}
	}
	return out, err
}

// KeepBodies implements [Store].
func (s *SQL) KeepBodies(ctx context.Context, v Bodies) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return failed(tables.Patiently(ctx, func() error {
		_, err := s.db.ExecContext(ctx, `INSERT INTO toolpost_bodies (id, at, team, doc) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`, v.ID, v.At.UnixMilli(), v.Team, string(doc))
		return err
	}))
}

// Bodies implements [Store].
func (s *SQL) Bodies(ctx context.Context, id string) (v Bodies, err error) {
	var doc []byte
	switch err := s.db.QueryRowContext(ctx, `SELECT doc FROM toolpost_bodies WHERE id = $1`, id).Scan(&doc); {
	case errors.Is(err, sql.ErrNoRows):
		return Bodies{}, nil
	case err != nil:
		return Bodies{}, failed(err)
	}
	return v, json.Unmarshal(doc, &v)
}

// Erase implements [Store].
func (s *SQL) Erase(ctx context.Context, e Erasure) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		run := func(statement string, args ...any) error {
			_, err := tx.ExecContext(ctx, statement, args...)
			return failed(err)
		}
		of, args := "team = $1", []any{e.Team}
		if e.User != "" {
			of, args = of+" AND end_user = $2", append(args, e.User)
		}
		bodies := "team = $1"
		if e.User != "" {
			bodies = "id IN (SELECT id FROM toolpost_request WHERE " + of + ")"
			groups := slices.DeleteFunc(columnsOf(Groupings), func(c string) bool { return c == ByUser.column() })
			sums := "SUM(" + strings.Join(sumColumns, "), SUM(") + ")"
			if err := run(`INSERT INTO toolpost_bill (`+strings.Join(groups, ", ")+`, end_user, `+strings.Join(sumColumns, ", ")+`) SELECT `+strings.Join(groups, ", ")+`, '', `+sums+
				` FROM toolpost_bill WHERE `+of+` GROUP BY `+strings.Join(groups, ", ")+` ON CONFLICT (`+strings.Join(groupColumns, ", ")+`) DO UPDATE SET `+addingUp(), args...); err != nil {
				return err
			}
		}
		for _, statement := range []string{`DELETE FROM toolpost_bodies WHERE ` + bodies, `DELETE FROM toolpost_request WHERE ` + of, `DELETE FROM toolpost_bill WHERE ` + of} {
			if err := run(statement, args...); err != nil {
				return err
			}
		}
		if e.User != "" {
			return nil
		}
		for _, table := range []string{"toolpost_spend", "toolpost_usage"} { // of earlier versions
			if err := run(`DELETE FROM `+table+` WHERE team = $1`, e.Team); err != nil {
				return err
			}
		}
		for _, scope := range e.Scopes {
			if err := run(`DELETE FROM toolpost_count WHERE scope = $1`, scope); err != nil {
				return err
			}
		}
		for _, r := range e.Records {
			if err := run(`DELETE FROM toolpost_access WHERE kind = $1 AND id = $2`, r.Kind, r.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// Clean implements [Store].
func (s *SQL) Clean(ctx context.Context, now, before time.Time) error {
	for _, table := range []string{"toolpost_request", "toolpost_bodies"} {
		if _, err := s.db.ExecContext(ctx, `DELETE FROM `+table+` WHERE at < $1`, before.UnixMilli()); err != nil {
			return failed(err)
		}
	}
	if _, err := s.db.ExecContext(ctx, `DELETE FROM toolpost_hold WHERE until_at <= $1`, now.Unix()); err != nil {
		return failed(err)
	}
	for per, length := range map[Period]time.Duration{Minute: time.Minute, Day: 24 * time.Hour, Month: 31 * 24 * time.Hour} {
		if _, err := s.db.ExecContext(ctx, `DELETE FROM toolpost_count WHERE per = $1 AND begin_at < $2`, string(per), now.Add(-length-countsKept).Unix()); err != nil {
			return failed(err)
		}
	}
	return nil
}
