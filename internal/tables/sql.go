package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The statements of stores are the part of SQL that SQLite and PostgreSQL share: parameters are $1,
// $2 and so on, each used once and in order.

// Values returns rows of parameters for INSERT.
func Values(rows, columns int) string {
	var b strings.Builder
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for k := range columns {
			if k > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "$%d", i*columns+k+1)
		}
		b.WriteByte(')')
	}
	return b.String()
}

// Statement is a prepared statement. SQLite parses other statements again at each use.
type Statement struct {
	Into *(*sql.Stmt)
	Text string
}

// Prepare prepares statements.
func Prepare(ctx context.Context, db *sql.DB, list ...Statement) error {
	for _, s := range list {
		err := Patiently(ctx, func() (err error) {
			*s.Into, err = db.PrepareContext(ctx, s.Text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Collect reads all rows of an answer, each into the fields of a T.
func Collect[T any](rows *sql.Rows, err error, fields func(*T) []any) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// How long to wait for an SQLite database that another program has locked, and the longest pause between two tries.
const (
	patience    = 1800 * time.Millisecond
	longestWait = 50 * time.Millisecond
)

// Patiently runs op, and again for up to two seconds if another program has locked the database. SQLite's own waiting does
// not end with a context, so give it a busy_timeout of some milliseconds. Op must be one transaction.
func Patiently(ctx context.Context, op func() error) error {
	var end time.Time
	for wait := time.Millisecond; ; wait = min(2*wait, longestWait) {
		err := op()
		if err == nil || !locked(err) || ctx.Err() != nil {
			return err
		}
		if now := time.Now(); end.IsZero() {
			end = now.Add(patience)
		} else if now.After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// The codes of SQLite for a locked database.
const (
	sqliteBusy   = 5
	sqliteLocked = 6
)

// locked reports whether an error says that another program has locked the database.
func locked(err error) bool {
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return false
	}
	code := coded.Code() & 0xff
	return code == sqliteBusy || code == sqliteLocked
}
