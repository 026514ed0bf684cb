package tables

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// The statements of stores are the part of SQL that SQLite and PostgreSQL share: parameters are $1,
// $2 and so on, each used once and in order.

// Values returns so many rows of so many parameters, for INSERT.
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

// Statement is one that is prepared once: SQLite would read it anew each time.
type Statement struct {
	Into *(*sql.Stmt)
	Text string
}

// Prepare prepares statements.
func Prepare(ctx context.Context, db *sql.DB, list ...Statement) error {
	for _, s := range list {
		var err error
		if *s.Into, err = db.PrepareContext(ctx, s.Text); err != nil {
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
