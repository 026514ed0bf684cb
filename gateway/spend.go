package gateway

import (
	"errors"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// spending is what a request spends, which may ask models several times.
type spending struct {
	admission *access.Admission
	models    map[string]catalog.Model // those who may answer, by id
	asked     int                      // questions to models
	answers   int                      // that a question may want, by members that are not in its request

	// Of the question at hand:
	open bool // nobody has said what it used
	to   string
	req  *llm.Request
	text int       // bytes of the answer so far
	said llm.Usage // what the upstream said of it where the answer began
	work int64     // when it had the question of an earlier attempt that it worked on, in nanoseconds; 0 if there is none

	// Of those that are over:
	used                llm.Usage
	money               catalog.Money
	unpriced, estimated bool
	shares              []access.Share // of each upstream that used something
	cached              bool           // nobody was asked
	refused             bool           // for a bound or a limit of the key

	finished bool // the client has its answer
}

// begin notes who is asked what.
func (s *spending) begin(to string, req *llm.Request) {
	s.open, s.to, s.req, s.text, s.said, s.work = s.admission != nil, to, req, 0, llm.Usage{}, 0
}

// count notes what an answer holds, and what its upstream says where it begins: what is used is estimated by that where nobody says it.
func (s *spending) count(ev llm.Event) {
	s.text += written(ev)
	if start, is := ev.(llm.Start); is {
		s.said = start.Usage
	}
}

// written is how many bytes a model wrote with an event.
func written(ev llm.Event) int {
	switch ev := ev.(type) {
	case llm.TextDelta:
		return len(ev.Text)
	case llm.ThinkingDelta:
		return len(ev.Text)
	case llm.CallDelta:
		return len(ev.Args)
	}
	return 0
}

// bytesPerToken is how long a token is, at the least that is usual.
const bytesPerToken = 3

// estimate is what the question at hand used, by its text.
func (s *spending) estimate() llm.Usage {
	return llm.Usage{Input: llm.EstimateRequest(s.req), Output: (s.text + bytesPerToken - 1) / bytesPerToken}
}

// Bounds of what one answer can have used; an upstream that says more is not believed. Where the model is known to take or give more, four
// times as much as that counts.
const (
	mostInput  = 1 << 22
	mostHosted = 10_000
)

// odd reports whether no answer can have used what an upstream says.
func (s *spending) odd(u llm.Usage) bool {
	info := s.models[s.to]
	in := max(mostInput, 4*info.ContextWindow)
	out := max(largestOutput, 4*info.MaxOutput) * min(max(s.req.N, s.answers, 1), mostAnswers)
	for _, n := range []int{u.Input, u.CacheRead, u.CacheWrite} {
		if n < 0 || n > in {
			return true
		}
	}
	for _, n := range u.Hosted {
		if n < 0 || n > mostHosted {
			return true
		}
	}
	return u.Output < 0 || u.Output > out || u.Reasoning < 0 || u.Reasoning > out
}

// spend books what an upstream says that an answer used. What it does not say, or what cannot be, is estimated.
func (x *exchange) spend(u llm.Usage) {
	s := &x.spent
	if !s.open {
		return
	}
	guess := s.estimate()
	switch {
	case s.odd(u):
		x.estimates("odd", guess)
		x.warn(llm.Warning{Code: llm.Degraded, Feature: "usage", Detail: "the upstream says that the answer used what it cannot have used; it is estimated"})
	case u.Input+u.Output == 0:
		x.estimates("absent", guess)
	case u.Input == 0 || u.Output == 0 && s.text > 0:
		u.Input = max(u.Input, 0)
		if u.Input == 0 {
			u.Input = guess.Input
		}
		if u.Output == 0 {
			u.Output = guess.Output
		}
		x.estimates("partly", u)
	default:
		x.book(u)
	}
}

// estimates books what was estimated.
func (x *exchange) estimates(why string, u llm.Usage) {
	x.spent.estimated = true
	x.meters.Estimated.Add(1, x.tally.route, why)
	x.book(u)
	x.spent.share().Estimated = true
}

// lost ends a question whose answer has no end, whoever ended it. What an upstream worked on is estimated; what it has refused, or never
// had, costs nothing.
func (x *exchange) lost(err error) {
	s := &x.spent
	if s.open && x.worked(err) {
		used := s.estimate()
		if said := s.said; said.Input > 0 && !s.odd(said) {
			said.Output = max(said.Output, used.Output)
			used = said
		}
		used.Output = max(used.Output, x.unseen())
		x.estimates("lost", used)
	}
	s.open = false
}

// worked reports whether the upstream has worked on the question at hand, whose answer ended with err: something of the answer came, or nobody
// waited for it any longer. One that refuses a question, or breaks the connection without a word, has not, and one that cannot be reached
// does not even know of it.
func (x *exchange) worked(err error) bool {
	s, sent := &x.spent, x.tally.sent.Load()
	var told *llm.Error
	switch {
	case s.text > 0, s.work > 0:
		return true
	case sent == turnedDown, errors.As(err, &told) && told.Status != 0 && !x.ending(): // whose status is our own
		return false
	case sent > 0 && x.tally.answered.Load():
		return true
	case errors.Is(err, clientio.ErrGone), x.ctx().Err() != nil:
		return sent > 0 || x.tally.asked.Load() == 0 // a model that is not asked over HTTP has what it is asked at once
	}
	return sent > 0 && gaveUp(llm.KindOf(err))
}

// gaveUp reports whether a kind of error says that an answer was not waited for any longer.
func gaveUp(kind llm.Kind) bool {
	return kind == llm.Canceled || kind == llm.Timeout || kind == llm.TimeLimit || kind == llm.Stalled
}

// again notes that an upstream is asked once more, and whether it has worked on what it was asked before: that is booked once, if no
// answer comes to an end.
func (x *exchange) again(ev provider.RequestRetry) {
	s, t := &x.spent, &x.tally
	if ev.Status != 0 {
		t.sent.Store(turnedDown)
	} else if sent := t.sent.Load(); sent > 0 && x.worked(&llm.Error{Kind: ev.Kind}) {
		s.work = sent
	}
}

// unseenSpeed is how many tokens a second a model is taken to write that nobody sees.
const unseenSpeed = 100

// unseen is how much output an upstream is taken to have made of an answer without an end, beside its text. Of an answer in one piece nothing is seen, and vendors
// finish it whoever waits: it is all that was reserved. They end a stream, whose model may have thought in silence until then.
func (x *exchange) unseen() int {
	s := &x.spent
	sent := max(x.tally.sent.Load(), s.work)
	if sent <= 0 || !x.rights.BoundsSize() { // nobody was asked, or nothing was reserved
		return 0
	}
	most, _ := x.allows.output(s.req, s.models[s.to])
	if x.streamed || s.text > 0 {
		most = min(most, int(time.Since(time.Unix(0, sent)).Seconds()*unseenSpeed))
	}
	return most
}

// book adds what a question used to what the request did, and counts it.
func (x *exchange) book(u llm.Usage) {
	x.countTokens(u)
	s := &x.spent
	s.open = false
	price := s.models[s.to].Price
	cost, known := price.Cost(u)
	if !known {
		s.unpriced = s.unpriced || u.Input+u.Output > 0
		plain := u
		plain.Hosted = nil
		cost, _ = price.Cost(plain)
	}
	s.money += cost
	s.used = s.used.Add(u)
	share := s.share()
	share.Input, share.Output, share.Money = share.Input+int64(u.Input), share.Output+int64(u.Output), share.Money+cost
	share.Unpriced = share.Unpriced || !known && u.Input+u.Output > 0
}

// share is what the upstream of the question at hand has used of the request so far.
func (s *spending) share() *access.Share {
	for i := range s.shares {
		if s.shares[i].Upstream == s.to {
			return &s.shares[i]
		}
	}
	s.shares = append(s.shares, access.Share{Upstream: s.to})
	return &s.shares[len(s.shares)-1]
}

// most is what a question may use at most, whoever answers.
func (x *exchange) most(ways []upstream.Candidate, req *llm.Request) (claim access.Claim) {
	read := x.mostRead(req)
	for _, w := range ways {
		x.addMost(&claim, read, req, infoOf(w))
	}
	return claim
}

// mostRead is how many tokens of input a question may have, if that is bounded.
func (x *exchange) mostRead(req *llm.Request) int {
	if !x.rights.BoundsSize() {
		return 0
	}
	return max(llm.EstimateRequest(req), x.allows.read(req)) + x.allows.guessed
}

// addMost has a claim hold what a model may use for a question.
func (x *exchange) addMost(claim *access.Claim, read int, req *llm.Request, info catalog.Model) {
	most, usual := x.allows.output(req, info)
	cost, _ := info.Price.Cost(llm.Usage{Input: read, Output: usual})
	claim.Usual.Money = max(claim.Usual.Money, int64(cost))
	claim.Usual.Tokens = max(claim.Usual.Tokens, int64(read+usual))
	cost, _ = info.Price.Cost(llm.Usage{Input: read, Output: most})
	claim.Money = max(claim.Money, cost)
	claim.Tokens = max(claim.Tokens, int64(read+most))
}

// claimAgain reserves what another question of a request may use, if anything is left of the budgets of its key and team: a model whose tools the gateway
// runs, or that is told what is wrong with its calls, is asked several times.
func (x *exchange) claimAgain(ways []upstream.Candidate, req *llm.Request) error {
	s := &x.spent
	if s.asked++; s.asked == 1 || s.admission == nil || !x.rights.BoundsSize() {
		return nil
	}
	spent := access.Count{Tokens: int64(s.used.Input + s.used.Output), Money: int64(s.money)}
	return x.refused(x.settings.Access.Renew(x.ctx(), s.admission, spent, x.most(ways, req)))
}

// settle ends what claim began.
func (x *exchange) settle(err error) {
	x.lost(err)
	s := &x.spent
	line := access.LogLine{Route: x.tally.route, Upstream: x.upstream, Format: x.Codec.Format, Status: "ok", Took: time.Since(x.start), Cached: s.cached,
		Input: int64(s.used.Input), Output: int64(s.used.Output), Money: s.money, Unpriced: s.unpriced, Estimated: s.estimated}
	if len(s.shares) > 1 || len(s.shares) == 1 && s.shares[0].Upstream != x.upstream {
		line.Shares = s.shares
	}
	switch {
	case err != nil:
		line.Status = llm.KindOf(err).String()
	case !s.finished:
		line.Status = llm.Incomplete.String()
	}
	err = x.settings.Access.Settle(x.ctx(), s.admission, line)
	if later := new(access.LateError); errors.As(err, &later) {
		x.settings.Log.Warn("what a request used could not be written yet; it is kept and written later", "id", x.id, "error", later.Err.Error())
	} else if err != nil {
		x.settings.Log.Error("what a request used could not be written", "id", x.id, "error", err.Error())
	}
}

// claimFree lets a request in that uses neither tokens nor money: one that is answered from what was answered before, or that only counts. It returns
// what ends it.
func (x *exchange) claimFree(cached bool) (func(error), error) {
	if x.rights == nil {
		return func(error) {}, nil
	}
	s := &x.spent
	var err error
	if s.admission, err = x.settings.Access.Admit(x.ctx(), x.rights, access.Claim{ID: x.id, Model: x.name, Free: true}); err != nil {
		return nil, x.refused(err)
	}
	x.rateHeaders(s.admission.Rooms)
	s.cached, s.finished = cached, true
	return x.settle, nil
}

// bookRefusal counts a request that was refused for a bound or a limit of its key.
func (x *exchange) bookRefusal() {
	if !x.spent.refused || x.rights == nil || x.spent.admission != nil { // what was let in is in the log
		return
	}
	if err := x.settings.Access.Refuse(x.ctx(), x.rights, x.tally.route); err != nil {
		x.settings.Log.Error("a refused request could not be counted", "id", x.id, "error", err.Error())
	}
}
