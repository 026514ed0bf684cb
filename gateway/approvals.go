package gateway

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
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
)

// WaitingCall is a call that waits for a person, as administrators are told of it.
type WaitingCall struct {
	ID    string `json:"id"`
	Team  string `json:"team,omitempty"`
	Route string `json:"route"`
	Run   string `json:"run"` // whose record has the question
	invoke.Question
	// Hidden says that part of the arguments is not shown, because it looks like a secret. It may be
	// anything.
	Hidden bool `json:"hidden,omitempty"`

	store journal.Store
	tools *ServedTools
}

// maxWaiting bounds the calls that administrators are told of at once.
const maxWaiting = 1000

// waitingID is the id of a call that waits. It says nothing of the call.
func waitingID(p *pendingCall) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", p.Run, p.Call.ID))
	return "apr_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// waitingCalls returns the calls that wait for a person, the oldest first. What each is comes from its record, which
// is asked once for all of its calls.
func (g *Gateway) waitingCalls(ctx context.Context) ([]WaitingCall, error) {
	kept, err := g.store.Held(ctx, state.Waiting, maxWaiting)
	if err != nil {
		return nil, &adminError{status: http.StatusServiceUnavailable, err: errors.New("it cannot be found out now which calls wait")}
	}
	open := make(map[string][]invoke.Question)
	var list []WaitingCall
	for _, e := range kept {
		p, err := readPending(e.Value)
		if err != nil {
			continue // of another version
		}
		tools := g.waitingTools(p.Route)
		if tools == nil {
			continue // no route goes on with it
		}
		store := tools.Approvals.Store
		if _, read := open[p.Run]; !read {
			if open[p.Run], err = agent.Waiting(ctx, store, p.Run); err != nil && ctx.Err() == nil {
				g.settings.Log.Error("the record of a call that waits cannot be read", "run", p.Run, "call", p.Call.ID, "error", err.Error())
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

// waitingTools are the tools of a route whose calls wait; nil if they are refused there.
func (g *Gateway) waitingTools(model string) *ServedTools {
	i := slices.IndexFunc(g.routes, func(r *route) bool { return r.Model == model && r.Tools != nil && r.Tools.Approvals != nil })
	if i < 0 {
		return nil
	}
	return g.routes[i].Tools
}

// wasWaiting reports whether a call of that id is known that does not wait any more.
func (g *Gateway) wasWaiting(ctx context.Context, id string) bool {
	kept, _ := g.store.Held(ctx, state.Waiting, maxWaiting) // which was asked just now
	return slices.ContainsFunc(kept, func(e state.Kept) bool {
		p, err := readPending(e.Value)
		return err == nil && waitingID(p) == id
	})
}

// misfit says why the call cannot be run with other arguments: the question stays open, so that who decides can mend them.
func (c *WaitingCall) misfit(ctx context.Context, args json.RawMessage) error {
	if len(args) == 0 {
		return nil
	}
	set, err := c.tools.Tools(ctx)
	if err != nil {
		return &adminError{status: http.StatusServiceUnavailable, err: errors.New("the tools of the route are not there now, so args cannot be checked; decide again later")}
	}
	compiled := set.Schema(c.Tool)
	if compiled == nil {
		return nil // running it says that there is no such tool
	}
	if checked := compiled.Check(args); !checked.Valid() {
		return bad("args do not fit %s: %s", c.Tool, checked.Faults[0].Error())
	}
	return nil
}

// Administration is what the administrators of a gateway look after.
type Administration struct {
	// Book has the keys and what they use.
	Book *access.Book
	// Live is the gateway whose waiting calls they decide about; nil for none.
	Live *Live
	// Key is theirs, and Hosts are the names of this machine that they may use beside those of loopback.
	Key   string
	Hosts []string
	// BodyTime is how long they may take to send a request, and WriteTime how long they may leave a piece of
	// an answer unread. 0 means 10 seconds and 2 minutes. What they ask for may take as long as it takes.
	BodyTime, WriteTime time.Duration
}

func (a *admin) approvals(r *http.Request) (any, error) {
	list, err := a.live.now.Load().waitingCalls(r.Context())
	return map[string]any{"approvals": notNil(list)}, err
}

// callDecision is what an administrator decides about a call.
type callDecision struct {
	Decision string `json:"decision"` // approve or deny
	By       string `json:"by"`       // who decides
	Reason   string `json:"reason"`
	// Unseen approves although part of the arguments is not shown.
	Unseen bool `json:"unseen"`
	// ParamsHash is that of the arguments that the person was shown, if it is to count.
	ParamsHash journal.Hash `json:"params_hash"`
	// Args has the call run with other arguments, and Value answers what a tool asks.
	Args  json.RawMessage `json:"args"`
	Value json.RawMessage `json:"value"`
}

// The decisions, and how long a name and a reason may be.
const (
	approveWord = "approve"
	denyWord    = "deny"
	maxWords    = 1000
)

func (d *callDecision) check() error {
	switch {
	case d.Decision != approveWord && d.Decision != denyWord:
		return bad("decision: %.40q is neither approve nor deny", d.Decision)
	case strings.TrimSpace(d.By) == "":
		return bad("by is missing: it is who decides, for the record")
	case len(d.By) > maxWords || len(d.Reason) > maxWords:
		return bad("by and reason have at most %d bytes", maxWords)
	}
	return nil
}

// decide records what an administrator decides about a call that waits. Nothing is run by that.
func (a *admin) decide(r *http.Request) (any, error) {
	var d callDecision
	if err := cmp.Or(read(r, &d), d.check()); err != nil {
		return nil, err
	}
	g := a.live.now.Load()
	list, err := g.waitingCalls(r.Context())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(c WaitingCall) bool { return c.ID == r.PathValue("id") })
	switch {
	case i < 0 && g.wasWaiting(r.Context(), r.PathValue("id")):
		return nil, &adminError{status: http.StatusConflict, err: errors.New("the call does not wait any more: it was decided, or its time is over")}
	case i < 0:
		return nil, &adminError{status: http.StatusNotFound, err: errors.New("no such call waits: it is over, or it never was")}
	}
	c := list[i]
	approved := d.Decision == approveWord
	if approved && c.Hidden && !d.Unseen && len(d.Args) == 0 {
		return nil, &adminError{status: http.StatusConflict, err: errors.New("the arguments are not shown whole: [stripped:…] stands for what looks like a secret, and may be anything; args gives them anew, \"unseen\": true approves them as they are")}
	}
	if err := c.misfit(r.Context(), d.Args); approved && err != nil {
		return nil, err
	}
	err = agent.Decide(r.Context(), c.store, c.Run, agent.Grant{Call: c.CallID, Allowed: approved, By: d.By, Reason: d.Reason, ParamsHash: cmp.Or(d.ParamsHash, c.ParamsHash), Args: d.Args, Value: d.Value})
	var held *journal.HeldError
	switch {
	case errors.As(err, &held):
		return nil, &adminError{status: http.StatusConflict, err: errors.New("the record of the call is being written; decide again in a moment")}
	case errors.Is(err, agent.ErrNotWaiting), errors.Is(err, agent.ErrTooLate):
		return nil, &adminError{status: http.StatusConflict, err: errors.New(strings.TrimPrefix(err.Error(), "agent: "))}
	case err != nil:
		return nil, bad("%s", strings.TrimPrefix(err.Error(), "agent: "))
	}
	return map[string]string{"id": c.ID, "run": c.Run, "call_id": c.CallID, "decision": d.Decision, "by": d.By}, nil
}
