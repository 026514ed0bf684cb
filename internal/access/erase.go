package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Erasure is what is erased of a team.
type Erasure struct {
	Team string
	// User is an end user of the team, whose requests and bodies are erased; the sums lose only the name. If it is "",
	// everything of the team is erased.
	User string
	// Scopes are those of the team and its keys. Records are their records.
	Scopes  []string
	Records []Row
}

// ErrNoOne is the error of an erasure that names no team.
var ErrNoOne = errors.New("access: name the team whose data shall be erased")

// Erase deletes all data of a team, or of one of its end users: log, bodies, sums, and with the team its keys, limits,
// counts and audit log. Only the erasure remains in the audit log.
func (b *Book) Erase(ctx context.Context, team, user string) error {
	if team == "" {
		return ErrNoOne
	}
	e := Erasure{Team: team, User: clip(user)}
	of := team
	if user != "" {
		of = team + "/an end user" // the name would be data of the user
	} else {
		keys, err := b.Keys(ctx)
		if err != nil {
			return err
		}
		if err := b.isTeam(ctx, team, keys); err != nil {
			return err
		}
		e.Scopes, e.Records = []string{"team:" + team}, []Row{{Kind: teamRecord, ID: team}}
		for _, k := range keys {
			if k.Team == team {
				e.Scopes, e.Records = append(e.Scopes, "key:"+k.ID), append(e.Records, Row{Kind: keyRecord, ID: k.ID})
			}
		}
		rows, err := b.Store.List(ctx, auditRecord)
		if err != nil {
			return err
		}
		for _, row := range rows {
			var c AuditEntry
			if err := json.Unmarshal(row.Doc, &c); err != nil {
				return fmt.Errorf("access: the record of %s %s cannot be read: %w", auditRecord, row.ID, err)
			}
			if c.Team == team {
				e.Records = append(e.Records, row)
			}
		}
	}
	if err := b.Store.Erase(ctx, e); err != nil {
		return fmt.Errorf("access: the data of %.100q are not erased: %w", team, err)
	}
	return b.changed(ctx, "erase", of, team, nil)
}
