package admin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/journal"
)

func (a *Handler) approvals(r *http.Request) (any, error) {
	list, err := a.Approvals.Waiting(r.Context())
	return map[string]any{"approvals": list}, err
}

// Decision is an administrator's decision about a waiting call.
type Decision struct {
	Decision string `json:"decision"` // approve or deny
	By       string `json:"by"`       // name of the person
	Reason   string `json:"reason"`
	// Unseen approves the call although part of the arguments is hidden.
	Unseen bool `json:"unseen"`
	// ParamsHash is the hash of the arguments that the person saw. "" means the current arguments.
	ParamsHash journal.Hash `json:"params_hash"`
	// Args replaces the arguments of the call. Value answers a question of the tool.
	Args  json.RawMessage `json:"args"`
	Value json.RawMessage `json:"value"`
}

// The values of Decision.Decision, and the longest name and reason.
const (
	approveWord = "approve"
	denyWord    = "deny"
	maxWords    = 1000
)

// Approved reports whether the call may run.
func (d Decision) Approved() bool { return d.Decision == approveWord }

func (d *Decision) check() error {
	switch {
	case d.Decision != approveWord && d.Decision != denyWord:
		return Invalidf("decision: %.40q is neither approve nor deny", d.Decision)
	case strings.TrimSpace(d.By) == "":
		return Invalidf("by is missing: name who decides, for the record")
	case len(d.By) > maxWords || len(d.Reason) > maxWords:
		return Invalidf("by and reason have at most %d bytes", maxWords)
	}
	return nil
}

// decide records a decision about a waiting call. It does not run the call.
func (a *Handler) decide(r *http.Request) (any, error) {
	var d Decision
	if err := cmp.Or(read(r, &d), d.check()); err != nil {
		return nil, err
	}
	return a.Approvals.Decide(r.Context(), r.PathValue("id"), d)
}
