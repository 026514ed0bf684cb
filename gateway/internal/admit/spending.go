package admit

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Spending is the usage of a request, which may ask models several times.
type Spending struct {
	*Client
	*Demand
	trace    *upstream.Trace
	warn     func(llm.Warning)
	reserves *Reserves

	admission *access.Admission
	ways      []upstream.Candidate // that may be asked
	forwarded *catalog.Model       // the model of a forwarded request
	asked     int                  // number of model requests
	answers   int                  // answers of one model request, if fields outside llm.Request set the number

	// State of the current model request:
	open bool // its usage is not known yet
	to   string
	req  *llm.Request
	text int       // bytes of the answer so far
	said llm.Usage // usage that the upstream reported at the start of the answer
	work int64     // when an earlier attempt that the upstream worked on was sent, in nanoseconds; 0 if there is none

	// Total of the finished model requests:
	used                llm.Usage
	money               catalog.Money
	unpriced, estimated bool
	priced              bool // a part of the usage was recorded
	attempts            []access.UpstreamAttempt
	shares              []access.Share // for each upstream with usage
	cached              bool           // answered from the cache

	finished bool // the client has its answer
}

// defaultOutput is the usual number of output tokens of a request without a limit. Limits per minute count it, and
// budgets count it if the catalogue does not know the maximum output of the model.
const defaultOutput = 4096

// Limits of what a request reserves, whatever it asks for: tokens of an answer, and answers.
const (
	largestOutput = 1 << 20
	mostAnswers   = 128
)

// Claim admits a model request and reserves its possible cost, or returns an error. It returns the candidates that may
// be asked: if the key has a budget, only those with a known price.
func (s *Spending) Claim(ways []upstream.Candidate, req *llm.Request) ([]upstream.Candidate, error) {
	if s.Rights == nil {
		s.ways = ways
		return ways, nil
	}
	hosted := s.HostedTools(req)
	for _, name := range hosted {
		if err := s.MayUseTool(name); err != nil {
			return nil, err
		}
	}
	unpriced, asked := false, ""
	if s.Rights.BoundsMoney() {
		if len(ways) > 0 {
			asked = upstream.ShownID(ways[0].ID)
		}
		ways = slices.DeleteFunc(ways, func(w upstream.Candidate) bool { return !priced(w, hosted) })
		unpriced = len(ways) == 0
	}
	s.ways = ways
	claim := s.most(ways, req)
	claim.ID, claim.Model, claim.Unpriced, claim.Upstream = s.ID, s.Model, unpriced, asked
	var err error
	if s.admission, err = s.Book.Admit(s.Context(), s.Rights, claim); err != nil {
		return nil, s.Refuse(err)
	}
	s.setRateHeaders(s.admission.Rooms)
	return ways, nil
}

func infoOf(w upstream.Candidate) catalog.Model {
	if m := upstream.VendorModel(w.Opened); m != nil {
		return m.Info()
	}
	return catalog.Model{}
}

// priced reports whether the prices of all parts of a request are known.
func priced(w upstream.Candidate, hosted []string) bool {
	usage := llm.Usage{Input: 1, Output: 1, Hosted: make(map[string]int)}
	for _, name := range hosted {
		usage.Hosted[name] = 1
	}
	_, known := infoOf(w).Price.Cost(usage)
	return known
}

// Begin starts the accounting of a model request.
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

// Written returns how many bytes the model wrote in an event.
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

// bytesPerToken is the usual length of short tokens.
const bytesPerToken = 3

// estimate returns the usage of the current model request, estimated from its text.
func (s *Spending) estimate() llm.Usage {
	return llm.Usage{Input: llm.EstimateRequest(s.req), Output: (s.text + bytesPerToken - 1) / bytesPerToken}
}

// Limits of the plausible usage of one answer. Larger reported values are replaced by an estimate. For a model with a
// larger known context or output, four times that size is the limit.
const (
	MostInput  = 1 << 22
	mostHosted = 10_000
)

// odd reports whether reported usage is implausible.
func (s *Spending) odd(u llm.Usage) bool {
	info := s.model()
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

// BookUsage records the usage that an upstream reports. Missing or implausible values are estimated.
func (s *Spending) BookUsage(u llm.Usage) {
	if !s.open {
		return
	}
	guess := s.estimate()
	switch {
	case s.odd(u):
		s.BookEstimate("odd", guess)
		s.warn(llm.Warning{Code: llm.Degraded, Feature: "usage", Detail: "the usage that the upstream reported is implausible; it is estimated"})
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

// BookEstimate records estimated usage.
func (s *Spending) BookEstimate(why string, u llm.Usage) {
	s.estimated = true
	s.Metrics.Estimated.Add(1, s.trace.Route, why)
	s.Record(u)
	s.share().Estimated = true
}

// BookLost ends a model request with an incomplete answer. If the upstream worked on it, its usage is estimated. A
// request that was refused or never arrived costs nothing.
func (s *Spending) BookLost(err error) {
	if s.open && s.Worked(err) {
		used := s.estimate()
		if said := s.said; said.Input > 0 && !s.odd(said) {
			said.Output = max(said.Output, used.Output)
			used = said
		}
		s.BookEstimate("lost", used)
	}
	s.open = false
}

// Worked reports whether the upstream worked on the current model request, whose answer ended with err: part of the
// answer arrived, or the gateway stopped waiting. An upstream that refused the request, could not be reached, or closed
// the connection at once did no work.
func (s *Spending) Worked(err error) bool {
	sent := s.trace.SentAt()
	var failure *llm.Error
	switch {
	case s.text > 0, s.work > 0:
		return true
	case s.trace.Refused(), errors.As(err, &failure) && failure.Status != 0 && !exchange.ShuttingDown(s.Context()): // the status is our own
		return false
	case s.trace.Answered():
		return true
	case errors.Is(err, clientio.ErrGone), s.Context().Err() != nil:
		return sent > 0 || s.trace.AskedAt().IsZero() // a model that is not asked over HTTP gets the request at once
	}
	return sent > 0 && gaveUp(llm.KindOf(err))
}

// gaveUp reports whether the gateway stopped waiting for the answer.
func gaveUp(kind llm.Kind) bool {
	return kind == llm.Canceled || kind == llm.Timeout || kind == llm.TimeLimit || kind == llm.Stalled
}

// Sent records that the request reached an upstream whose trace is separate.
func (s *Spending) Sent(trace *upstream.Trace) {
	if s.work = trace.SentAt(); trace.AskedAt().IsZero() {
		s.work = 1 // a model that is not asked over HTTP gets the request at once
	}
}

// Retried records that an upstream is asked again. It remembers whether the upstream worked on the earlier attempt,
// which is recorded once if no answer completes.
func (s *Spending) Retried(ev provider.RequestRetry) {
	if ev.Status != 0 {
		s.trace.Refuse()
	} else if sent := s.trace.SentAt(); sent > 0 && s.Worked(&llm.Error{Kind: ev.Kind}) {
		s.work = sent
	}
}

// Record adds usage to the total of the request, and counts it in the metrics.
func (s *Spending) Record(u llm.Usage) {
	s.CountTokens(u)
	s.open = false
	cost, known := s.charge(u)
	s.used = s.used.Add(u)
	s.reserves.learn(s.owner(), s.Model, u.Output)
	share := s.share()
	share.Input, share.Output, share.Money = share.Input+int64(u.Input), share.Output+int64(u.Output), share.Money+cost
	share.Unpriced = share.Unpriced || !known && u.Input+u.Output > 0
}

// charge adds the price of usage to the cost of the request, and reports whether it is known.
func (s *Spending) charge(u llm.Usage) (cost catalog.Money, known bool) {
	s.priced = true
	price := s.model().Price
	if cost, known = price.Cost(u); !known {
		s.unpriced = s.unpriced || u.Input+u.Output > 0
		u.Hosted = nil
		cost, _ = price.Cost(u)
	}
	s.money += cost
	s.Metrics.Dollars.Add(float64(cost)/float64(catalog.Dollar), s.trace.Route, s.trace.Upstream, s.Team())
	return cost, known
}

// Reported counts the usage that an upstream reports, for a request without a key.
func (s *Spending) Reported(u llm.Usage) {
	if s.CountTokens(u); u.Input+u.Output > 0 {
		s.charge(u)
	}
}

// Cost returns what the request cost so far in dollars, or "" if a part of it has no known price.
func (s *Spending) Cost() string {
	if s.unpriced || !s.priced && !s.cached {
		return ""
	}
	return strings.TrimPrefix(s.money.String(), "$")
}

// model returns what is known about the model that is asked.
func (s *Spending) model() catalog.Model {
	if s.forwarded != nil {
		return *s.forwarded
	}
	for _, w := range s.ways {
		if w.ID == s.to {
			return infoOf(w)
		}
	}
	return catalog.Model{}
}

// maxAttempts limits the attempts that are stored with a request.
const maxAttempts = 20

// Attempted records that an upstream was asked.
func (s *Spending) Attempted(a access.UpstreamAttempt) {
	if len(s.attempts) < maxAttempts {
		s.attempts = append(s.attempts, a)
	}
}

// share returns the share of the current upstream.
func (s *Spending) share() *access.Share {
	for i := range s.shares {
		if s.shares[i].Upstream == s.to {
			return &s.shares[i]
		}
	}
	s.shares = append(s.shares, access.Share{Upstream: s.to})
	return &s.shares[len(s.shares)-1]
}

// most returns the most that a model request may use, over all candidates.
func (s *Spending) most(ways []upstream.Candidate, req *llm.Request) (claim access.Claim) {
	claim.Hard = s.reserves.Fixed < 0
	read := s.MostRead(req)
	for _, w := range ways {
		s.AddMost(&claim, read, req, infoOf(w))
	}
	return claim
}

// MostRead returns the most input tokens of a model request, or 0 if no limit counts tokens or money.
func (s *Spending) MostRead(req *llm.Request) int {
	if !s.Rights.BoundsSize() {
		return 0
	}
	return max(llm.EstimateRequest(req), s.Output.read(req)) + s.Output.guessed
}

// AddMost raises a claim to the most that a model may use for a request.
func (s *Spending) AddMost(claim *access.Claim, read int, req *llm.Request, info catalog.Model) {
	most, usual := s.Output.output(req, info, s.reserves.of(s.owner(), s.Model))
	cost, _ := info.Price.Cost(llm.Usage{Input: read, Output: usual})
	claim.Usual.Money = max(claim.Usual.Money, int64(cost))
	claim.Usual.Tokens = max(claim.Usual.Tokens, int64(read+usual))
	cost, _ = info.Price.Cost(llm.Usage{Input: read, Output: most})
	claim.Money = max(claim.Money, cost)
	claim.Tokens = max(claim.Tokens, int64(read+most))
}

// ClaimAgain reserves the possible usage of another model request within the same client request. A model is asked
// several times if the gateway runs tools, or if calls must be corrected.
func (s *Spending) ClaimAgain(ways []upstream.Candidate, req *llm.Request) error {
	if s.asked++; s.asked == 1 || s.admission == nil || !s.Rights.BoundsSize() {
		return nil
	}
	spent := access.Count{Tokens: int64(s.used.Input + s.used.Output), Money: int64(s.money)}
	return s.Refuse(s.Book.Renew(s.Context(), s.admission, spent, s.most(ways, req)))
}

// Settle records the usage of a request. Upstream is the model that answered.
func (s *Spending) Settle(upstream string, err error) {
	s.BookLost(err)
	line := access.LogLine{Route: s.trace.Route, Upstream: upstream, Format: s.Codec.Format, Status: "ok", Took: time.Since(s.Start), Cached: s.cached,
		Input: int64(s.used.Input), Output: int64(s.used.Output), Money: s.money, Unpriced: s.unpriced, Estimated: s.estimated, User: s.EndUser, Tag: s.Tag}
	if len(s.attempts) > 1 || len(s.attempts) == 1 && s.attempts[0].Kind != "ok" {
		line.Attempts = s.attempts
	}
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

// CountRefusal counts a request that was refused because of the rights or a limit of its key.
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
		if n > 0 && n <= MostInput { // an implausible value must not distort a counter, which never falls
			s.Metrics.Tokens.Add(float64(n), s.trace.Route, s.trace.Upstream, tokenKinds[i], s.Team())
		}
	}
}

// tokenKinds are the labels of the token counts, in the order of CountTokens.
var tokenKinds = [...]string{"input", "output", "cache_read", "cache_write", "reasoning"}

// TokensOf estimates how many tokens a body has.
func TokensOf(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// ClaimForwarded admits a request to another endpoint. If it is priced by input and output tokens, its usage is counted
// like that of a model request.
func (s *Spending) ClaimForwarded(up string, info catalog.Model, req *llm.Request, claim access.Claim, counted bool) error {
	s.to, s.forwarded, s.req = up, &info, req
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

// RecordUnpriced records that the request used something without a known price.
func (s *Spending) RecordUnpriced() { s.unpriced, s.open = true, false }

// Used returns the usage so far, or false if the request was not admitted for a key.
func (s *Spending) Used() (llm.Usage, bool) { return s.used, s.admission != nil }

// Open reports whether the usage of the current model request is still unknown.
func (s *Spending) Open() bool { return s.open }

// SetComplete records whether the request ended with a complete answer.
func (s *Spending) SetComplete(complete bool) { s.finished = complete }

// SetText records how many bytes of text the model wrote.
func (s *Spending) SetText(bytes int) { s.text = bytes }

// SetAnswers records how many answers the request asks for.
func (s *Spending) SetAnswers(n int) { s.Output.Answers, s.answers = n, n }

// Close ends the current model request without usage.
func (s *Spending) Close() { s.open = false }

// FromCache reports whether the answer came from the cache.
func (s *Spending) FromCache() bool { return s.cached }

// Admitted reports whether the request was admitted for a key.
func (s *Spending) Admitted() bool { return s.admission != nil }

// KeepBodies stores the bodies of the request and its answer in the log.
func (s *Spending) KeepBodies(b access.Bodies) error {
	return s.Book.KeepBodies(s.Context(), s.admission, b)
}

// NewSpending returns the spending of a new request.
func NewSpending(c *Client, d *Demand, reserves *Reserves, trace *upstream.Trace, warn func(llm.Warning)) Spending {
	return Spending{Client: c, Demand: d, reserves: reserves, trace: trace, warn: warn}
}

// owner returns the key of the request, "" without access control.
func (s *Spending) owner() string {
	if s.Rights == nil {
		return ""
	}
	return s.Rights.Key.ID
}

// maxOutput is the expected output that means the maximum of the model.
const maxOutput = math.MaxInt

// Reserves is what requests without an output limit reserve of budgets. The zero value learns it: for each key and model,
// 95 of 100 answers so far were not longer. It is safe for concurrent use.
type Reserves struct {
	// Fixed is a number of output tokens in place of the learned one; a negative number means the maximum of the model
	// and budgets that no reservation may exceed.
	Fixed int

	mu      sync.Mutex
	answers map[[2]string]*lengths // by key and model
}

// lengths are the output tokens of the last answers.
type lengths struct {
	last [lengthsKept]int32
	n    int
}

const (
	lengthsKept = 64
	lengthsMin  = 8    // answers before the learned number counts
	maxLengths  = 4096 // keys and models
)

// of returns the output tokens to reserve for an answer.
func (r *Reserves) of(key, model string) int {
	switch {
	case r.Fixed > 0:
		return r.Fixed
	case r.Fixed < 0:
		return maxOutput
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.answers[[2]string{key, model}]
	if l == nil || l.n < lengthsMin {
		return defaultOutput
	}
	last := slices.Clone(l.last[:min(l.n, lengthsKept)])
	slices.Sort(last)
	return int(last[(len(last)*95+99)/100-1])
}

// learn records the length of an answer. Clients choose the names of models of wildcard routes, so some are forgotten
// above a limit.
func (r *Reserves) learn(key, model string, output int) {
	if key == "" || output <= 0 || output > largestOutput || r.Fixed != 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := [2]string{key, model}
	l := r.answers[at]
	if l == nil {
		if len(r.answers) >= maxLengths {
			for old := range r.answers {
				delete(r.answers, old)
				break
			}
		}
		if r.answers == nil {
			r.answers = make(map[[2]string]*lengths)
		}
		l = new(lengths)
		r.answers[at] = l
	}
	l.last[l.n%lengthsKept] = int32(output)
	l.n++
}
