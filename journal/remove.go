package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Remover is a [Store] that can remove a whole run.
type Remover interface {
	// Remove removes a run with its signatures. A run with an owner is a *HeldError. A run
	// that does not exist is no error.
	Remove(ctx context.Context, run string) error
}

// Remove implements [Remover].
func (d *Dir) Remove(ctx context.Context, run string) error {
	l, err := d.Lease(ctx, run)
	if err != nil {
		return err
	}
	for _, file := range []string{d.File(run), d.File(run)[:len(d.File(run))-len(extension)] + ".sig"} {
		if gone := os.Remove(file); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("journal: %w", gone))
		}
	}
	d.mu.Lock()
	delete(d.runs, run)
	d.mu.Unlock()
	return errors.Join(err, d.Release(ctx, l))
}

// Remove implements [Remover].
func (s *SQL) Remove(ctx context.Context, run string) error {
	l, err := s.Lease(ctx, run)
	if err != nil {
		return err
	}
	if _, err = s.db.ExecContext(ctx, `DELETE FROM toolpost_journal WHERE run = $1`, run); err != nil {
		err = fmt.Errorf("journal: %w", err)
	}
	s.forget(run)
	return errors.Join(err, s.Release(ctx, l))
}
