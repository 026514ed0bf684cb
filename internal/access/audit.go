package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// auditRecord is the kind of the records of changes.
const auditRecord = "audit"

// AuditEntry is a change of keys or teams, for the audit log.
type AuditEntry struct {
	At     time.Time       `json:"at"`
	By     string          `json:"by"`     // name of the administrator; see [WithActor]
	Action string          `json:"action"` // such as "create key"
	Of     string          `json:"of"`     // id of the key, or name of the team
	Team   string          `json:"team"`
	After  json.RawMessage `json:"after,omitempty"` // the key or the team after the change, without secrets
}

type actorKey struct{}

// WithActor returns a context whose changes are in the audit log under the name of an administrator.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, clip(name))
}

// changed writes the audit log. The change has been made, and an error says so.
func (b *Book) changed(ctx context.Context, action, of, team string, after any) error {
	by, _ := ctx.Value(actorKey{}).(string)
	doc, err := json.Marshal(after)
	if err != nil {
		return err
	}
	now := b.now()
	doc, err = json.Marshal(AuditEntry{At: now, By: cmp.Or(by, "unknown"), Action: action, Of: of, Team: team, After: doc})
	if err != nil {
		return err
	}
	if err := b.Store.Put(ctx, Row{Kind: auditRecord, ID: now.Format("20060102150405.000000000") + rand.Text()[:8], Doc: doc}); err != nil {
		return fmt.Errorf("access: %s %s was done, and the audit log could not be written: %w", action, of, err)
	}
	return nil
}

// Audit returns the latest changes of keys and teams, newest first, at most most.
func (b *Book) Audit(ctx context.Context, most int) ([]AuditEntry, error) {
	list, err := list[AuditEntry](ctx, b.Store, auditRecord) // sorted by id, which begins with the time
	slices.Reverse(list)
	return list[:min(len(list), max(most, 0))], err
}
