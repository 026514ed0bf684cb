package hosttools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/gateway/internal/admin"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
)

// Desk gives administrators access to the calls that wait for a person.
type Desk struct {
	Store *conversation.Store
	// Tools returns the tools of a route whose calls may wait, or nil if the route refuses them.
	Tools func(route string) *Tools
}

// WaitingCall is a call that waits for a person's approval, as administrators see it.
type WaitingCall struct {
	ID    string `json:"id"`
	Team  string `json:"team,omitempty"`
	Route string `json:"route"`
	Run   string `json:"run"` // the run whose record contains the question
	invoke.Question
	// Hidden reports that part of the arguments is redacted because it looks like a secret. The hidden part may be
	// anything.
	Hidden bool `json:"hidden,omitempty"`

	store journal.Store
	tools *Tools
}

// maxWaiting limits the waiting calls in one list.
const maxWaiting = 1000

// waitingID returns the id of a waiting call. It reveals nothing about the call.
func waitingID(p *pendingCall) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", p.Run, p.Call.ID))
	return "apr_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// waitingCalls returns the calls that wait for a person, oldest first. The questions come from the records; each record
// is read once for all of its calls.
func (d *Desk) waitingCalls(ctx context.Context) ([]WaitingCall, error) {
	kept, err := d.Store.Held(ctx, state.Waiting, maxWaiting)
	if err != nil {
		return nil, &admin.Error{Status: http.StatusServiceUnavailable, Err: errors.New("the state store failed, so waiting calls cannot be listed; retry later")}
	}
	open := make(map[string][]invoke.Question)
	var list []WaitingCall
	for _, e := range kept {
		p, err := readPending(e.Value)
		if err != nil {
			continue // written by another version
		}
		tools := d.Tools(p.Route)
		if tools == nil {
			continue // no route continues this call
		}
		store := tools.Approvals.Store
		if _, read := open[p.Run]; !read {
			if open[p.Run], err = agent.Waiting(ctx, store, p.Run); err != nil && ctx.Err() == nil {
				d.Store.Log.Error("the record of a call that waits cannot be read", "run", p.Run, "call", p.Call.ID, "error", err.Error())
			}
		}
		for _, q := range open[p.Run] {
			if _, late := q.Expired(time.Now()); q.CallID == p.Call.ID && !late {
				list = append(list, WaitingCall{ID: waitingID(p), Team: e.Owner, Route: p.Route, Run: p.Run, Question: q, Hidden: q.Hides(), store: store, tools: tools})
			}
		}
	}
	return list, ctx.Err()
}

// wasWaiting reports whether the call with that id is known but no longer waits.
func (d *Desk) wasWaiting(ctx context.Context, id string) bool {
	kept, _ := d.Store.Held(ctx, state.Waiting, maxWaiting) // the store was read a moment ago
	return slices.ContainsFunc(kept, func(e state.Kept) bool {
		p, err := readPending(e.Value)
		return err == nil && waitingID(p) == id
	})
}

// misfit returns why the call cannot run with other arguments. The call keeps waiting, and the person can correct the
// arguments.
func (c *WaitingCall) misfit(ctx context.Context, args json.RawMessage) error {
	if len(args) == 0 {
		return nil
	}
	set, err := c.tools.offered(ctx)
	if err != nil {
		return &admin.Error{Status: http.StatusServiceUnavailable, Err: errors.New("the tools of the route are unavailable, so args cannot be checked; decide again later")}
	}
	compiled := set.Schema(c.Tool)
	if compiled == nil {
		return nil // running the call reports the unknown tool
	}
	if checked := compiled.Check(args); !checked.Valid() {
		return admin.Invalidf("args do not fit %s: %s", c.Tool, checked.Faults[0].Error())
	}
	return nil
}

// Waiting implements [admin.Approvals].
func (d *Desk) Waiting(ctx context.Context) (any, error) {
	list, err := d.waitingCalls(ctx)
	if list == nil {
		list = []WaitingCall{} // [] in JSON
	}
	return list, err
}

// Decide implements [admin.Approvals].
func (d *Desk) Decide(ctx context.Context, id string, by admin.Decision) (any, error) {
	list, err := d.waitingCalls(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(c WaitingCall) bool { return c.ID == id })
	switch {
	case i < 0 && d.wasWaiting(ctx, id):
		return nil, &admin.Error{Status: http.StatusConflict, Err: errors.New("the call no longer waits: it was decided or has expired")}
	case i < 0:
		return nil, &admin.Error{Status: http.StatusNotFound, Err: errors.New("no call with this id waits: it is over, or the id is wrong")}
	}
	c := list[i]
	approved := by.Approved()
	if approved && c.Hidden && !by.Unseen && len(by.Args) == 0 {
		return nil, &admin.Error{Status: http.StatusConflict, Err: errors.New("the arguments are not shown whole: [stripped:…] hides what looks like a secret, and may be anything; args replaces them, \"unseen\": true approves them unchanged")}
	}
	if err := c.misfit(ctx, by.Args); approved && err != nil {
		return nil, err
	}
	err = agent.Decide(ctx, c.store, c.Run, agent.Grant{Call: c.CallID, Allowed: approved, By: by.By, Reason: by.Reason, ParamsHash: cmp.Or(by.ParamsHash, c.ParamsHash), Args: by.Args, Value: by.Value})
	var held *journal.HeldError
	switch {
	case errors.As(err, &held):
		return nil, &admin.Error{Status: http.StatusConflict, Err: errors.New("the record of the call is being written; decide again in a moment")}
	case errors.Is(err, agent.ErrNotWaiting), errors.Is(err, agent.ErrTooLate):
		return nil, &admin.Error{Status: http.StatusConflict, Err: errors.New(strings.TrimPrefix(err.Error(), "agent: "))}
	case err != nil:
		return nil, admin.Invalidf("%s", strings.TrimPrefix(err.Error(), "agent: "))
	}
	return map[string]string{"id": c.ID, "run": c.Run, "call_id": c.CallID, "decision": by.Decision, "by": by.By}, nil
}
