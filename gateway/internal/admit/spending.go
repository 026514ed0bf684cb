package admit

import (
	"errors"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Spending is what a request spends, which may ask models several times.
type Spending struct {
	*Client
	*Demand
	trace *upstream.Trace
	warn  func(llm.Warning)

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

	finished bool // the client has its answer
}

// Begin notes who is asked what.
func (s *Spending) Begin(to string, req *llm.Request) {
	s.open, s.to, s.req, s.text, s.said, s.work = s.admission != nil, to, req, 0, llm.Usage{}, 0
}

// Count records an event of the answer. Usage that an upstream reports at the start is the estimate if nothing else is
// reported.
func (s *Spending) Count(ev llm.Event) {
	s.text += Written(ev)
	if start, is := ev.(llm.Start); is {
		s.said = start.Usage
	}
}

// Written is how many bytes a model wrote with an event.
func Written(ev llm.Event) int {
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
func (s *Spending) estimate() llm.Usage {
	return llm.Usage{Input: llm.EstimateRequest(s.req), Output: (s.text + bytesPerToken - 1) / bytesPerToken}
}

// Bounds of what one answer can have used; an upstream that says more is not believed. Where the model is known to take or give more, four
// times as much as that counts.
const (
	MostInput  = 1 << 22
	mostHosted = 10_000
)

// odd reports whether no answer can have used what an upstream says.
func (s *Spending) odd(u llm.Usage) bool {
	info := s.models[s.to]
	in := max(MostInput, 4*info.ContextWindow)
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

// BookUsage books what an upstream says that an answer used. What it does not say, or what cannot be, is estimated.
func (s *Spending) BookUsage(u llm.Usage) {
	if !s.open {
		return
	}
	guess := s.estimate()
	switch {
	case s.odd(u):
		s.BookEstimate("odd", guess)
		s.warn(llm.Warning{Code: llm.Degraded, Feature: "usage", Detail: "the upstream says that the answer used what it cannot have used; it is estimated"})
	case u.Input+u.Output == 0:
		s.BookEstimate("absent", guess)
	case u.Input == 0 || u.Output == 0 && s.text > 0:
		u.Input = max(u.Input, 0)
		if u.Input == 0 {
			u.Input = guess.Input
		}
		if u.Output == 0 {
			u.Output = guess.Output
		}
		s.BookEstimate("partly", u)
	default:
		s.Record(u)
	}
}

// BookEstimate books estimated usage.
func (s *Spending) BookEstimate(why string, u llm.Usage) {
	s.estimated = true
	s.Metrics.Estimated.Add(1, s.trace.Route, why)
	s.Record(u)
	s.share().Estimated = true
}

// BookLost ends a question whose answer is incomplete. If the upstream worked on it, its usage is estimated. A question
// that was refused or never arrived costs nothing.
func (s *Spending) BookLost(err error) {
	if s.open && s.Worked(err) {
		used := s.estimate()
		if said := s.said; said.Input > 0 && !s.odd(said) {
			said.Output = max(said.Output, used.Output)
			used = said
		}
		used.Output = max(used.Output, s.unseen())
		s.BookEstimate("lost", used)
	}
	s.open = false
}

// Worked reports whether the upstream worked on the current question, whose answer ended with err: part of the answer
// came, or the gateway stopped waiting. An upstream that refused the question, could not be reached, or closed the
// connection at once did not.
func (s *Spending) Worked(err error) bool {
	sent := s.trace.SentAt()
	var told *llm.Error
	switch {
	case s.text > 0, s.work > 0:
		return true
	case s.trace.Refused(), errors.As(err, &told) && told.Status != 0 && !exchange.ShuttingDown(s.Context()): // whose status is our own
		return false
	case s.trace.Answered():
		return true
	case errors.Is(err, clientio.ErrGone), s.Context().Err() != nil:
		return sent > 0 || s.trace.AskedAt().IsZero() // a model that is not asked over HTTP has what it is asked at once
	}
	return sent > 0 && gaveUp(llm.KindOf(err))
}

// gaveUp reports whether a kind of error says that an answer was not waited for any longer.
func gaveUp(kind llm.Kind) bool {
	return kind == llm.Canceled || kind == llm.Timeout || kind == llm.TimeLimit || kind == llm.Stalled
}

// Retried notes that an upstream is asked once more, and whether it has worked on what it was asked before: that is booked once, if no
// answer comes to an end.
func (s *Spending) Retried(ev provider.RequestRetry) {
	if ev.Status != 0 {
		s.trace.Refuse()
	} else if sent := s.trace.SentAt(); sent > 0 && s.Worked(&llm.Error{Kind: ev.Kind}) {
		s.work = sent
	}
}

// unseenSpeed is the assumed speed of hidden output, in tokens per second.
const unseenSpeed = 100

// unseen estimates the hidden output of an incomplete answer. An answer in one piece is assumed to use all that was
// reserved, because vendors finish it. A stream ends with its client, so only the time until then counts.
func (s *Spending) unseen() int {
	sent := max(s.trace.SentAt(), s.work)
	if sent <= 0 || !s.Rights.BoundsSize() { // nobody was asked, or nothing was reserved
		return 0
	}
	most, _ := s.Output.output(s.req, s.models[s.to])
	if s.Streamed || s.text > 0 {
		most = min(most, int(time.Since(time.Unix(0, sent)).Seconds()*unseenSpeed))
	}
	return most
}

// Record adds what a question used to what the request did, and counts it.
func (s *Spending) Record(u llm.Usage) {
	s.CountTokens(u)
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
func (s *Spending) share() *access.Share {
	for i := range s.shares {
		if s.shares[i].Upstream == s.to {
			return &s.shares[i]
		}
	}
	s.shares = append(s.shares, access.Share{Upstream: s.to})
	return &s.shares[len(s.shares)-1]
}

// most returns the most that a question may use, over all candidates.
func (s *Spending) most(ways []upstream.Candidate, req *llm.Request) (claim access.Claim) {
	read := s.MostRead(req)
	for _, w := range ways {
		s.AddMost(&claim, read, req, infoOf(w))
	}
	return claim
}

// MostRead is how many tokens of input a question may have, if that is bounded.
func (s *Spending) MostRead(req *llm.Request) int {
	if !s.Rights.BoundsSize() {
		return 0
	}
	return max(llm.EstimateRequest(req), s.Output.read(req)) + s.Output.guessed
}

// AddMost has a claim hold what a model may use for a question.
func (s *Spending) AddMost(claim *access.Claim, read int, req *llm.Request, info catalog.Model) {
	most, usual := s.Output.output(req, info)
	cost, _ := info.Price.Cost(llm.Usage{Input: read, Output: usual})
	claim.Usual.Money = max(claim.Usual.Money, int64(cost))
	claim.Usual.Tokens = max(claim.Usual.Tokens, int64(read+usual))
	cost, _ = info.Price.Cost(llm.Usage{Input: read, Output: most})
	claim.Money = max(claim.Money, cost)
	claim.Tokens = max(claim.Tokens, int64(read+most))
}

// ClaimAgain reserves what another question of the same request may use. A model is asked several times if the gateway
// runs tools, or if its calls have to be corrected.
func (s *Spending) ClaimAgain(ways []upstream.Candidate, req *llm.Request) error {
	if s.asked++; s.asked == 1 || s.admission == nil || !s.Rights.BoundsSize() {
		return nil
	}
	spent := access.Count{Tokens: int64(s.used.Input + s.used.Output), Money: int64(s.money)}
	return s.Refuse(s.Book.Renew(s.Context(), s.admission, spent, s.most(ways, req)))
}

// Settle books the usage of a request. Upstream is the model that answered.
func (s *Spending) Settle(upstream string, err error) {
	s.BookLost(err)
	line := access.LogLine{Route: s.trace.Route, Upstream: upstream, Format: s.Codec.Format, Status: "ok", Took: time.Since(s.Start), Cached: s.cached,
		Input: int64(s.used.Input), Output: int64(s.used.Output), Money: s.money, Unpriced: s.unpriced, Estimated: s.estimated}
	if len(s.shares) > 1 || len(s.shares) == 1 && s.shares[0].Upstream != upstream {
		line.Shares = s.shares
	}
	switch {
	case err != nil:
		line.Status = llm.KindOf(err).String()
	case !s.finished:
		line.Status = llm.Incomplete.String()
	}
	err = s.Book.Settle(s.Context(), s.admission, line)
	if later := new(access.LateError); errors.As(err, &later) {
		s.Log.Warn("what a request used could not be written yet; it is kept and written later", "id", s.ID, "error", later.Err.Error())
	} else if err != nil {
		s.Log.Error("what a request used could not be written", "id", s.ID, "error", err.Error())
	}
}

// ClaimFree admits a request that uses neither tokens nor money, such as a cached answer or a token count.
func (s *Spending) ClaimFree(cached bool) error {
	if s.Rights == nil {
		return nil
	}
	var err error
	if s.admission, err = s.Book.Admit(s.Context(), s.Rights, access.Claim{ID: s.ID, Model: s.Model, Free: true}); err != nil {
		return s.Refuse(err)
	}
	s.setRateHeaders(s.admission.Rooms)
	s.cached, s.finished = cached, true
	return nil
}

// CountRefusal counts a request that was refused for the rights or a limit of its key.
func (c *Client) CountRefusal(route string) {
	if !c.wasRefused || c.Rights == nil {
		return
	}
	if err := c.Book.Refuse(c.Context(), c.Rights, route); err != nil {
		c.Log.Error("a refused request could not be counted", "id", c.ID, "error", err.Error())
	}
}

// CountTokens counts tokens in the metrics.
func (s *Spending) CountTokens(u llm.Usage) {
	for i, n := range [...]int{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n > 0 && n <= MostInput { // a counter never falls, and one odd answer must not be all that it shows
			s.Metrics.Tokens.Add(float64(n), s.trace.Route, s.trace.Upstream, tokenKinds[i])
		}
	}
}

// tokenKinds are the kinds of tokens that are counted, in the order in which they are looked at.
var tokenKinds = [...]string{"input", "output", "cache_read", "cache_write", "reasoning"}

// TokensOf estimates how many tokens a body has.
func TokensOf(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// ClaimForwarded admits a request to an endpoint that is not a question to a model. If it is priced by tokens of input and
// output, its usage is counted like an answer's.
func (s *Spending) ClaimForwarded(up string, info catalog.Model, req *llm.Request, claim access.Claim, counted bool) error {
	s.to, s.models, s.req = up, map[string]catalog.Model{up: info}, req
	claim.ID, claim.Model = s.ID, s.Model
	var err error
	if s.admission, err = s.Book.Admit(s.Context(), s.Rights, claim); err != nil {
		return s.Refuse(err)
	}
	s.setRateHeaders(s.admission.Rooms)
	if counted {
		s.Begin(up, s.req)
	}
	return nil
}

// RecordUnpriced notes that the request used something without a price.
func (s *Spending) RecordUnpriced() { s.unpriced, s.open = true, false }

// used returns what the request used so far, and false if it was not admitted by keys.
func (s *Spending) Used() (llm.Usage, bool) { return s.used, s.admission != nil }

// Open reports whether the usage of the current question is still unknown.
func (s *Spending) Open() bool { return s.open }

// SetComplete notes whether the request ended with a complete answer.
func (s *Spending) SetComplete(complete bool) { s.finished = complete }

// SetText notes how many bytes of text the model wrote.
func (s *Spending) SetText(bytes int) { s.text = bytes }

// SetAnswers notes how many answers the request wants.
func (s *Spending) SetAnswers(n int) { s.Output.Answers, s.answers = n, n }

// Close ends the current question without usage.
func (s *Spending) Close() { s.open = false }

// FromCache reports whether no upstream was asked.
func (s *Spending) FromCache() bool { return s.cached }

// Admitted reports whether the request was admitted for a key.
func (s *Spending) Admitted() bool { return s.admission != nil }

// KeepBodies stores the bodies of the request and its answer in the log.
func (s *Spending) KeepBodies(b access.Bodies) error {
	return s.Book.KeepBodies(s.Context(), s.admission, b)
}

// NewSpending returns the spending of a request that has not used anything.
func NewSpending(c *Client, d *Demand, trace *upstream.Trace, warn func(llm.Warning)) Spending {
	return Spending{Client: c, Demand: d, trace: trace, warn: warn}
}
