// Package tables brings the tables of a database of SQLite or PostgreSQL up to date.
package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Set is a group of tables with one version.
type Set struct {
	// ID identifies the set in its database: 1 is the journal, 2 the gateway's keys and spend, 3 the gateway's state between
	// requests.
	ID int
	// Versions are the statements that migrate the tables to each version from the previous one; the first creates them.
	// They use the part of SQL that SQLite and PostgreSQL share. Only append to this list.
	Versions [][]string
}

const (
	createSchema = `CREATE TABLE IF NOT EXISTS toolpost_schema (
	id      INTEGER PRIMARY KEY,
	version INTEGER NOT NULL)`
	insertSchema = `INSERT INTO toolpost_schema (id, version) VALUES ($1, 0) ON CONFLICT (id) DO NOTHING`
	// holdSchema changes no data. It locks the table, so that other migrations wait.
	holdSchema   = `UPDATE toolpost_schema SET version = version WHERE id = $1`
	selectSchema = `SELECT version FROM toolpost_schema WHERE id = $1`
	updateSchema = `UPDATE toolpost_schema SET version = $1 WHERE id = $2`
)

// NewerError reports tables that a newer version of this program created.
type NewerError struct{ Version, Known int }

// Error returns both versions and the remedy.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the tables in the database are of version %d, and this version of toolpost knows versions up to %d; use a newer version", e.Version, e.Known)
}

// Migrate brings the tables up to date. If several processes migrate at once, one does the work and the others
// wait or try again. Tables of a newer version are a *[NewerError], and are left alone.
func (s Set) Migrate(ctx context.Context, db *sql.DB) error {
	const longest = 200 * time.Millisecond // a longer failure has another cause than a concurrent migration
	for wait := time.Millisecond; ; wait *= 2 {
		var version int
		if err := db.QueryRowContext(ctx, selectSchema, s.ID).Scan(&version); err == nil {
			if newer := s.check(version); newer != nil || version == len(s.Versions) {
				return newer
			}
		}
		err := Patiently(ctx, func() error { return s.migrateOnce(ctx, db) })
		if newer := new(NewerError); err == nil || errors.As(err, &newer) {
			return err
		}
		if wait > longest || ctx.Err() != nil {
			return err
		}
		select { // two processes that create a table at once can both fail
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// Check returns a *[NewerError] if the tables are of a newer version. It changes nothing.
func (s Set) Check(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, selectSchema, s.ID).Scan(&version); err != nil {
		return nil // there are no tables yet, or Migrate reports the error
	}
	return s.check(version)
}

func (s Set) check(version int) error {
	if version > len(s.Versions) {
		return &NewerError{version, len(s.Versions)}
	}
	return nil
}

// migrateOnce makes the missing versions of the tables in one transaction.
func (s Set) migrateOnce(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, createSchema); err != nil {
		return err
	}
	for _, statement := range []string{insertSchema, holdSchema} {
		if _, err := tx.ExecContext(ctx, statement, s.ID); err != nil {
			return err
		}
	}
	var version int
	if err := tx.QueryRowContext(ctx, selectSchema, s.ID).Scan(&version); err != nil {
		return err
	}
	if err := s.check(version); err != nil {
		return err
	}
	for ; version < len(s.Versions); version++ {
		for _, statement := range s.Versions[version] {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	if _, err := tx.ExecContext(ctx, updateSchema, version, s.ID); err != nil {
		return err
	}
	return tx.Commit()
}
