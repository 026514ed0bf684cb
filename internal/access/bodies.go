package access

import (
	"context"
	"fmt"
	"time"
)

// Bodies are the request and response bodies kept for the operator. They belong to the log line of the request and are
// deleted with it.
type Bodies struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Team    string    `json:"team"`
	Request KeptBody  `json:"request"`
	Answer  KeptBody  `json:"answer"`
}

// KeptBody is one body, with secrets redacted.
type KeptBody struct {
	Type string `json:"type,omitempty"` // media type
	Size int64  `json:"bytes"`          // of the whole body as sent
	Text string `json:"text,omitempty"`
	// Note reports why Text is incomplete or missing.
	Note string `json:"note,omitempty"`
}

// bodiesTime limits how long storing bodies may take: the client waits for the end of its response.
const bodiesTime = 2 * time.Second

// KeepBodies stores the bodies of an admitted request with its log line. It sets ID, At and Team of v. It ignores the
// cancellation of ctx, because operators also look up requests whose client has disconnected.
func (b *Book) KeepBodies(ctx context.Context, a *Admission, v Bodies) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bodiesTime)
	defer cancel()
	v.ID, v.At, v.Team = a.id, a.at, a.Rights.Key.Team
	return b.Store.KeepBodies(ctx, v)
}

// Bodies returns the bodies of a request. The error is [ErrNotThere] if none were kept or they have been deleted.
func (b *Book) Bodies(ctx context.Context, id string) (Bodies, error) {
	v, err := b.Store.Bodies(ctx, id)
	if err == nil && v.ID == "" {
		err = fmt.Errorf("access: what was asked and answered of the request %.60q: %w", id, ErrNotThere)
	}
	return v, err
}
