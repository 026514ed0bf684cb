package access_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

// TestFilters checks filters of usage and the log in every store, and that unknown teams and keys are errors.
func TestFilters(t *testing.T) {
	for name, prepare := range stores {
		t.Run(name, func(t *testing.T) {
			b := &access.Book{Store: prepare(t)(t)(t)}
			red, _ := create(t, b, access.Key{Team: "red"})
			blue, _ := create(t, b, access.Key{Team: "blue"})
			for i, one := range []struct {
				g     *access.Rights
				model string
				e     access.LogLine
			}{
				{red, "fast", access.LogLine{Status: "ok", Route: "fast", Upstream: "sim/offline"}},
				{red, "big", access.LogLine{Status: "ok"}},
				{blue, "fast", access.LogLine{Status: "ok"}},
				{red, "fast", access.LogLine{Status: "ok"}},
				{blue, "free-x", access.LogLine{Status: "ok", Route: "free-*", Upstream: "sim/x"}},
			} {
				a, err := b.Admit(t.Context(), one.g, access.Claim{ID: fmt.Sprint("r", i), Model: one.model})
				if err == nil {
					err = b.Settle(t.Context(), a, one.e)
				}
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Millisecond) // the log is sorted by time
			}
			if err := b.Refuse(t.Context(), blue, "free-*"); err != nil {
				t.Fatal(err)
			}
			picks(t, b, red.Key, blue.Key)
			notPicked(t, b, blue.Key)
		})
	}
}

func picks(t *testing.T, b *access.Book, red, blue access.Key) {
	t.Helper()
	for _, test := range []struct {
		only                    access.Filter
		requests, refused, logs int
	}{
		{nil, 5, 1, 5},
		{access.Filter{access.ByTeam: "red"}, 3, 0, 3},
		{access.Filter{access.ByKey: blue.ID}, 2, 1, 2},
		{access.Filter{access.ByTeam: "red", access.ByModel: "fast"}, 2, 0, 2},
		{access.Filter{access.ByTeam: "red", access.ByKey: red.ID, access.ByRoute: "fast", access.ByUpstream: "sim/offline", access.ByModel: "fast"}, 1, 0, 1},
		{access.Filter{access.ByRoute: "free-*"}, 1, 1, 1},
		{access.Filter{access.ByModel: "' OR 1=1 --"}, 0, 0, 0},
	} {
		only, err := b.Resolve(t.Context(), test.only)
		if err != nil {
			t.Errorf("%v: %v", test.only, err)
			continue
		}
		list, err := b.UsageOf(t.Context(), only, time.Time{}, access.ByDay)
		var requests, refused int
		for _, u := range list {
			requests, refused = requests+int(u.Requests), refused+int(u.Refused)
		}
		log, logErr := b.LogOf(t.Context(), only, 9)
		if err != nil || logErr != nil || requests != test.requests || refused != test.refused || len(log) != test.logs {
			t.Errorf("%v: %d requests, %d refused, %d in the log; %v, %v", test.only, requests, refused, len(log), err, logErr)
		}
	}
	if log, err := b.LogOf(t.Context(), access.Filter{access.ByTeam: "red"}, 1); err != nil || len(log) != 1 || log[0].ID != "r3" {
		t.Errorf("the latest of a team: %+v, %v", log, err)
	}
}

// notPicked checks invalid filters.
func notPicked(t *testing.T, b *access.Book, blue access.Key) {
	t.Helper()
	for _, only := range []access.Filter{{access.ByTeam: "rde"}, {access.ByKey: "nobody"}, {access.ByTeam: "red", access.ByKey: blue.ID}} {
		if _, err := b.Resolve(t.Context(), only); !errors.Is(err, access.ErrNotThere) {
			t.Errorf("%v: %v", only, err)
		}
	}
	for _, only := range []access.Filter{{access.ByTeam: ""}, {access.ByDay: "2026-11-16"}, {"1 = 1; --": "x"}} {
		_, err := b.Resolve(t.Context(), only)
		_, usageErr := b.UsageOf(t.Context(), only, time.Time{})
		_, logErr := b.LogOf(t.Context(), only, 1)
		if err == nil || usageErr == nil || logErr == nil {
			t.Errorf("%v is picked by: %v, %v, %v", only, err, usageErr, logErr)
		}
	}
}

// TestKeysAreNamed checks that a filter finds a key by its id, its secret and a unique name, and that errors contain no
// secret.
func TestKeysAreNamed(t *testing.T) {
	b := &access.Book{Store: new(access.Memory)}
	var ids, secrets []string
	for _, k := range []access.Key{{Team: "red", Name: "laptop"}, {Team: "blue", Name: "laptop"}, {Team: "blue", Name: "server"}, {Team: "blue"}} {
		k, secret, err := b.Create(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		ids, secrets = append(ids, k.ID), append(secrets, secret)
	}
	for _, test := range []struct {
		team, key, want, says string
	}{
		{"", ids[3], ids[3], ""},
		{"", secrets[3], ids[3], ""},
		{"", "server", ids[2], ""},
		{"red", "laptop", ids[0], ""},
		{"blue", "laptop", ids[1], ""},
		{"", "laptop", "", "several keys have the name \"laptop\""},
		{"", "sever", "", "did you mean \"server\"?"},
		{"red", "server", "", "it is not there"},
		{"red", secrets[3], "", "it is not there"},
		{"rad", "", "", "did you mean \"red\"?"},
	} {
		only := access.Filter{}
		for g, value := range map[access.Grouping]string{access.ByTeam: test.team, access.ByKey: test.key} {
			if value != "" {
				only[g] = value
			}
		}
		got, err := b.Resolve(t.Context(), only)
		if got[access.ByKey] != test.want || (err == nil) != (test.says == "") || err != nil && (!strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), secrets[3])) {
			t.Errorf("%s %s: %v, %v", test.team, test.key, got, err)
		}
	}
}

// TestSearchInTheLog finds one request, those that failed, and reads a list in pages.
func TestSearchInTheLog(t *testing.T) {
	for name, prepare := range stores {
		t.Run(name, func(t *testing.T) { searchedLog(t, prepare(t)(t)(t)) })
	}
}

func searchedLog(t *testing.T, store access.Store) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := &access.Book{Store: store, Now: func() time.Time { return now }}
	red, _ := create(t, b, access.Key{Team: "red"})
	for i := range 10 {
		e := access.LogLine{Status: "ok", User: "ada"}
		if i%4 == 1 {
			e.Status, e.User = "server", ""
		}
		a, err := b.Admit(t.Context(), red, access.Claim{ID: fmt.Sprint("r", i), Model: "fast"})
		if err == nil {
			err = b.Settle(t.Context(), a, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 { // three in the same second
			now = now.Add(time.Second)
		}
	}
	ids := func(q access.LogQuery) (out []string) {
		t.Helper()
		lines, err := b.Search(t.Context(), q)
		if err != nil {
			t.Error(err)
		}
		for _, l := range lines {
			out = append(out, l.ID)
		}
		return out
	}
	for _, c := range []struct {
		q    access.LogQuery
		want []string
	}{
		{access.LogQuery{ID: "r3", Most: 9}, []string{"r3"}},
		{access.LogQuery{ID: "none", Most: 9}, nil},
		{access.LogQuery{ID: "r3", Failed: true, Most: 9}, nil},
		{access.LogQuery{Before: "none", Most: 9}, nil},
		{access.LogQuery{ID: "' OR 1=1 --", Most: 9}, nil},
		{access.LogQuery{Only: access.Filter{access.ByUser: "ada"}, Failed: true, Most: 9}, nil},
	} {
		if got := ids(c.q); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
	if got := ids(access.LogQuery{Failed: true, Most: 9}); len(got) != 3 {
		t.Errorf("failed: %q", got)
	}
	all, paged := ids(access.LogQuery{Most: 100}), []string(nil)
	for before := ""; len(paged) < 100; before = paged[len(paged)-1] {
		page := ids(access.LogQuery{Before: before, Most: 4})
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
	}
	if len(all) != 10 || !slices.Equal(all, paged) {
		t.Errorf("in pages %q, at once %q", paged, all)
	}
}
