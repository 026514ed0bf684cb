package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/catalog"
)

// Book manages the keys of a gateway and their usage. Its fields must not be changed once it is in use.
type Book struct {
	Store Store
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// Alert is called when a key or a team has used a part of a limit per day, per month or in total; nil means never.
	// AlertAt are the parts in percent. It must not wait: a request does until it returns.
	Alert   func(Alert)
	AlertAt []int

	late   late
	writes writes
	holds  holds
}

func (b *Book) now() time.Time {
	if b.Now == nil {
		return time.Now().UTC()
	}
	return b.Now().UTC()
}

// Ground is the reason for refusing a request.
type Ground string

// The reasons for refusing a request.
const (
	NoKey    Ground = "no_key"
	WrongKey Ground = "wrong_key"
	Expired  Ground = "expired"
	Revoked  Ground = "revoked"
	NoModel  Ground = "model"    // the key may not use the model
	NoTool   Ground = "tool"     // the key may not use the tool
	NoRoute  Ground = "route"    // the key may not use the route
	NoMember Ground = "member"   // the request has a field that could bypass a limit of the key
	TooFast  Ground = "rate"     // a limit per minute
	Spent    Ground = "budget"   // any other limit
	Reserved Ground = "reserved" // the limit would be reached if running requests used all of their reservations
	NoPrice  Ground = "price"    // the price is unknown and spending is limited
)

// Refusal is the error of a refused request. It contains no secret.
type Refusal struct {
	Ground Ground
	Detail string
	// RetryAfter is the time until the limit resets; 0 means never.
	RetryAfter time.Duration
	// Rooms are the remaining amounts of each limit, if a limit is the reason.
	Rooms []Room
	// Key and Team are those of a key that is known, but expired or revoked.
	Key, Team string
}

// Error returns the message for the client.
func (r *Refusal) Error() string { return r.Detail }

func refuse(reason Ground, format string, args ...any) error {
	return &Refusal{Ground: reason, Detail: fmt.Sprintf(format, args...)}
}

// maxTries limits how often a change is retried after a conflict with another writer.
const maxTries = 100

// change reads a record, changes it and writes it.
func change[T any](ctx context.Context, s Store, kind, id string, f func(v *T, there bool) error) (T, error) {
	for range maxTries {
		var v T
		r, err := s.Get(ctx, kind, id)
		if err != nil {
			return v, err
		}
		if r.Rev > 0 {
			if err := json.Unmarshal(r.Doc, &v); err != nil {
				return v, fmt.Errorf("access: the record of %s %s cannot be read: %w", kind, id, err)
			}
		}
		if err := f(&v, r.Rev > 0); err != nil {
			return v, fmt.Errorf("access: %s %.100q: %w", kind, id, err)
		}
		r.Kind, r.ID = kind, id
		if r.Doc, err = json.Marshal(v); err != nil {
			return v, err
		}
		if err = s.Put(ctx, r); !errors.Is(err, ErrConflict) {
			return v, err
		}
	}
	return *new(T), ErrConflict
}

// list reads all records of a kind.
func list[T any](ctx context.Context, s Store, kind string) ([]T, error) {
	records, err := s.List(ctx, kind)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r.Doc, &out[i]); err != nil {
			return nil, fmt.Errorf("access: the record of %s %s cannot be read: %w", kind, r.ID, err)
		}
	}
	return out, nil
}

// InvalidError reports invalid settings of a key or a team, as opposed to an error of the store.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string { return e.Err.Error() }
func (e *InvalidError) Unwrap() error { return e.Err }

// Create creates a key from k, with these limits in addition to its own, and returns it with its secret. It ignores the
// ID and the times of k, except Expires. The secret cannot be read again. A limit is a text like "money/month=50".
func (b *Book) Create(ctx context.Context, k Key, limits ...string) (Key, string, error) {
	err := addLimits(&k.Limits, limits)
	if err == nil {
		err = k.check()
	}
	if err != nil {
		return Key{}, "", fmt.Errorf("access: %w", &InvalidError{err})
	}
	k.ID, k.Created, k.Revoked, k.Rotated = newID(), b.now().Truncate(time.Second), time.Time{}, time.Time{}
	if !k.Expires.IsZero() && !k.Expires.After(k.Created) {
		return Key{}, "", fmt.Errorf("access: %w", &InvalidError{errors.New("the key would have expired already")})
	}
	if err := b.checkNewTeam(ctx, k.Team); err != nil {
		return Key{}, "", err
	}
	secret := newSecret(k.ID)
	if _, err := change(ctx, b.Store, teamRecord, k.Team, func(t *Team, _ bool) error { t.Name = k.Team; return nil }); err != nil {
		return Key{}, "", err
	}
	s, err := change(ctx, b.Store, keyRecord, k.ID, func(s *stored, there bool) error {
		if there {
			return errors.New("it is there already")
		}
		*s = stored{Key: k, Hash: hashOf(secret)}
		return nil
	})
	if err != nil {
		return Key{}, "", err
	}
	if err := b.changed(ctx, "create key", s.ID, s.Team, s.Key); err != nil {
		// The caller gets an error and no secret. The key must not stay valid with a secret that is lost.
		_, revoked := b.Revoke(ctx, s.ID)
		return Key{}, "", errors.Join(err, revoked)
	}
	return s.Key, secret, nil
}

// Rotate gives a key a new secret and returns it. The previous secret stays valid for the grace period. Secrets of
// earlier rotations stay valid until their own end. Without a grace period, all of them end at once.
func (b *Book) Rotate(ctx context.Context, id string, grace time.Duration) (Key, string, error) {
	id = named(id)
	secret, now := newSecret(id), b.now().Truncate(time.Second)
	s, err := change(ctx, b.Store, keyRecord, id, func(s *stored, there bool) error {
		switch {
		case !there:
			return ErrNotThere
		case !s.Revoked.IsZero():
			return errors.New("it is revoked")
		}
		return s.rotate(secret, now, grace)
	})
	if err == nil {
		err = b.changed(ctx, "rotate key", s.ID, s.Team, s.Key)
	}
	return s.Key, secret, err
}

// Change calls f to change the name, the allowed models, tools and routes, the limits or the end of a key. Other
// changes are ignored.
func (b *Book) Change(ctx context.Context, id string, f func(*Key)) (Key, error) {
	s, err := change(ctx, b.Store, keyRecord, named(id), func(s *stored, there bool) error {
		switch {
		case !there:
			return ErrNotThere
		case !s.Revoked.IsZero():
			return errors.New("it is revoked")
		}
		k := s.Key
		f(&k)
		if err := k.check(); err != nil {
			return &InvalidError{err}
		}
		for _, list := range []*[]string{&k.Models, &k.Tools, &k.Routes} {
			if slices.Equal(*list, []string{"*"}) { // "*" alone allows everything: remove it
				*list = nil
			}
		}
		if !k.Expires.IsZero() && !k.Expires.Equal(s.Expires) && !k.Expires.After(b.now()) {
			return &InvalidError{errors.New("it would have expired already; revoke ends a key")}
		}
		s.Name, s.Models, s.Tools, s.Routes, s.Limits, s.Expires = k.Name, k.Models, k.Tools, k.Routes, k.Limits, k.Expires
		return nil
	})
	if err == nil {
		err = b.changed(ctx, "change key", s.ID, s.Team, s.Key)
	}
	return s.Key, err
}

// Revoke ends a key immediately and permanently.
func (b *Book) Revoke(ctx context.Context, id string) (Key, error) {
	s, err := change(ctx, b.Store, keyRecord, named(id), func(s *stored, there bool) error {
		if !there {
			return ErrNotThere
		}
		if s.Revoked.IsZero() {
			s.Revoked = b.now().Truncate(time.Second)
		}
		return nil
	})
	if err == nil {
		err = b.changed(ctx, "revoke key", s.ID, s.Team, s.Key)
	}
	return s.Key, err
}

// Keys returns all keys, the oldest first.
func (b *Book) Keys(ctx context.Context) ([]Key, error) {
	all, err := list[stored](ctx, b.Store, keyRecord)
	keys := make([]Key, len(all))
	for i := range all {
		keys[i] = all[i].Key
		for _, e := range all[i].Earlier {
			if b.now().Before(e.Until) {
				keys[i].EarlierUntil = append(keys[i].EarlierUntil, e.Until)
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return a.Created.Compare(b.Created) })
	return keys, err
}

// addLimits appends limits in their text form to a copy of the list.
func addLimits(list *[]Quota, limits []string) error {
	all := slices.Clip(*list)
	for _, s := range limits {
		l, err := ParseQuota(s)
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	*list = all
	return nil
}

// Teams returns all teams, by name.
func (b *Book) Teams(ctx context.Context) ([]Team, error) {
	return list[Team](ctx, b.Store, teamRecord)
}

// SetTeam creates a team or replaces its limits, with these limits in addition to its own.
func (b *Book) SetTeam(ctx context.Context, t Team, limits ...string) error {
	if err := errors.Join(addLimits(&t.Limits, limits), checkName("team", t.Name), checkLimits(t.Limits)); err != nil {
		return fmt.Errorf("access: %w", &InvalidError{err})
	}
	if err := b.checkNewTeam(ctx, t.Name); err != nil {
		return err
	}
	_, err := change(ctx, b.Store, teamRecord, t.Name, func(v *Team, _ bool) error { *v = t; return nil })
	if err == nil {
		err = b.changed(ctx, "set team", t.Name, t.Name, t)
	}
	return err
}

// Rights are the permissions of a client: its key and its team.
type Rights struct {
	Key  Key
	Team Team
}

// limits calls f for each limit of the key and of its team until f returns false.
func (g *Rights) limits(f func(scope string, l Quota) bool) {
	names := scopes(&g.Key)
	for i, list := range [][]Quota{g.Key.Limits, g.Team.Limits} {
		for _, l := range list {
			if !f(names[i], l) {
				return
			}
		}
	}
}

// MayUse returns a *[Refusal] if the client may not use the model, tool or route with that name. The argument what is
// NoModel, NoTool or NoRoute.
func (g *Rights) MayUse(what Ground, name string) error {
	lists := map[Ground][]string{NoModel: g.Key.Models, NoTool: g.Key.Tools, NoRoute: g.Key.Routes}
	if matches(lists[what], name) {
		return nil
	}
	return refuse(what, "the key %s may not use the %s %.100q", g.Key.ID, what, name)
}

// MayNotSay returns a *[Refusal] for a request field that could cause something the key does not allow.
func (g *Rights) MayNotSay(member, why string) error {
	return refuse(NoMember, "the key %s may not send the member %q: with it, %s; leave it out", g.Key.ID, member, why)
}

// BoundsSize reports whether a limit counts tokens or money. If so, the size of a request must be known.
func (g *Rights) BoundsSize() (bounds bool) {
	g.limits(func(_ string, l Quota) bool { bounds = l.Unit != Requests; return !bounds })
	return bounds
}

// BoundsMoney reports whether a limit counts money. If so, a model without a known price cannot be used.
func (g *Rights) BoundsMoney() (bounds bool) {
	g.limits(func(_ string, l Quota) bool { bounds = l.Unit == Money; return !bounds })
	return bounds
}

// Authenticate returns the rights of the client with that secret, or a *[Refusal].
func (b *Book) Authenticate(ctx context.Context, secret string) (*Rights, error) {
	if secret == "" {
		return nil, refuse(NoKey, "the request has no key")
	}
	id, ok := idOf(secret)
	if !ok {
		return nil, refuse(WrongKey, "the key is not one of this gateway's")
	}
	r, err := b.Store.Get(ctx, keyRecord, id)
	if err != nil {
		return nil, err
	}
	var k stored
	if r.Rev > 0 {
		if err := json.Unmarshal(r.Doc, &k); err != nil {
			return nil, fmt.Errorf("access: the record of key %s cannot be read: %w", id, err)
		}
	}
	now := b.now()
	if !k.has(secret, now) {
		return nil, refuse(WrongKey, "the key is not one of this gateway's")
	}
	switch k.State(now) {
	case "revoked":
		return nil, &Refusal{Ground: Revoked, Detail: fmt.Sprintf("the key %s is revoked", id), Key: id, Team: k.Team}
	case "expired":
		return nil, &Refusal{Ground: Expired, Detail: fmt.Sprintf("the key %s expired at %s", id, k.Expires.UTC().Format(time.RFC3339)), Key: id, Team: k.Team}
	}
	g := &Rights{Key: k.Key, Team: Team{Name: k.Team}}
	if r, err = b.Store.Get(ctx, teamRecord, k.Team); err != nil {
		return nil, err
	}
	if r.Rev > 0 {
		if err := json.Unmarshal(r.Doc, &g.Team); err != nil {
			return nil, fmt.Errorf("access: the record of team %s cannot be read: %w", k.Team, err)
		}
	}
	return g, nil
}

// Claim describes what a request is going to use.
type Claim struct {
	ID    string
	Model string // as the client asks for it
	// Tokens and Money are the most that the request may use, as far as known.
	Tokens int64
	Money  catalog.Money
	// Usual is the amount that limits per minute count until the request is over, if it is smaller; zero means the
	// same.
	Usual Count
	// Unpriced reports that the cost is unknown. Upstream is the model without a price.
	Unpriced bool
	Upstream string
	// Free reports that the request uses neither tokens nor money. Only request limits apply.
	Free bool
	// Hard refuses the request if it may exceed what a budget has left. Without it, a request is admitted while
	// anything is left. Budgets are limits of tokens or money per day, per month or in total.
	Hard bool
}

// Room is the remaining amount of a limit.
type Room struct {
	Quota
	Team  bool // the limit belongs to the team
	Left  int64
	Reset time.Time // end of the period; zero if never
}

// Admission is an admitted request. It must be settled.
type Admission struct {
	Rights *Rights
	Rooms  []Room // remaining after this request, one for each limit
	id     string
	model  string
	at     time.Time
}

// noPrice returns the refusal of a model without a known price. It names the key or team whose spending is limited.
func (g *Rights) noPrice(r Claim) error {
	whose := "the team " + g.Key.Team
	g.limits(func(scope string, l Quota) bool {
		if l.Unit == Money && scope == scopes(&g.Key)[0] {
			whose = "the key " + g.Key.ID
		}
		return true
	})
	model := fmt.Sprintf("the model %q", r.Model)
	if r.Upstream != "" && r.Upstream != r.Model {
		model += fmt.Sprintf(" (%s)", r.Upstream)
	}
	return refuse(NoPrice, "the price of %s is not known, and what %s may spend is bounded in money", model, whose)
}

// Admit reserves the most that a request may use, or returns a *[Refusal]. A request is admitted if each limit has
// anything left, and a hard one if each budget has enough left.
func (b *Book) Admit(ctx context.Context, g *Rights, r Claim) (*Admission, error) {
	if err := g.MayUse(NoModel, r.Model); err != nil {
		return nil, err
	}
	if r.Unpriced && g.BoundsMoney() {
		return nil, g.noPrice(r)
	}
	now := b.now()
	a := &Admission{Rights: g, id: r.ID, model: clip(r.Model), at: now}
	hold := Hold{Request: r.ID, Scopes: scopes(&g.Key), Reservation: r.reservation(Count{}), Until: now.Add(holdTime)}
	var counted map[Window]Count
	err := b.Store.Admit(ctx, now, hold, windows(&g.Key, now), func(used map[Window]Count, held map[string]Reservation) error {
		var refused *Refusal
		var before []Room // remaining without this request
		a.Rooms, counted = nil, used
		g.limits(func(scope string, l Quota) bool {
			if r.Free && l.Unit != Requests {
				return true
			}
			w := Window{scope, l.Per, l.Per.begin(now).Unix()}
			room := Room{Quota: l, Team: scope != hold.Scopes[0], Reset: l.Per.end(now)}
			left, over := l.admit(room, used[w], held[scope].of(l.Per), hold.of(l.Per), r.Hard, now)
			room.Left = left
			a.Rooms = append(a.Rooms, room)
			room.Left = l.without(used[w], held[scope].of(l.Per))
			before = append(before, room)
			if over != nil && (refused == nil || over.later(refused)) {
				refused = over
			}
			return true
		})
		if refused == nil {
			return nil
		}
		refused.Rooms = before
		return refused
	})
	if b.wrote(err) != nil {
		return nil, err
	}
	b.hold(a.id)
	b.report(g, now, hold.counts(), counted)
	return a, nil
}

// Renew reserves the most that the next part of an admitted request may use, or returns a *[Refusal]. The argument
// spent is the usage so far. The budgets decide as in [Book.Admit]. Limits per minute and request limits are not checked
// again: they apply to new requests only.
func (b *Book) Renew(ctx context.Context, a *Admission, spent Count, next Claim) error {
	now, k := b.now(), &a.Rights.Key
	hold := Hold{Request: a.id, Again: true, Scopes: scopes(k), Reservation: next.reservation(spent), Until: now.Add(holdTime)}
	return b.Store.Admit(ctx, now, hold, windows(k, a.at), func(used map[Window]Count, held map[string]Reservation) error {
		var refused *Refusal
		a.Rights.limits(func(scope string, l Quota) bool {
			if l.Per == Minute || l.Unit == Requests {
				return true
			}
			w := Window{scope, l.Per, l.Per.begin(a.at).Unix()}
			room := Room{Quota: l, Team: scope != hold.Scopes[0], Reset: l.Per.end(now)}
			if _, over := l.admit(room, used[w].plus(spent), held[scope].Most, next.reservation(Count{}).Most, next.Hard, now); over != nil && (refused == nil || over.later(refused)) {
				refused = over
			}
			return true
		})
		if refused == nil {
			return nil
		}
		return refused
	})
}

// without returns what remains of the limit if the request is refused. The argument used already counts the request.
func (l Quota) without(used, held Count) int64 {
	before := add(used.of(l.Unit), held.of(l.Unit))
	if l.Unit == Requests {
		before--
	}
	return max(0, l.Most-before)
}

// admit returns what remains of the limit after a request, or a refusal. The argument used already counts the request;
// held does not.
func (l Quota) admit(r Room, used, held, most Count, hard bool, now time.Time) (int64, *Refusal) {
	before, needs := add(used.of(l.Unit), held.of(l.Unit)), int64(1)
	switch {
	case l.Unit == Requests:
		needs = 0
	case hard && l.Per != Minute:
		needs = max(1, most.of(l.Unit))
	}
	if add(before, needs) <= l.Most {
		return max(0, l.Most-add(before, most.of(l.Unit))), nil
	}
	whose := "key"
	if r.Team {
		whose = "team"
	}
	limit := l.Unit.said(l.Most)
	if l.Per == Total {
		limit += " in total"
	} else {
		limit += " per " + string(l.Per)
	}
	out := &Refusal{Ground: Spent, Detail: fmt.Sprintf("the limit of the %s is reached: %s", whose, limit)}
	if !r.Reset.IsZero() && needs <= max(1, l.Most) { // otherwise waiting does not help
		out.RetryAfter = max(time.Second, r.Reset.Sub(now))
	}
	switch {
	case l.Per == Minute:
		out.Ground = TooFast
	case l.Unit != Requests && add(used.of(l.Unit), needs) <= l.Most:
		out.Ground, out.RetryAfter = Reserved, reservedWait
		out.Detail = fmt.Sprintf("what is left of the limit of the %s is reserved for requests that are under way: %s; ask again when one of them is over, and say in your requests how long an answer may be, so that less is reserved", whose, limit)
	case before < l.Most:
		out.Detail = fmt.Sprintf("the request may use %s, and %s is left of the limit of the %s: %s; say in the request how long an answer may be, so that less is reserved",
			l.Unit.said(needs), l.Unit.said(l.Most-before), whose, limit)
	}
	return 0, out
}

// reservedWait is when to retry if other requests have reserved the rest of a limit. Any of them may end at any time.
const reservedWait = 5 * time.Second

// reservation returns the reservation for a claim, including the usage so far.
func (c Claim) reservation(spent Count) Reservation {
	most := Count{Tokens: max(0, c.Tokens), Money: max(0, int64(c.Money))}
	usual := c.Usual
	if usual == (Count{}) {
		usual = most
	}
	return Reservation{Most: spent.plus(most), Usual: spent.plus(usual)}
}

// later reports whether a limit resets later than the limit of another refusal. Waiting only for the other limit would
// not help.
func (r *Refusal) later(other *Refusal) bool {
	return other.RetryAfter != 0 && (r.RetryAfter == 0 || r.RetryAfter > other.RetryAfter)
}

// settleTime limits how long the store may take to settle a request: the client waits for the end of its response.
const settleTime = 2 * time.Second

// The first and the longest wait before a failed write is retried.
const (
	settleWait    = 50 * time.Millisecond
	settleLongest = time.Second
)

// Settle replaces the reservation of a request with its actual usage. It sets ID, At, Team, Key and Model of e. It
// ignores the cancellation of ctx, because the usage has already happened. If the store fails, the usage is kept in
// memory and written later; the error is then a *[LateError]. Until the usage is written, the reservation stays in
// force.
func (b *Book) Settle(ctx context.Context, a *Admission, e LogLine) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	k := &a.Rights.Key
	e.ID, e.At, e.Team, e.Key, e.Model = a.id, a.at, k.Team, k.ID, a.model
	e.User, e.Tag = clip(e.User), clip(e.Tag)
	for wait := settleWait; ; wait *= 4 { // a database may be failing over to another machine
		used, err := b.Store.Settle(ctx, e, windows(k, a.at))
		gone := new(StoreError)
		switch b.wrote(err); {
		case err == nil:
			b.release(a.id)
			b.report(a.Rights, a.at, e.count(), used)
			return nil
		case !errors.As(err, &gone) && ctx.Err() == nil:
			b.release(a.id)
			return err
		case wait > settleLongest || ctx.Err() != nil:
			return b.settleLater(lateLine{e, a.Rights}, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// refuseTime limits how long the store may take to count a refused request.
const refuseTime = 2 * time.Second

// Refuse counts a refused request of a key. It does not record the model, because clients could invent any number of
// names.
func (b *Book) Refuse(ctx context.Context, g *Rights, route string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refuseTime)
	defer cancel()
	return b.Store.Add(ctx, Spend{Team: g.Key.Team, Key: g.Key.ID, Route: route, Day: b.now().Format(time.DateOnly), Refused: 1})
}

// Usage sums up the usage since a day, grouped by the given groupings.
func (b *Book) Usage(ctx context.Context, since time.Time, by ...Grouping) ([]Spend, error) {
	return b.UsageOf(ctx, nil, since, by...)
}

// UsageOf is [Book.Usage] of the requests that match the filter. The filter must come from [Book.Resolve].
func (b *Book) UsageOf(ctx context.Context, only Filter, since time.Time, by ...Grouping) ([]Spend, error) {
	if err := only.check(); err != nil {
		return nil, err
	}
	for i, g := range by {
		if !slices.Contains(Groupings, g) {
			return nil, fmt.Errorf("access: usage cannot be told by %.40q, only by %s", g, groupingNames())
		}
		if slices.Contains(by[:i], g) { // a table would have the column twice
			return nil, fmt.Errorf("access: %s is named twice in what usage is told by", g)
		}
	}
	day := ""
	if !since.IsZero() {
		day = since.UTC().Format(time.DateOnly)
	}
	return b.Store.Usage(ctx, only, day, by)
}

// Groupings are all groupings.
var Groupings = []Grouping{ByTeam, ByKey, ByRoute, ByModel, ByUpstream, ByUser, ByTag, ByDay}

// groupingNames returns the names of all groupings, for error messages.
func groupingNames() string {
	var names []string
	for _, g := range Groupings {
		names = append(names, string(g))
	}
	return strings.Join(names, ", ")
}

// MaxLog limits how many log lines one call returns.
const MaxLog = 10_000

// Log returns the latest requests, newest first. It returns at most most lines, which must be 0 to [MaxLog].
func (b *Book) Log(ctx context.Context, most int) ([]LogLine, error) {
	return b.LogOf(ctx, nil, most)
}

// LogOf is [Book.Log] of the requests that match the filter. The filter must come from [Book.Resolve].
func (b *Book) LogOf(ctx context.Context, only Filter, most int) ([]LogLine, error) {
	return b.Search(ctx, LogQuery{Only: only, Most: most})
}

// Search returns the selected lines of the log, newest first. The filter must come from [Book.Resolve].
func (b *Book) Search(ctx context.Context, q LogQuery) ([]LogLine, error) {
	if err := q.Only.check(); err != nil {
		return nil, err
	}
	if q.Most < 0 || q.Most > MaxLog {
		return nil, fmt.Errorf("%d requests of the log cannot be read at once; it can be 0 to %d", q.Most, MaxLog)
	}
	return b.Store.Log(ctx, q)
}

// Clean deletes log lines older than keep, and counts of periods that have ended.
func (b *Book) Clean(ctx context.Context, keep time.Duration) error {
	now := b.now()
	return b.Store.Clean(ctx, now, now.Add(-keep))
}
