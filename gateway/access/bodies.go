package access

import (
	"context"
	"fmt"
	"time"
)

// Bodies are what a request asked and what was answered, for who runs the gateway. They stand beside its line of the log and go with it.
type Bodies struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Team    string    `json:"team"`
	Request KeptBody  `json:"request"`
	Answer  KeptBody  `json:"answer"`
}

// KeptBody is one of them, without secrets.
type KeptBody struct {
	Type string `json:"type,omitempty"` // of media
	Size int64  `json:"bytes"`          // of all of it, as it was sent
	Text string `json:"text,omitempty"`
	// Note says what Text lacks, or why there is none.
	Note string `json:"note,omitempty"`
}

// bodiesTime bounds how long a store may take for bodies: their client waits for the end of its answer.
const bodiesTime = 2 * time.Second

// KeepBodies puts the bodies of a request that was let in beside its line of the log. Of v, it sets whose they are and when. It does
// not end with ctx: a client that is gone is looked for in the log, too.
func (b *Book) KeepBodies(ctx context.Context, a *Admission, v Bodies) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bodiesTime)
	defer cancel()
	v.ID, v.At, v.Team = a.id, a.at, a.Rights.Key.Team
	return b.Store.KeepBodies(ctx, v)
}

// Bodies returns those of a request, or [ErrNotThere]: none were kept, or the log has forgotten them.
func (b *Book) Bodies(ctx context.Context, id string) (Bodies, error) {
	v, err := b.Store.Bodies(ctx, id)
	if err == nil && v.ID == "" {
		err = fmt.Errorf("access: what was asked and answered of the request %.60q: %w", id, ErrNotThere)
	}
	return v, err
}
