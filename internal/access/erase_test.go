package access_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

// erasure checks that all data of an end user and of a team can be erased, that those of others stay with their sums,
// and that the audit log names who did it.
func erasure(t *testing.T, open opener) {
	b := &access.Book{Store: open(t)}
	ctx := access.WithActor(t.Context(), "ada")
	red, _ := create(t, b, access.Key{Team: "red", Limits: limit(t, "tokens/day=1000000")})
	blue, _ := create(t, b, access.Key{Team: "blue"})
	for i, one := range []struct {
		g    *access.Rights
		user string
	}{{red, "bob"}, {red, "eve"}, {red, ""}, {blue, "bob"}} {
		a, err := b.Admit(ctx, one.g, access.Claim{ID: fmt.Sprint("r", i), Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.KeepBodies(ctx, a, access.Bodies{Request: access.KeptBody{Text: "secret"}}); err != nil {
			t.Fatal(err)
		}
		if err := b.Settle(ctx, a, access.LogLine{Status: "ok", Input: 10, User: one.user, Attempts: []access.UpstreamAttempt{{Upstream: "u", Kind: "ok"}}}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, log, users int, input int64) {
		t.Helper()
		lines, err := b.Log(ctx, 10)
		if err != nil || len(lines) != log || len(lines) > 0 && len(lines[0].Attempts) != 1 {
			t.Errorf("%s: %d lines %v", what, len(lines), err)
		}
		sums, err := b.Usage(ctx, time.Time{}, access.ByUser)
		if err != nil || len(sums) != users {
			t.Errorf("%s: %+v %v", what, sums, err)
		}
		all, err := b.Usage(ctx, time.Time{})
		if err != nil || len(all) != 1 || all[0].Input != input {
			t.Errorf("%s: %+v %v", what, all, err)
		}
	}
	check("before", 4, 3, 40)
	if err := b.Erase(ctx, "red", "bob"); err != nil {
		t.Fatal(err)
	}
	check("without an end user of red", 3, 3, 40)
	if _, err := b.Bodies(ctx, "r0"); !errors.Is(err, access.ErrNotThere) {
		t.Error(err)
	}
	if err := b.Erase(ctx, "red", ""); err != nil {
		t.Fatal(err)
	}
	check("without red", 1, 1, 10)
	if _, err := b.Bodies(ctx, "r2"); !errors.Is(err, access.ErrNotThere) {
		t.Error(err)
	}
	if v, err := b.Bodies(ctx, "r3"); err != nil || v.Request.Text != "secret" {
		t.Error(v, err)
	}
	keys, err := b.Keys(ctx)
	if err != nil || len(keys) != 1 || keys[0].Team != "blue" {
		t.Error(keys, err)
	}
	changes, err := b.Audit(ctx, 10)
	if err != nil || len(changes) != 2 || changes[0].Action != "erase" || changes[0].By != "ada" || changes[0].Of != "red" || changes[1].Of != blue.Key.ID {
		t.Errorf("%+v %v", changes, err)
	}
	if err := b.Erase(ctx, "red", ""); !errors.Is(err, access.ErrNotThere) {
		t.Error(err)
	}
	if err := b.Erase(ctx, "", "bob"); !errors.Is(err, access.ErrNoOne) {
		t.Error(err)
	}
}
