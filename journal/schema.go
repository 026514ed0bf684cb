package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
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

const (
	createSchema = `CREATE TABLE IF NOT EXISTS toolpost_schema (
	id      INTEGER PRIMARY KEY,
	version INTEGER NOT NULL)`
	insertSchema = `INSERT INTO toolpost_schema (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING`
	// holdSchema changes nothing; whoever has run it makes others wait.
	holdSchema   = `UPDATE toolpost_schema SET version = version WHERE id = 1`
	selectSchema = `SELECT version FROM toolpost_schema WHERE id = 1`
	updateSchema = `UPDATE toolpost_schema SET version = $1 WHERE id = 1`
)

// SchemaError says that the tables of a database were made by a newer version.
type SchemaError struct{ Version, Known int }

// Error says what is known, and what to do.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("journal: the tables in the database are of version %d, and this version of toolpost knows versions up to %d; use a newer version", e.Version, e.Known)
}

// migrate brings the tables up to date. Of several that do so at once, one does,
// and the others wait for it or try again.
func migrate(ctx context.Context, db *sql.DB, schemas [][]string) error {
	const longest = 200 * time.Millisecond // after that it is not another one who migrates
	for wait := time.Millisecond; ; wait *= 2 {
		var version int
		if err := db.QueryRowContext(ctx, selectSchema).Scan(&version); err == nil {
			if newer := checkSchema(version, schemas); newer != nil || version == len(schemas) {
				return newer
			}
		}
		err := migrateOnce(ctx, db, schemas)
		if newer := new(SchemaError); err == nil || errors.As(err, &newer) {
			return err
		}
		if wait > longest || ctx.Err() != nil {
			return fmt.Errorf("journal: %w", err)
		}
		select { // two that create a table at once can trip over each other
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func checkSchema(version int, schemas [][]string) error {
	if version > len(schemas) {
		return &SchemaError{version, len(schemas)}
	}
	return nil
}

// migrateOnce makes the missing versions of the tables in one transaction.
func migrateOnce(ctx context.Context, db *sql.DB, schemas [][]string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	for _, statement := range []string{createSchema, insertSchema, holdSchema} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	var version int
	if err := tx.QueryRowContext(ctx, selectSchema).Scan(&version); err != nil {
		return err
	}
	if err := checkSchema(version, schemas); err != nil {
		return err
	}
	for ; version < len(schemas); version++ {
		for _, statement := range schemas[version] {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	if _, err := tx.ExecContext(ctx, updateSchema, version); err != nil {
		return err
	}
	return tx.Commit()
}
