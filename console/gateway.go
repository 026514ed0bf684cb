package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/outbound"
)

// AdminAPI is the administrators' API of a gateway.
type AdminAPI struct {
	URL    string // of admin_addr, without a path
	Key    string // of an administrator
	Client *http.Client
}

const (
	gatewayTime = 20 * time.Second
	maxAnswer   = 32 << 20
)

// ask sends a request to the administrators' API and reads its JSON into v.
func (g *AdminAPI) ask(ctx context.Context, method, path string, body, v any) error {
	ctx, cancel := context.WithTimeout(ctx, gatewayTime)
	defer cancel()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(g.URL, "/")+path, in)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+g.Key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := cmp.Or(g.Client, noRedirects).Do(req)
	if err != nil {
		return &statusError{http.StatusBadGateway, "The gateway cannot be reached: " + err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return &statusError{http.StatusBadGateway, "The answer of the gateway broke off: " + err.Error()}
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return &statusError{http.StatusBadGateway, fmt.Sprintf("The gateway refused (%s): %s", resp.Status, errorText(text))}
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return &statusError{http.StatusBadGateway, "The answer of the gateway cannot be read: " + err.Error()}
	}
	return nil
}

// noRedirects keeps the key with the host that it is for.
var noRedirects = outbound.New(outbound.Rules{})

// errorText returns the message of an error of the API.
func errorText(text []byte) string {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &e) == nil && e.Error.Message != "" {
		return e.Error.Message
	}
	return firstLine(string(text), 300)
}

// usageRow is a sum of the usage.
type usageRow struct {
	Team, Key, Route, Model, Upstream, User, Tag, Day string
	Requests, Failed, Cached, Refused, Input, Output  int64
	USD                                               json.Number
	Unpriced, Estimated                               int64
}

func (u usageRow) dollars() float64 { f, _ := u.USD.Float64(); return f }

// requestRow is a request in the log of the gateway.
type requestRow struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Team     string    `json:"team"`
	Key      string    `json:"key"`
	Route    string    `json:"route"`
	Model    string    `json:"model"`
	Upstream string    `json:"upstream"`
	Format   string    `json:"format"`
	Status   string    `json:"status"`
	User     string    `json:"user"`
	Tag      string    `json:"tag"`
	Input    int64     `json:"input"`
	Output   int64     `json:"output"`
	USD      json.Number
	Cached   bool    `json:"cached"`
	Seconds  float64 `json:"seconds"`
	Attempts []struct {
		Upstream string  `json:"upstream"`
		Kind     string  `json:"kind"`
		Status   int     `json:"status"`
		Error    string  `json:"error"`
		Seconds  float64 `json:"seconds"`
	} `json:"attempts"`
}

func (p page) connected() error {
	if p.Gateway == nil {
		return notFound("The console was started without a gateway.")
	}
	return nil
}

// usageBy asks for sums since a number of days.
func (p page) usageBy(by string, days int) ([]usageRow, error) {
	var a struct{ Usage []usageRow }
	err := p.Gateway.ask(p.Context(), http.MethodGet, "/admin/usage?by="+url.QueryEscape(by)+"&since="+strconv.Itoa(days)+"d", nil, &a)
	return a.Usage, err
}

// gatewaySections are the pages of a gateway.
func (p page) gatewaySections() html.HTML {
	links := []link{{"/gateway", "Overview"}, {"/gateway/requests", "Requests"}, {"/gateway/usage", "Usage"}}
	if p.session.user.Permission >= Admin {
		links = append(links, link{"/gateway/keys", "Keys"}, link{"/gateway/audit", "Audit"})
	}
	return p.sections("Gateway", links)
}

// gateway is the overview: spend by day, and routes and upstreams with their failures.
func (p page) gateway(w http.ResponseWriter) error {
	if err := p.connected(); err != nil {
		return err
	}
	days, err := p.usageBy("day", 30)
	if err != nil {
		return err
	}
	upstreams, err := p.usageBy("upstream", 30)
	if err != nil {
		return err
	}
	teams, err := p.usageBy("team", 30)
	if err != nil {
		return err
	}
	days = lastDays(days, 30, time.Now())
	return p.write(w, "Gateway", html.Join(
		html.Tag("h1", nil, html.Text("Gateway")), p.gatewaySections(),
		html.El("p", "lead", html.Text("The last 30 days.")),
		html.El("div", "cards",
			columns("Requests by day", days, func(u usageRow) float64 { return float64(u.Requests) }, "%.0f", "No requests in this time."),
			columns("Spend by day", days, usageRow.dollars, "$%.4f", "No spend in this time. Models without a known price count as nothing.")),
		html.Tag("h2", nil, html.Text("Upstreams")), sums("Upstreams", "Upstream", upstreams, func(u usageRow) string { return u.Upstream }),
		html.Tag("h2", nil, html.Text("Teams")), sums("Teams", "Team", teams, func(u usageRow) string { return u.Team })))
}

// sums is a table of usage.
func sums(label, first string, rows []usageRow, name func(usageRow) string) html.HTML {
	if len(rows) == 0 {
		return empty("No requests.", "")
	}
	return table(label, []string{first, "#Requests", "#Failed", "#Cached", "#Refused", "#Tokens read", "#Tokens written", "#Dollars"}, html.Each(rows, func(u usageRow) html.HTML {
		cells := []html.HTML{html.Tag("th", html.Attrs{"scope", "row"}, html.Text(orDash(name(u))))}
		for _, n := range []int64{u.Requests, u.Failed, u.Cached, u.Refused, u.Input, u.Output} {
			cells = append(cells, cell("n", html.Text(thousands(n))))
		}
		return html.Tag("tr", nil, append(cells, cell("n", html.Text(dollars(u.USD)), html.If(u.Unpriced > 0, html.Text(" *")), html.If(u.Estimated > 0, html.Text(" ~"))))...)
	}))
}

func dollars(n json.Number) string { return "$" + orZero(n.String()) }

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

// lastDays returns a row for each of the last days, the oldest first. Days without requests have zeros.
func lastDays(rows []usageRow, n int, today time.Time) []usageRow {
	known := make(map[string]usageRow, len(rows))
	for _, r := range rows {
		known[r.Day] = r
	}
	out := make([]usageRow, n)
	for i := range out {
		day := today.UTC().AddDate(0, 0, i+1-n).Format(time.DateOnly)
		out[i] = known[day]
		out[i].Day = day
	}
	return out
}

// columns is a chart with a column for each day. Without values it is a sentence.
func columns(title string, days []usageRow, value func(usageRow) float64, format, none string) html.HTML {
	const step, width, height = 20, 15, 110
	top, sum := 0.0, 0.0
	for _, d := range days {
		top = max(top, value(d))
		sum += value(d)
	}
	if top == 0 {
		return html.El("section", "panel", html.Tag("h2", nil, html.Text(title)), note(none))
	}
	var bars []html.HTML
	for i, d := range days {
		h := height * value(d) / top
		bars = append(bars, html.Tag("g", nil, html.Tag("title", nil, html.Text(d.Day+": "+fmt.Sprintf(format, value(d)))),
			html.Tag("rect", html.Attrs{"class", "track", "x", strconv.Itoa(i * step), "y", "0", "width", strconv.Itoa(width), "height", strconv.Itoa(height)}),
			html.Tag("rect", html.Attrs{"class", "bar model", "x", strconv.Itoa(i * step), "y", fmt.Sprintf("%.1f", height-h), "width", strconv.Itoa(width), "height", fmt.Sprintf("%.1f", h)})))
	}
	first, last := days[0], days[len(days)-1]
	bars = append(bars, html.Tag("text", html.Attrs{"x", "0", "y", strconv.Itoa(height + 18)}, html.Text(first.Day)),
		html.Tag("text", html.Attrs{"x", strconv.Itoa(len(days)*step - step + width), "y", strconv.Itoa(height + 18), "text-anchor", "end"}, html.Text(last.Day)))
	return html.El("section", "panel", html.Tag("h2", nil, html.Text(title)),
		factList([]fact{{"Sum", fmt.Sprintf(format, sum)}, {"Highest day", fmt.Sprintf(format, top)}, {"Today", fmt.Sprintf(format, value(last))}}),
		html.Tag("svg", html.Attrs{"class", "chart", "role", "img", "aria-label", fmt.Sprintf("%s: %s in all, the highest day has %s", title, fmt.Sprintf(format, sum), fmt.Sprintf(format, top)),
			"viewBox", fmt.Sprintf("0 0 %d %d", len(days)*step, height+24)}, bars...))
}

// requests lists the log of the gateway.
func (p page) requests(w http.ResponseWriter) error {
	if err := p.connected(); err != nil {
		return err
	}
	q := p.URL.Query()
	ask := url.Values{"limit": {strconv.Itoa(maxRequests + 1)}}
	filters := []html.HTML{}
	for _, name := range []string{"id", "team", "key", "route", "model", "upstream", "user", "tag", "status", "before"} {
		if v := strings.TrimSpace(q.Get(name)); v != "" {
			ask.Set(name, v)
		}
		if name == "status" || name == "before" {
			continue
		}
		filters = append(filters, field(name, map[bool]string{true: "Request", false: strings.ToUpper(name[:1]) + name[1:]}[name == "id"], q.Get(name), "search"))
	}
	var a struct{ Requests []requestRow }
	if err := p.Gateway.ask(p.Context(), http.MethodGet, "/admin/requests?"+ask.Encode(), nil, &a); err != nil {
		return err
	}
	filters = append(filters, choice("status", "Status", q.Get("status"), []string{"failed"}),
		html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Filter")), html.Tag("a", html.Attrs{"href", p.Base + "/gateway/requests"}, html.Text("Clear")))
	rows := a.Requests[:min(len(a.Requests), maxRequests)]
	body := empty("No request matches.", "")
	if len(rows) > 0 {
		body = table("Requests", []string{"Request", "Status", "Team", "Route", "Upstream", "#Failed attempts", "#Tokens", "#Dollars", "#Time", "At"}, html.Each(rows, func(r requestRow) html.HTML {
			return html.Tag("tr", nil,
				cell("", html.Tag("a", html.Attrs{"href", p.Base + "/gateway/requests/" + pathEscape(r.ID)}, html.Text(r.ID))),
				cell("", statusBadge(r.Status, r.Cached)),
				cell("", html.Text(orDash(r.Team))), cell("", html.Text(orDash(r.Route))), cell("", html.Text(orDash(r.Upstream))),
				cell("n", html.Textf("%d", len(r.Attempts))),
				cell("n", html.Text(thousands(r.Input+r.Output))), cell("n", html.Text(dollars(r.USD))),
				cell("n", html.Text(duration(time.Duration(r.Seconds*float64(time.Second))))), cell("time", clock(r.At)))
		}))
	}
	return p.write(w, "Requests", html.Join(html.Tag("h1", nil, html.Text("Requests")), p.gatewaySections(),
		html.Tag("form", html.Attrs{"method", "get", "action", p.Base + "/gateway/requests", "class", "filters", "role", "search"}, filters...),
		body, p.olderRequests(a.Requests, q)))
}

// maxRequests is how many requests a page lists.
const maxRequests = 100

// olderRequests links to the rest of a list.
func (p page) olderRequests(rows []requestRow, q url.Values) html.HTML {
	here := p.Base + "/gateway/requests?"
	var out []html.HTML
	if q.Get("before") != "" {
		newest := maps.Clone(q)
		newest.Del("before")
		out = append(out, html.Tag("a", html.Attrs{"href", here + newest.Encode()}, html.Text("Newest")), html.Text(" "))
	}
	if len(rows) > maxRequests {
		older := maps.Clone(q)
		older.Set("before", rows[maxRequests-1].ID)
		out = append(out, html.Tag("a", html.Attrs{"href", here + older.Encode(), "rel", "next"}, html.Text("Older")))
	}
	return html.El("p", "pages", out...)
}

func statusBadge(status string, cached bool) html.HTML {
	if status == "ok" {
		return html.Join(badge(stateSuccess), html.If(cached, html.Text(" cached")))
	}
	return html.El("span", "badge s-failed", html.Text("✗ "+strings.ReplaceAll(status, "_", " ")))
}

// request shows one request with the attempts that failed, and its bodies if the gateway keeps them.
func (p page) request(w http.ResponseWriter) error {
	if err := p.connected(); err != nil {
		return err
	}
	id := p.PathValue("id")
	var a struct{ Requests []requestRow }
	if err := p.Gateway.ask(p.Context(), http.MethodGet, "/admin/requests?id="+url.QueryEscape(id), nil, &a); err != nil {
		return err
	}
	i := slices.IndexFunc(a.Requests, func(r requestRow) bool { return r.ID == id })
	if i < 0 {
		return notFound("The log has no request " + id + ". Its line may be older than the gateway keeps lines.")
	}
	r := a.Requests[i]
	facts := factList([]fact{{"Team", r.Team}, {"Key", r.Key}, {"Route", r.Route}, {"Requested model", r.Model}, {"Upstream", r.Upstream},
		{"Format", r.Format}, {"End user", r.User}, {"Tag", r.Tag}, {"Tokens", thousands(r.Input) + " read, " + thousands(r.Output) + " written"}, {"Dollars", dollars(r.USD)},
		{"Time", duration(time.Duration(r.Seconds * float64(time.Second)))}, {"At", r.At.Local().Format(time.DateTime)}})
	attempts := note("No attempt failed before the answer.")
	if len(r.Attempts) > 0 {
		rows := html.HTML("")
		for _, t := range r.Attempts {
			rows = html.Join(rows, html.Tag("tr", nil, cell("", html.Text(t.Upstream)), cell("", statusBadge(t.Kind, false)), cell("n", html.Text(statusText(t.Status))),
				cell("task", html.Text(orDash(t.Error))), cell("n", html.Text(duration(time.Duration(t.Seconds*float64(time.Second)))))))
		}
		attempts = table("Failed attempts", []string{"Upstream", "Result", "#HTTP status", "Error", "#Time"}, rows)
	}
	var bodies json.RawMessage
	kept := note("The gateway keeps no bodies of this request. The setting log_bodies keeps them.")
	if p.session.user.Permission >= Operator && p.Gateway.ask(p.Context(), http.MethodGet, "/admin/requests/"+url.PathEscape(id), nil, &bodies) == nil {
		kept = html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(cutText(indented(bodies))))
	}
	return p.write(w, id, html.Join(html.Tag("h1", nil, html.Text(id+" "), statusBadge(r.Status, r.Cached)), p.gatewaySections(), facts,
		html.Tag("h2", nil, html.Text("Attempts")), attempts, html.Tag("h2", nil, html.Text("Bodies")), kept))
}

func statusText(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}

func cutText(s string) string {
	if len(s) <= 4*maxShown {
		return s
	}
	cut := clip.Rune(s, 4*maxShown)
	return s[:cut] + fmt.Sprintf("\n… %d more bytes", len(s)-cut)
}

// usage shows sums by a group.
func (p page) usage(w http.ResponseWriter) error {
	if err := p.connected(); err != nil {
		return err
	}
	groups := map[string]func(usageRow) string{
		"team": func(u usageRow) string { return u.Team }, "key": func(u usageRow) string { return u.Key }, "route": func(u usageRow) string { return u.Route },
		"model": func(u usageRow) string { return u.Model }, "upstream": func(u usageRow) string { return u.Upstream }, "user": func(u usageRow) string { return u.User },
		"tag": func(u usageRow) string { return u.Tag }, "day": func(u usageRow) string { return u.Day },
	}
	by := cmp.Or(p.URL.Query().Get("by"), "key")
	name := groups[by]
	if name == nil {
		return wrong("There is no group " + by + ".")
	}
	rows, err := p.usageBy(by, 30)
	if err != nil {
		return err
	}
	names := []string{"team", "key", "route", "model", "upstream", "user", "tag", "day"}
	return p.write(w, "Usage", html.Join(html.Tag("h1", nil, html.Text("Usage of the last 30 days")), p.gatewaySections(),
		html.Tag("form", html.Attrs{"method", "get", "action", p.Base + "/gateway/usage", "class", "filters"}, choice("by", "By", by, names), html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Show"))),
		sums("Usage by "+by, strings.ToUpper(by[:1])+by[1:], rows, name),
		note("* without requests of unknown price; ~ with estimated tokens")))
}
