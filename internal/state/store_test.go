package state_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/internal/state"
)

// clock is a time that tests set.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.at.Store(time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d)) }

// opener opens the same store again, as another gateway would.
type opener func(t *testing.T, c *clock) state.Store

// openDB opens a store in a database.
func openDB(driver, dsn string) opener {
	return func(t *testing.T, c *clock) state.Store {
		t.Helper()
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if driver == "sqlite" {
			db.SetMaxOpenConns(1)
		}
		s, err := state.OpenSQL(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		s.Now = c.now
		return s
	}
}

// onEach runs a test with each kind of store, empty.
func onEach(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("memory", func(t *testing.T) {
		m := new(state.Memory)
		test(t, func(_ *testing.T, c *clock) state.Store { m.Now = c.now; return m })
	})
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.ToSlash(filepath.Join(t.TempDir(), "state.db"))
		test(t, openDB("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"))
	})
	t.Run("postgres", func(t *testing.T) { test(t, openDB("pgx", pgtest.Schema(t, pgtest.Server(t)))) })
}

func key(kind state.Kind, owner, name string) state.Place {
	return state.Place{Kind: kind, Owner: owner, Hash: state.HashOf([]byte(name))}
}

// values returns what is under a key.
func values(t *testing.T, s state.Store, k state.Place) []string {
	t.Helper()
	found, err := s.Get(t.Context(), k.Kind, k.Owner, k.Hash)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, v := range found[k.Hash] {
		list = append(list, string(v))
	}
	return list
}

// TestStore: what is put is found by its kind, owner and hash through any other opening of the store,
// until it ends, is replaced or deleted.
func TestStore(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		c := newClock()
		one, two := open(t, c), open(t, c)
		k := key(state.Answer, "a", "x")
		put := func(k state.Place, item, value string) {
			t.Helper()
			c.pass(time.Millisecond)
			if err := one.Put(t.Context(), state.Kept{Place: k, Item: item, Value: []byte(value), Until: c.now().Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		put(k, "", "first\x00\xff")
		put(k, "", "second\x00\xff")
		if got := values(t, two, k); !slices.Equal(got, []string{"second\x00\xff"}) {
			t.Errorf("got %q", got)
		}
		for _, other := range []state.Place{key(state.Turn, "a", "x"), key(state.Answer, "b", "x"), key(state.Answer, "", "x"), key(state.Answer, "a", "y")} {
			if got := values(t, two, other); got != nil {
				t.Errorf("%v: got %q", other, got)
			}
		}
		for i := range 10 {
			put(key(state.Turn, "a", "x"), fmt.Sprint("item", i), fmt.Sprint(i))
		}
		if got := values(t, two, key(state.Turn, "a", "x")); !slices.Equal(got, []string{"9", "8", "7", "6", "5", "4", "3", "2"}) {
			t.Errorf("alike: %q", got)
		}
		if was, err := two.Delete(t.Context(), k, []byte("another")); was || err != nil {
			t.Errorf("what is another's was deleted: %v", err)
		}
		for _, want := range []bool{true, false} {
			if was, err := two.Delete(t.Context(), k, nil); was != want || err != nil {
				t.Errorf("deleted %t, want %t: %v", was, want, err)
			}
		}
		if got := values(t, one, k); got != nil {
			t.Errorf("after its deletion: %q", got)
		}
		c.pass(time.Hour)
		if got := values(t, one, key(state.Turn, "a", "x")); got != nil {
			t.Errorf("after its end: %q", got)
		}
	})
}

// TestGetMany: many keys are looked up at once, and those that are not there are left out.
func TestGetMany(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		c := newClock()
		s := open(t, c)
		var hashes []state.Hash
		var entries []state.Kept
		for i := range 450 {
			k := key(state.Signature, "a", fmt.Sprint(i))
			hashes = append(hashes, k.Hash)
			if i%2 == 0 {
				entries = append(entries, state.Kept{Place: k, Value: fmt.Append(nil, i), Until: c.now().Add(time.Hour)})
			}
		}
		if err := s.Put(t.Context(), entries...); err != nil {
			t.Fatal(err)
		}
		found, err := s.Get(t.Context(), state.Signature, "a", hashes...)
		if err != nil || len(found) != 225 || string(found[hashes[448]][0]) != "448" || found[hashes[1]] != nil {
			t.Errorf("%d found: %v", len(found), err)
		}
	})
}

// TestClaim: of many who claim a key at once one gets it, and all others learn who; it can renew and
// replace what it has until that has ended, and nobody else can before.
func TestClaim(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		c := newClock()
		stores := []state.Store{open(t, c), open(t, c)}
		k := key(state.Request, "a", "x")
		entry := func(value string, life time.Duration) state.Kept {
			return state.Kept{Place: k, Value: []byte(value), Until: c.now().Add(life), Hold: true}
		}
		var wg sync.WaitGroup
		got := make([]string, 20)
		for i := range got {
			wg.Go(func() {
				held, err := stores[i%2].Claim(context.Background(), entry(fmt.Sprint("run", i), time.Minute), nil)
				if got[i] = string(held); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		winner := got[0]
		own := 0
		for i, v := range got {
			if v != winner {
				t.Errorf("%d was told %s, another %s", i, v, winner)
			}
			if v == fmt.Sprint("run", i) {
				own++
			}
		}
		if own != 1 {
			t.Errorf("%d have it", own)
		}
		claim := func(value string, life time.Duration, mine []byte, want string) {
			t.Helper()
			if held, err := stores[0].Claim(t.Context(), entry(value, life), mine); err != nil || string(held) != want {
				t.Errorf("%q, want %q: %v", held, want, err)
			}
		}
		c.pass(50 * time.Second)
		claim(winner, time.Minute, []byte(winner), winner) // renewed
		c.pass(50 * time.Second)
		claim("other", time.Minute, nil, winner)
		claim("answer", time.Minute, []byte("other"), winner)
		claim("answer", time.Minute, []byte(winner), "answer")
		c.pass(2 * time.Minute)
		claim("later", time.Minute, nil, "later")
	})
}

// TestFairShare: a value that is too large is refused. If a kind is full, the owners with the most bytes lose their
// oldest entries, and other owners and entries that are held lose nothing.
func TestFairShare(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		c := newClock()
		s := open(t, c)
		put := func(e state.Kept) error {
			c.pass(time.Millisecond)
			e.Until = c.now().Add(24 * time.Hour)
			return s.Put(t.Context(), e)
		}
		if err := put(state.Kept{Place: key(state.Request, "a", "x"), Value: make([]byte, 3<<20)}); !errors.Is(err, state.ErrTooLarge) {
			t.Errorf("a large value: %v", err)
		}
		mine, held := key(state.Signature, "me", "x"), key(state.Signature, "you", "held")
		if err := errors.Join(put(state.Kept{Place: mine, Value: []byte("v")}), put(state.Kept{Place: held, Value: []byte("v"), Hold: true})); err != nil {
			t.Fatal(err)
		}
		state.SmallRoom(t)
		for i := range 80 {
			for _, owner := range []string{"you", "they"}[:1+i%2] { // they have half as much
				if err := put(state.Kept{Place: key(state.Signature, owner, fmt.Sprint(i)), Value: make([]byte, 1<<20)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, k := range []state.Place{mine, held, key(state.Signature, "you", "79"), key(state.Signature, "you", "50"), key(state.Signature, "they", "19")} {
			if values(t, s, k) == nil {
				t.Errorf("%v is gone", k)
			}
		}
		for _, k := range []state.Place{key(state.Signature, "you", "47"), key(state.Signature, "they", "15")} {
			if values(t, s, k) != nil {
				t.Errorf("%v is more than a fair share", k)
			}
		}
	})
}

// TestFull: who has too many entries that are held gets no more, until some have ended.
func TestFull(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		state.FewHeld(t, state.Request, 5)
		c := newClock()
		s := open(t, c)
		claim := func(owner string, i int, mine []byte) error {
			_, err := s.Claim(t.Context(), state.Kept{Place: key(state.Request, owner, fmt.Sprint(i)), Value: []byte("run"), Until: c.now().Add(time.Hour), Hold: true}, mine)
			return err
		}
		for i := range 5 {
			if err := claim("a", i, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := claim("a", 6, nil); !errors.Is(err, state.ErrFull) {
			t.Errorf("one too many: %v", err)
		}
		if err := errors.Join(claim("b", 6, nil), claim("a", 1, []byte("run"))); err != nil {
			t.Errorf("another owner, and one that is there: %v", err)
		}
		c.pass(2 * time.Hour)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := claim("a", 6, nil); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// TestFullAtOnce: calls that wait are counted before each, by every gateway that shares the store; what is there already is found all the same, and what has
// ended or is over leaves its place at once.
func TestFullAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		state.FewHeld(t, state.Waiting, 3)
		c := newClock()
		one, two := open(t, c), open(t, c)
		claim := func(s state.Store, owner string, i int) (string, error) {
			v, err := s.Claim(t.Context(), state.Kept{Place: key(state.Waiting, owner, fmt.Sprint(i)), Value: fmt.Appendf(nil, "call %d", i), Until: c.now().Add(time.Hour), Hold: true}, nil)
			return string(v), err
		}
		for i, s := range []state.Store{one, two, one} {
			if v, err := claim(s, "a", i); err != nil || v != fmt.Sprintf("call %d", i) {
				t.Fatal(v, err)
			}
		}
		for _, s := range []state.Store{one, two} {
			if v, err := claim(s, "a", 3); !errors.Is(err, state.ErrFull) {
				t.Errorf("one too many: %q, %v", v, err)
			}
			if v, err := s.Claim(t.Context(), state.Kept{Place: key(state.Waiting, "a", "1"), Value: []byte("another"), Until: c.now().Add(time.Hour), Hold: true}, nil); err != nil || string(v) != "call 1" {
				t.Errorf("one that is there: %q, %v", v, err)
			}
		}
		if _, err := claim(two, "b", 3); err != nil {
			t.Errorf("another owner: %v", err)
		}
		if _, err := two.Delete(t.Context(), key(state.Waiting, "a", "2"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := claim(one, "a", 3); err != nil {
			t.Errorf("one is over: %v", err)
		}
		c.pass(2 * time.Hour)
		if _, err := claim(two, "a", 4); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// TestHeld: entries that are not dropped are listed for all owners, the oldest first, with all that is known of
// them; those that have ended, that may be dropped or that are of another kind are not.
func TestHeld(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		c := newClock()
		one, two := open(t, c), open(t, c)
		var want []state.Kept
		for i := range 6 {
			c.pass(time.Millisecond)
			e := state.Kept{Place: key(state.Waiting, fmt.Sprint("team", 6-i), fmt.Sprint(i)), Value: fmt.Append(nil, i), Until: c.now().Add(time.Hour).Truncate(time.Microsecond), Hold: true}
			if _, err := one.Claim(t.Context(), e, nil); err != nil {
				t.Fatal(err)
			}
			want = append(want, e)
		}
		ended, loose, other := want[0], want[0], want[0]
		ended.Hash, ended.Until = state.HashOf([]byte("ended")), c.now().Add(-time.Second)
		loose.Hash, loose.Hold = state.HashOf([]byte("loose")), false
		other.Kind = state.Request
		if err := one.Put(t.Context(), ended, loose); err != nil {
			t.Fatal(err)
		}
		if err := one.Put(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		for _, most := range []int{100, 6, 4} {
			got, err := two.Held(t.Context(), state.Waiting, most)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want[:min(most, 6)]) {
				t.Errorf("most %d: %v\n%v\n%v", most, err, got, want)
			}
		}
	})
}

// TestErase checks that all entries of an owner are deleted, and no others.
func TestErase(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		c := newClock()
		s := open(t, c)
		for _, owner := range []string{"red", "blue"} {
			for _, kind := range []state.Kind{state.Answer, state.Waiting} {
				e := state.Kept{Place: key(kind, owner, "x"), Value: []byte("v"), Until: c.now().Add(time.Hour), Hold: kind == state.Waiting}
				if _, err := s.Claim(t.Context(), e, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Erase(t.Context(), "red"); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []state.Kind{state.Answer, state.Waiting} {
			for owner, want := range map[string]int{"red": 0, "blue": 1} {
				p := key(kind, owner, "x")
				if found, err := s.Get(t.Context(), kind, owner, p.Hash); err != nil || len(found[p.Hash]) != want {
					t.Error(kind, owner, found, err)
				}
			}
		}
	})
}
