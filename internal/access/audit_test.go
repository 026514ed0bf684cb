package access_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/access"
)

// noAudit is a store that cannot write the audit log.
type noAudit struct{ access.Store }

func (s noAudit) Put(ctx context.Context, r access.Row) error {
	if r.Kind == "audit" {
		return errors.New("the disk is full")
	}
	return s.Store.Put(ctx, r)
}

// TestKeyWithoutAuditEntryIsNotValid: a key that cannot be written to the audit log is revoked, because its secret is
// not returned; the error says what was done.
func TestKeyWithoutAuditEntryIsNotValid(t *testing.T) {
	b := &access.Book{Store: noAudit{new(access.Memory)}}
	_, secret, err := b.Create(t.Context(), access.Key{Team: "red"})
	if err == nil || secret != "" || !strings.Contains(err.Error(), "the audit log could not be written: the disk is full") {
		t.Errorf("%q, %v", secret, err)
	}
	keys, err := b.Keys(t.Context())
	if err != nil || len(keys) != 1 || keys[0].Revoked.IsZero() {
		t.Errorf("%+v, %v", keys, err)
	}
}
