package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/internal/tables"
)

// schemas are the statements that make each version of the tables out of the one
// before; the first makes them out of nothing. They are the part of SQL that
// SQLite and PostgreSQL share, and they are only ever added to.
var schemas = [][]string{
	{`CREATE TABLE IF NOT EXISTS toolpost_journal (
	run  TEXT NOT NULL,
	seq  BIGINT NOT NULL,
	line TEXT NOT NULL,
	PRIMARY KEY (run, seq))`},
	// The first version left no number behind, so the second only writes one.
	{},
	{`CREATE TABLE IF NOT EXISTS toolpost_lease (
	run     TEXT NOT NULL PRIMARY KEY,
	token   TEXT NOT NULL,
	process BIGINT NOT NULL,
	host    TEXT NOT NULL,
	since   TEXT NOT NULL)`},
}

// SchemaError says that the tables of a database were made by a newer version.
type SchemaError struct{ Version, Known int }

// Error names the versions and the remedy.
func (e *SchemaError) Error() string {
	return "journal: " + (&tables.NewerError{Version: e.Version, Known: e.Known}).Error()
}

// migrate brings the tables up to date.
func migrate(ctx context.Context, db *sql.DB, schemas [][]string) error {
	err := tables.Set{ID: 1, Versions: schemas}.Migrate(ctx, db)
	if newer := new(tables.NewerError); errors.As(err, &newer) {
		return &SchemaError{newer.Version, newer.Known}
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
