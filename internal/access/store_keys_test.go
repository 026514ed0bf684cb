package access_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

func lifeOfAKey(t *testing.T, open opener) {
	c := newClock()
	b := &access.Book{Store: open(t), Now: c.now}
	ctx := t.Context()
	k, first, err := b.Create(ctx, access.Key{Team: "red", Name: "laptop", Models: []string{"fast", "claude-*"}, Expires: noon.Add(48 * time.Hour)})
	if err != nil || !strings.HasPrefix(first, k.ID+"-") || k.Team != "red" {
		t.Fatalf("%+v, %v", k, err)
	}
	g, err := b.Authenticate(ctx, first)
	if err != nil || g.Key.ID != k.ID || g.Team.Name != "red" || !g.Key.AllowsModel("claude-opus") || g.Key.AllowsModel("gpt") {
		t.Fatalf("%+v, %v", g, err)
	}
	for _, wrong := range []string{"", "x", first[:len(first)-1], first + "A", k.ID, k.ID + "-", strings.ToLower(first), strings.Replace(first, "tp-", "sk-", 1), "tp-aaaaaaaaaa-" + first[14:]} {
		if _, err := b.Authenticate(ctx, wrong); reason(t, err) != access.WrongKey && reason(t, err) != access.NoKey {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	_, second, err := b.Rotate(ctx, k.ID, time.Hour)
	if err != nil || second == first {
		t.Fatal(err)
	}
	for _, secret := range []string{first, second} {
		if _, err := b.Authenticate(ctx, secret); err != nil {
			t.Errorf("within the hour: %v", err)
		}
	}
	c.pass(time.Hour)
	if _, err := b.Authenticate(ctx, first); reason(t, err) != access.WrongKey {
		t.Errorf("after the hour: %v", err)
	}
	c.pass(47 * time.Hour)
	if _, err := b.Authenticate(ctx, second); reason(t, err) != access.Expired {
		t.Errorf("expired: %v", err)
	}
	again := &access.Book{Store: open(t), Now: newClock().now}
	if _, err := again.Authenticate(ctx, second); err != nil {
		t.Errorf("opened again: %v", err)
	}
	if _, err := again.Revoke(ctx, k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Authenticate(ctx, second); reason(t, err) != access.Revoked {
		t.Errorf("revoked: %v", err)
	}
	if _, _, err := b.Rotate(ctx, k.ID, 0); err == nil {
		t.Error("a revoked key was rotated")
	}
	if _, err := b.Revoke(ctx, "tp-nobody"); err == nil {
		t.Error("a key that is not there was revoked")
	}
	if keys, err := b.Keys(ctx); err != nil || len(keys) != 1 || keys[0].State(c.now()) != "revoked" {
		t.Errorf("%+v, %v", keys, err)
	}
}

// changesAtOnce checks that no change is lost: a key that is rotated while it is revoked stays revoked.
func changesAtOnce(t *testing.T, open opener) {
	b := &access.Book{Store: open(t), Now: newClock().now}
	k, _, err := b.Create(t.Context(), access.Key{Team: "red"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { _, _, _ = b.Rotate(t.Context(), k.ID, 0) }) // fails once the key is revoked
		wg.Go(func() {
			if _, err := b.Revoke(t.Context(), k.ID); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if keys, err := b.Keys(t.Context()); err != nil || keys[0].State(noon) != "revoked" {
		t.Errorf("%+v, %v", keys, err)
	}
}

// noSecrets checks that no store contains a secret.
func noSecrets(t *testing.T, open opener) {
	store := open(t)
	b := &access.Book{Store: store, Now: newClock().now}
	_, first := create(t, b, access.Key{})
	keys, _ := b.Keys(t.Context())
	_, second, err := b.Rotate(t.Context(), keys[0].ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	records, err := store.List(context.WithoutCancel(t.Context()), "key")
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, secret := range []string{first, second} {
		if strings.Contains(string(records[0].Doc), secret[len(keys[0].ID)+1:]) {
			t.Errorf("the store holds a secret: %s", records[0].Doc)
		}
	}
}

// TestDescriptions checks invalid names, limits and patterns of a key.
func TestDescriptions(t *testing.T) {
	b := &access.Book{Store: new(access.Memory), Now: newClock().now}
	long := strings.Repeat("x", 300)
	for _, k := range []access.Key{
		{}, {Team: "a\nb"}, {Team: " a"}, {Team: long}, {Team: "a", Name: "\x1b[31m"}, {Team: "a", Name: "x\u2028y"}, {Team: "a", Models: []string{""}},
		{Team: "a", Tools: []string{long}}, {Team: "a", Routes: []string{"a\r\nb"}}, {Team: "a", Expires: noon},
		{Team: "a", Limits: []access.Quota{{Unit: "apples", Per: access.Day}}}, {Team: "a", Limits: []access.Quota{{Unit: access.Money, Per: "week"}}},
		{Team: "a", Limits: limit(t, "money/day=1", "money/day=2")}, {Team: "a", Limits: []access.Quota{{Unit: access.Money, Per: access.Day, Most: -1}}},
		{Team: "a", Limits: []access.Quota{{Unit: access.Money, Per: access.Day, Most: 1 << 62}}},
		// Empty lists would allow everything.
		{Team: "a", Models: []string{}}, {Team: "a", Tools: []string{}}, {Team: "a", Routes: []string{}}, {Team: "a", Limits: []access.Quota{}},
		{Team: "a", Models: []string{"fast", ""}}, {Team: "a", Models: []string{"fast", " slow"}}, {Team: "a", Tools: []string{" "}},
	} {
		if _, _, err := b.Create(t.Context(), k); err == nil {
			t.Errorf("%+v was made", k)
		}
	}
	for _, s := range []string{"", "money", "money/day", "money/day=", "money/day=-1", "tokens/day=1.5", "money/week=1", "apples/day=1", "tokens/day=99999999999999999999", "money/day=nan"} {
		if l, err := access.ParseQuota(s); err == nil {
			t.Errorf("%q is %v", s, l)
		}
	}
	for s, want := range map[string]string{"money/month=50": "money/month=50.00", "tokens/day=5": "tokens/day=5", "money/total=$0.5": "money/total=0.50"} {
		if l, err := access.ParseQuota(s); err != nil || l.String() != want {
			t.Errorf("%q: %s, %v", s, l, err)
		}
	}
}

// TestPatterns checks the names that patterns allow.
func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"fast", "fast", true}, {"fast", "faster", false}, {"fast", "Fast", false}, {"claude-*", "claude-", true}, {"claude-*", "claud", false},
		{"*", "", true}, {"*", "any/thing", true}, {"*-mini", "gpt-mini", true}, {"*-mini", "gpt-mini-2", false}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "acb", false},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"**", "x", true}, {"none", "web_search", false},
	} {
		k := access.Key{Models: []string{test.pattern}, Tools: []string{test.pattern}, Routes: []string{test.pattern}}
		if k.AllowsModel(test.name) != test.want || k.AllowsTool(test.name) != test.want || k.AllowsRoute(test.name) != test.want {
			t.Errorf("%q, %q: not %t", test.pattern, test.name, test.want)
		}
	}
	if k := new(access.Key); !k.AllowsModel("x") {
		t.Error("a key without patterns does not allow all")
	}
}

// TestRotateTwice checks that each secret of a key is valid for its own grace period, that a rotation without one ends
// all of them, and that their number is limited.
func TestRotateTwice(t *testing.T) {
	at := newClock()
	b := &access.Book{Store: new(access.Memory), Now: at.now}
	k, first, err := b.Create(t.Context(), access.Key{Team: "a"})
	if err != nil {
		t.Fatal(err)
	}
	rotate := func(grace time.Duration) string {
		t.Helper()
		_, secret, err := b.Rotate(t.Context(), k.ID, grace)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	good := func(when string, want bool, secrets ...string) {
		t.Helper()
		for i, s := range secrets {
			if _, err := b.Authenticate(t.Context(), s); (err == nil) != want {
				t.Errorf("%s: secret %d: %v", when, i+1, err)
			}
		}
	}
	second := rotate(24 * time.Hour)
	at.pass(time.Hour)
	third := rotate(time.Hour)
	good("within both grace times", true, first, second, third)
	at.pass(time.Hour)
	good("after the second grace time", true, first, third)
	good("after the second grace time", false, second)
	at.pass(22 * time.Hour)
	good("after the first grace time", false, first, second)
	good("after the first grace time", true, third)
	fourth := rotate(time.Hour)
	good("again", true, third, fourth)
	fifth := rotate(0)
	good("without grace", false, first, second, third, fourth)
	good("without grace", true, fifth)
	for range 8 {
		rotate(time.Hour)
	}
	if _, _, err := b.Rotate(t.Context(), k.ID, time.Hour); err == nil || !strings.Contains(err.Error(), "earlier secrets") {
		t.Errorf("a ninth earlier secret: %v", err)
	}
	rotate(0)
}

// TestChange checks that an invalid change has no effect, and that a change keeps secret, team and earlier secrets.
func TestChange(t *testing.T) {
	b := &access.Book{Store: new(access.Memory)}
	k, secret, err := b.Create(t.Context(), access.Key{Team: "red", Models: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Change(t.Context(), k.ID, func(k *access.Key) { k.Team, k.ID, k.Name, k.Models = "blue", "x", "laptop", []string{"b"} })
	if err != nil || got.Team != "red" || got.ID != k.ID || got.Name != "laptop" || !got.AllowsModel("b") || got.AllowsModel("a") {
		t.Errorf("%+v, %v", got, err)
	}
	for _, wrong := range []func(*access.Key){
		func(k *access.Key) { k.Models = []string{} },
		func(k *access.Key) { k.Expires = time.Now().Add(-time.Hour) },
	} {
		if _, err := b.Change(t.Context(), k.ID, wrong); err == nil {
			t.Error("what cannot be meant is taken over")
		}
	}
	if g, err := b.Authenticate(t.Context(), secret); err != nil || g.Key.Name != "laptop" || !g.Key.AllowsModel("b") {
		t.Errorf("%+v, %v", g, err)
	}
	if got, err := b.Change(t.Context(), k.ID, func(k *access.Key) { k.Models = []string{"*"} }); err != nil || got.Models != nil {
		t.Errorf("a bound that is taken away stays: %+v, %v", got, err)
	}
	if _, _, err := b.Rotate(t.Context(), k.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	if keys, err := b.Keys(t.Context()); err != nil || len(keys[0].EarlierUntil) != 1 {
		t.Errorf("%+v, %v", keys, err)
	}
	if _, err := b.Revoke(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Change(t.Context(), k.ID, func(*access.Key) {}); err == nil {
		t.Error("a revoked key is changed")
	}
	if _, err := b.Change(t.Context(), "tp-nobody", func(*access.Key) {}); !errors.Is(err, access.ErrNotThere) {
		t.Error(err)
	}
}

// TestParseTime checks the accepted forms of times.
func TestParseTime(t *testing.T) {
	for s, want := range map[string]string{
		"2027-01-31": "2027-01-31T00:00:00Z", "2027-01-31T12:00:00+02:00": "2027-01-31T10:00:00Z", "90m": noon.Add(90 * time.Minute).Format(time.RFC3339),
		"2d": noon.Add(48 * time.Hour).Format(time.RFC3339), "": "", "soon": "", "-1h": "", "1000000h": "", "5": "", "99999999d": "", "1h1d": "",
	} {
		got, err := access.ParseTime(s, noon, false)
		if (err != nil) != (want == "") || err == nil && got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}
