package passthrough

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// endpoint is an endpoint of a vendor other than those of chat models, and the format that it belongs to.
type endpoint struct {
	serverapi.ForwardedPath
	format string
}

// endpoints are all endpoints that can be forwarded.
var endpoints = sync.OnceValue(func() (list []endpoint) {
	for _, name := range wire.Formats() {
		for _, path := range (wire.Codec{Format: name}).Server().Forwarded {
			list = append(list, endpoint{path, name})
		}
	}
	return list
})

// Kinds returns the kinds of endpoints that a route may pass on.
func Kinds() []string {
	var list []string
	for _, e := range endpoints() {
		if !slices.Contains(list, e.Kind) {
			list = append(list, e.Kind)
		}
	}
	return list
}

// CheckKinds returns an error for unknown kinds.
func CheckKinds(kinds []string) error {
	for _, k := range kinds {
		if !slices.Contains(Kinds(), k) {
			return fmt.Errorf("no endpoints are called %q; there are %s", k, strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// findEndpoint returns the endpoint of a request and the model in its path. The endpoint is nil if there is none.
func findEndpoint(r *http.Request) (*endpoint, string) {
	path := r.URL.Path
	list := endpoints()
	for i := range list {
		e := &list[i]
		if model, is := e.at(path); is && slices.Contains(strings.Fields(e.Methods), r.Method) {
			return e, model
		}
	}
	return nil, ""
}

// Endpoint returns the operation that a request asks for. It is NoOperation for endpoints that are forwarded, with the
// format of their vendor.
func Endpoint(r *http.Request) vendorapi.Endpoint {
	at := vendorapi.Find(r)
	if e, _ := findEndpoint(r); e != nil {
		return vendorapi.Endpoint{Action: serverapi.NoOperation, Codec: wire.Codec{Format: e.format}}
	} else if asksWebSocket(r) {
		return vendorapi.Endpoint{Action: serverapi.NoOperation, Codec: at.Codec}
	}
	return at
}

// at reports whether a path belongs to the endpoint, and returns the model in it.
func (e *endpoint) at(path string) (model string, is bool) {
	before, after, star := strings.Cut(e.Path, "*")
	if !star {
		return "", path == e.Path || strings.HasSuffix(e.Path, "/") && strings.HasPrefix(path, e.Path) && len(path) > len(e.Path)
	}
	rest, begins := strings.CutPrefix(path, before)
	model, ends := strings.CutSuffix(rest, after)
	return model, begins && ends && model != ""
}

// EndpointOf returns the path of a request with * for names and ids, or "" if the endpoint is unknown.
func EndpointOf(r *http.Request) string {
	if e, _ := findEndpoint(r); e != nil && strings.HasSuffix(e.Path, "/") {
		return e.Path + "*"
	} else if e != nil {
		return e.Path
	}
	return vendorapi.Route(r)
}

// asksWebSocket reports whether a request asks for a WebSocket. Requests to upgrade to other protocols (h2c) are
// ignored, as RFC 9110 section 7.8 allows: the response uses the protocol of the request.
func asksWebSocket(r *http.Request) bool {
	for _, list := range r.Header["Upgrade"] {
		for name := range strings.SplitSeq(list, ",") {
			if name, _, _ = strings.Cut(strings.TrimSpace(name), "/"); strings.EqualFold(name, "websocket") {
				return true
			}
		}
	}
	return false
}

// Serve forwards or refuses a request that is not for a chat model.
func (x *Forwarder) Serve() error {
	if asksWebSocket(x.HTTP) || x.HTTP.URL.Path == "/v1/realtime" || strings.HasPrefix(x.HTTP.URL.Path, "/v1/realtime/") {
		x.W.Header().Set("X-Should-Retry", "false")
		return &llm.Error{Op: "gateway", Kind: llm.Unsupported, Status: http.StatusNotImplemented,
			Err: errors.New("this gateway does not serve realtime sessions or WebSockets; ask over HTTP, with a stream if the answer should come in pieces")}
	}
	e, model := findEndpoint(x.HTTP)
	if e == nil {
		return vendorapi.NoEndpoint(x.Codec, x.HTTP)
	}
	return x.forwardTo(e, model)
}

// forwardTo forwards a request to the vendor of a route and returns the response to the client.
func (x *Forwarder) forwardTo(e *endpoint, model string) (err error) {
	if clean := x.HTTP.URL.EscapedPath(); strings.Contains(clean, "..") || strings.Contains(clean, "%") || strings.Contains(clean, "//") {
		return vendorapi.NoEndpoint(x.Codec, x.HTTP)
	}
	body, err := x.ReadBody()
	if err != nil {
		return err
	}
	mediaType := x.HTTP.Header.Get("Content-Type")
	if len(x.HTTP.Header["Content-Type"]) > 1 {
		return exchange.Invalid("the request has several headers Content-Type")
	}
	if e.Model == serverapi.ModelInBody {
		if model, err = x.modelOf(mediaType, body); err != nil {
			return err
		}
	}
	query, err := x.readQuery()
	if err != nil {
		return err
	}
	r, err := x.passRoute(e, model)
	if err != nil {
		return err
	}
	if err := cmp.Or(x.CheckFields(x.Demand, x.Table), x.CheckStoredObjects(r.team, body, x.Demand)); err != nil {
		return err
	}
	x.SetModel(model)
	x.Trace.Route = r.Name
	x.LogBody(r, body)
	up, to, err := x.forwarder(e, r, model)
	if err != nil {
		return err
	}
	ask, err := x.forwarded(e, model, to.Model(), query, body)
	if err != nil {
		return err
	}
	body = ask.Body
	ctx := httptrace.WithClientTrace(x.Context(), x.Trace.HTTP())
	if err := x.claimForwarded(e, up, to.Info(), body); err != nil {
		return err
	}
	defer func() { x.Book(err) }()
	leave, err := x.Enter(r.Route)
	if err != nil {
		return err
	}
	defer leave()
	x.SetUpstream(up)
	resp, err := to.Do(ctx, ask)
	if err != nil {
		x.leftPassed(e, len(body), err)
		return upstream.Wrap(err, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		err = &llm.Error{Op: "gateway", Kind: llm.Auth, Status: resp.StatusCode, Err: fmt.Errorf("%s refused the key of the gateway for %s", up, e.Kind)}
		x.Metrics.Forwarded.Add(1, r.Name, e.Kind, fmt.Sprint(resp.StatusCode))
		return upstream.Wrap(err, err)
	}
	return x.sendBack(e, r, resp, len(body))
}

// forwarded returns the request for the vendor, with the vendor's name for the model.
func (x *Forwarder) forwarded(e *endpoint, model, to, query string, body []byte) (ask provider.Forwarded, err error) {
	ask = provider.Forwarded{Method: x.HTTP.Method, Path: strings.TrimPrefix(x.HTTP.URL.Path, e.Root), Query: query, Header: allowed(x.HTTP.Header, toUpstream), Body: body}
	mediaType := x.HTTP.Header.Get("Content-Type")
	_, isForm := formBoundary(mediaType)
	switch {
	case e.Model == serverapi.ModelInPath:
		ask.Path = strings.Replace(ask.Path, "/"+model+":", "/"+to+":", 1)
		ask.Body, err = withGeminiModel(body, model, to)
	case e.Model == serverapi.ModelInBody && (model != "" || isForm):
		if ask.Body, mediaType, err = x.withModel(mediaType, body, to); isForm {
			ask.Header.Set("Content-Type", mediaType)
		}
	}
	return ask, err
}

// leftPassed records the input of a request whose response is incomplete, if the endpoint charges for input tokens: the
// upstream has read them.
func (x *Forwarder) leftPassed(e *endpoint, sent int, err error) {
	if x.Rights != nil && e.Costs == serverapi.InputOnly && x.Spent.Worked(err) {
		x.Spent.BookEstimate("lost", llm.Usage{Input: admit.TokensOf(sent)})
	}
}

// claimForwarded admits a request to another endpoint. It refuses the request if the key has too little left, or if a
// limited quantity cannot be counted.
func (x *Forwarder) claimForwarded(e *endpoint, up string, info catalog.Model, body []byte) error {
	if x.Rights == nil {
		return nil
	}
	var claim access.Claim
	req, err := new(llm.Request), error(nil)
	switch e.Costs {
	case serverapi.InputAndOutput:
		if req, err = x.writtenRequest(body); err != nil {
			return err
		}
		claim = x.mostWritten(req, info)
	case serverapi.InputOnly:
		usage := llm.Usage{Input: admit.TokensOf(len(body))}
		claim.Tokens = int64(usage.Input)
		cost, known := info.Price.Cost(usage)
		claim.Money, claim.Unpriced = cost, !known
	case serverapi.OtherUnits:
		claim.Unpriced = true
	}
	return x.Spent.ClaimForwarded(up, info, req, claim, e.Costs == serverapi.InputAndOutput)
}

// passRoute returns the route that forwards an endpoint.
func (x *Forwarder) passRoute(e *endpoint, model string) (*Route, error) {
	if model != "" {
		if err := x.MayUseModel(model); err != nil {
			return nil, err
		}
		r := x.find(model, e.format)
		if r == nil {
			return nil, x.NoModel(model)
		}
		if !slices.Contains(r.kinds, e.Kind) {
			return nil, vendorapi.NotFound(x.Codec, fmt.Errorf("the route of %q does not pass %s on%s", model, e.Kind, vendorapi.Hint(e.Path)))
		}
		return r, x.MayUseRoute(r.Name)
	}
	if err := x.Refuse(x.mayPass(e)); err != nil {
		return nil, err
	}
	if e.Costs == serverapi.InputAndOutput {
		return nil, x.NoModel("")
	}
	others := false // routes of other teams forward the kind
	for i := range x.Routes {
		r := &x.Routes[i]
		if slices.Contains(r.kinds, e.Kind) && (x.Rights == nil || x.Rights.Key.AllowsRoute(r.Name)) {
			if x.Rights == nil || e.Model != serverapi.NoModel || r.team == x.Owner {
				return r, nil
			}
			others = true
		}
	}
	if others {
		return nil, x.Refuse(&access.Refusal{Ground: access.NoRoute, Detail: fmt.Sprintf("no route passes %s of the team %.100q on: those who use them share one account, so a route names the team (pass_team)", e.Kind, x.Owner)})
	}
	return nil, vendorapi.NotFound(x.Codec, fmt.Errorf("no route passes %s on", e.Kind))
}

// mayPass returns why a client may not use an endpoint without naming a model, or nil if it may. The usage of such a
// request or batch is neither known before nor counted afterwards, so a key with limits could bypass them.
func (x *Forwarder) mayPass(e *endpoint) error {
	if x.Rights == nil {
		return nil
	}
	k := &x.Rights.Key
	switch {
	case len(k.Models) > 0:
		return &access.Refusal{Ground: access.NoModel, Detail: fmt.Sprintf("the request names no model, and the key %s may use only some", k.ID)}
	case e.Model == serverapi.NoModel && len(k.Tools) > 0:
		return &access.Refusal{Ground: access.NoTool, Detail: fmt.Sprintf("%s may use any tool of the vendor, and the key %s may use only some", e.Kind, k.ID)}
	case e.Model == serverapi.NoModel && x.Rights.BoundsSize():
		return &access.Refusal{Ground: access.NoPrice, Detail: fmt.Sprintf("what %s use is not counted, and what the key %s may use is bounded", e.Kind, k.ID)}
	}
	return nil
}

// forwarder opens the first upstream of a route that supports the endpoint.
func (x *Forwarder) forwarder(e *endpoint, r *Route, model string) (string, *provider.Forwarder, error) {
	if x.Forward == nil {
		return "", nil, vendorapi.NoEndpoint(x.Codec, x.HTTP)
	}
	star := r.Rest(model)
	var problem error
	for _, u := range r.InOrder(star) {
		id := u.Model
		if u.Wildcard() {
			if model != "" && !upstream.PlainName(star) {
				return "", nil, x.NoModel(model)
			}
			id = u.IDFor(star)
		}
		to, err := x.Forward(id)
		switch {
		case err != nil:
			problem = upstream.Wrap(err, err)
		case to.Speaks(e.format):
			x.Trace.Upstream = u.Model
			return id, to, nil
		}
	}
	if problem != nil {
		return "", nil, problem
	}
	return "", nil, &llm.Error{Op: "gateway", Kind: llm.Unsupported, Status: http.StatusNotFound, Err: fmt.Errorf("no upstream of the route %s has %s of this kind%s", r.Name, e.Kind, vendorapi.Hint(e.Path))}
}

// The headers that are forwarded, in each direction. All others are dropped: keys, cookies, addresses, and headers that
// select an account.
var (
	toUpstream = []string{"Accept", "Anthropic-Beta", "Anthropic-Version", "Content-Type", "Idempotency-Key", "Openai-Beta"}
	toClient   = []string{"Content-Disposition", "Content-Type", "Retry-After"}
)

func allowed(h http.Header, names []string) http.Header {
	out := http.Header{}
	for _, name := range names {
		if values := h[name]; len(values) > 0 {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// maxUsage limits the size of responses that are searched for usage.
const maxUsage = 4 << 20

// sendBack streams the response of an upstream to the client.
func (x *Forwarder) sendBack(e *endpoint, r *Route, resp *http.Response, sent int) error {
	header := x.W.Header()
	for name, values := range allowed(resp.Header, toClient) {
		header[name] = values
	}
	header.Set(exchange.UpstreamHeader, upstream.ShownID(x.Upstream))
	header.Set("X-Content-Type-Options", "nosniff")
	x.MarkBegun(x.Upstream)
	x.Metrics.Forwarded.Add(1, r.Name, e.Kind, fmt.Sprint(resp.StatusCode))
	var text *writtenStream // nil if the response is a document
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); e.Costs == serverapi.InputAndOutput && kind == exchange.EventStream {
		text = new(writtenStream)
	} else {
		x.Writer.Copy = &clientio.Capture{Limit: maxUsage}
	}
	if resp.StatusCode/100 != 2 {
		x.Trace.Refuse() // a refused request costs nothing
	}
	x.W.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(x.W)
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if text != nil {
				text.add(buf[:n])
				x.Spent.SetText(text.text)
			}
			if _, err := x.W.Write(buf[:n]); err != nil {
				x.leftPassed(e, sent, clientio.ErrGone)
				return clientio.ErrGone
			}
			_ = flush.Flush() // a disconnected client shows with the next chunk
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			x.leftPassed(e, sent, err)
			return x.brokeOff(err)
		}
	}
	if e.Costs == serverapi.InputAndOutput {
		x.countWritten(resp.StatusCode, text)
	} else {
		x.countPassed(e, resp.StatusCode, sent)
	}
	return nil
}

// brokeOff returns the error of an incomplete response.
func (x *Forwarder) brokeOff(err error) error {
	x.CloseConn = true
	if x.Context().Err() != nil {
		return clientio.ErrGone
	}
	kind := llm.KindOf(err)
	if kind == llm.Unknown {
		kind = llm.Incomplete
	}
	err = &llm.Error{Op: "gateway", Kind: kind, Err: fmt.Errorf("the answer of the upstream broke off: %w", err)}
	return upstream.Wrap(err, err)
}

// usedIn and saidIn are the paths of input and output tokens in responses: OpenAI, Ollama, Gemini, Cohere.
var (
	usedIn = [][]string{{"usage", "prompt_tokens"}, {"usage", "input_tokens"}, {"usage", "total_tokens"}, {"prompt_eval_count"}, {"usageMetadata", "promptTokenCount"}, {"meta", "billed_units", "input_tokens"}}
	saidIn = [][]string{{"usage", "completion_tokens"}, {"usage", "output_tokens"}, {"meta", "billed_units", "output_tokens"}}
)

// firstNumber returns the first positive number at one of the paths.
func firstNumber(v []byte, places [][]string) int {
	for _, place := range places {
		at := v
		for _, name := range place {
			at = js.Get(at, name)
		}
		if n, ok := js.Int(at); ok && n > 0 && n <= admit.MostInput {
			return int(n)
		}
	}
	return 0
}

// countPassed records the usage that a response reports. If it reports none, input tokens are estimated from the size
// of the request where they are charged. The cost of usage in other units is unknown, unless the response reports
// tokens.
func (x *Forwarder) countPassed(e *endpoint, status, sent int) {
	complete := status/100 == 2
	x.Spent.SetComplete(complete)
	if body, whole := x.Writer.Copy.Bytes(); whole && js.Valid(body) {
		body = js.Trim(body)
		x.Usage.Input, x.Usage.Output = firstNumber(body, usedIn), firstNumber(body, saidIn)
	}
	if x.Rights == nil {
		x.Spent.CountTokens(x.Usage)
		return
	}
	silent := x.Usage.Input+x.Usage.Output == 0 && complete && x.HTTP.Method == http.MethodPost
	switch {
	case silent && e.Costs == serverapi.InputOnly:
		x.Spent.BookEstimate("absent", llm.Usage{Input: admit.TokensOf(sent)})
	case silent && e.Costs == serverapi.OtherUnits:
		x.Spent.RecordUnpriced()
	default:
		x.Spent.Record(x.Usage)
	}
}

// modelOf returns the model that a body names, or "", and reads the other fields.
func (x *Forwarder) modelOf(mediaType string, body []byte) (string, error) {
	boundary, is := formBoundary(mediaType)
	if !is {
		if !js.Valid(body) || js.Kind(js.Trim(body)) != '{' {
			return "", exchange.Invalid("the body is not a JSON object")
		}
		if err := x.Read(body, nil); err != nil {
			return "", err
		}
		return js.Text(js.Get(js.Trim(body), "model")), nil
	}
	model, _, _, err := rewriteForm(body, boundary, "", func(name, value []byte) (bool, error) { return true, x.ReadField(name, value) })
	return model, err
}

// readQuery reads the parameters in the URL like fields of the body, because some servers do. It returns those that the key
// may send.
func (x *Forwarder) readQuery() (string, error) {
	if x.Rights == nil || x.HTTP.URL.RawQuery == "" {
		return x.HTTP.URL.RawQuery, nil
	}
	var sent []string
	for part := range strings.SplitSeq(x.HTTP.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, badName := url.QueryUnescape(name)
		value, badValue := url.QueryUnescape(value)
		switch {
		case badName != nil || badValue != nil || strings.Contains(part, ";"):
			return "", exchange.Invalid("the parameter %.60q of the URL cannot be read", part)
		case meansModel(name):
			return "", exchange.Invalid("the URL names a model: name it in the body, in the field model")
		}
		if err := x.ReadField([]byte(name), fieldValue([]byte(value))); err != nil {
			return "", err
		}
		if x.MaySend(x.Rights, []byte(name), x.Warn) {
			sent = append(sent, part)
		}
	}
	return strings.Join(sent, "&"), nil
}

// withGeminiModel replaces the model name in a Gemini body. The body may repeat the model of the path, also in each of
// several requests. Any other model name is an error.
func withGeminiModel(body []byte, model, to string) ([]byte, error) {
	text := js.Trim(body)
	if !js.Valid(text) || js.Kind(text) != '{' {
		return nil, exchange.Invalid("the body is not a JSON object")
	}
	var out []byte
	done := 0
	rename := func(key, value []byte) error {
		if name := js.Text(value); string(key) != "model" || strings.TrimPrefix(name, "models/") != model {
			return exchange.Invalid("the body names the model %.100q, and the address %.100q", name, model)
		}
		at := cap(text) - cap(value) // value is a part of text
		out = js.AppendQuoted(append(out, text[done:at]...), "models/"+to)
		done = at + len(value)
		return nil
	}
	for key, value := range js.Members(text) {
		if admit.IsModel(key) {
			if err := rename(key, value); err != nil {
				return nil, err
			}
		}
		if !js.SameField(key, "requests") {
			continue
		}
		for each := range js.Elements(value) {
			for key, value := range js.Members(each) {
				if !admit.IsModel(key) {
					continue
				}
				if err := rename(key, value); err != nil {
					return nil, err
				}
			}
		}
	}
	return append(out, text[done:]...), nil
}

// withModel replaces the model name in a body, if it has one, and returns the body and its media type. A form is always
// rewritten, because parts outside its fields, such as a preamble, have not been checked.
func (x *Forwarder) withModel(mediaType string, body []byte, model string) ([]byte, string, error) {
	if boundary, is := formBoundary(mediaType); is {
		_, out, mediaType, err := rewriteForm(body, boundary, model, func(name, _ []byte) (bool, error) { return x.MaySend(x.Rights, name, x.Warn), nil })
		return out, mediaType, err
	}
	name := js.Get(js.Trim(body), "model")
	at := cap(body) - cap(name) // name is a part of body
	out := append(make([]byte, 0, len(body)+len(model)), body[:at]...)
	return append(js.AppendQuoted(out, model), body[at+len(name):]...), mediaType, nil
}
