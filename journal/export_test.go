package journal

import (
	"context"
	"database/sql"
	"os"
	"slices"
)

// OnSync calls report with the name of each file the store waits for.
func (d *Dir) OnSync(report func(name string) error) {
	d.flush = func(f *os.File) error { return report(f.Name()) }
}

// SchemaVersion is the version of the tables that OpenSQL makes.
var SchemaVersion = len(schemas)

// MigrateTo brings a database to a version that has more statements.
func MigrateTo(ctx context.Context, db *sql.DB, more ...[]string) error {
	return migrate(ctx, db, append(slices.Clip(schemas), more...))
}

// Put files a line as an entry of a run, whatever it says.
func (s *SQL) Put(run string, seq int64, line string) error {
	_, err := s.db.Exec(insertLine+unlessThere, run, seq, line)
	return err
}

// AppendCanonical appends the canonical form of raw to dst.
var AppendCanonical = appendCanonical

// Lock locks a file as an Append does.
func Lock(f *os.File) (bool, error) { return tryLock(f) }
