package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolpost/toolpost/console/internal/html"
)

// keyRow is a key of the gateway. Its secret is known only when it is made.
type keyRow struct {
	ID      string          `json:"id"`
	Team    string          `json:"team"`
	Name    string          `json:"name"`
	Models  []string        `json:"models"`
	Tools   []string        `json:"tools"`
	Routes  []string        `json:"routes"`
	Limits  json.RawMessage `json:"limits"`
	Created time.Time       `json:"created"`
	Expires time.Time       `json:"expires"`
	Revoked time.Time       `json:"revoked"`
	Secret  string          `json:"secret"`
}

// keys lists the keys, with forms to create, rotate and revoke.
func (p page) keys(w http.ResponseWriter) error { return p.keysWith(w, "") }

func (p page) keysWith(w http.ResponseWriter, above html.HTML) error {
	if err := p.connected(); err != nil {
		return err
	}
	var a struct{ Keys []keyRow }
	if err := p.Gateway.ask(p.Context(), http.MethodGet, "/admin/keys", nil, &a); err != nil {
		return err
	}
	spent := map[string]usageRow{}
	if rows, err := p.usageBy("key", 30); err == nil {
		for _, u := range rows {
			spent[u.Key] = u
		}
	}
	rows := html.Each(a.Keys, func(k keyRow) html.HTML {
		u := spent[k.ID]
		return html.Tag("tr", nil,
			html.Tag("th", html.Attrs{"scope", "row"}, html.Text(k.ID)), cell("", html.Text(orDash(k.Team))), cell("", html.Text(orDash(k.Name))),
			cell("", keyState(k)), cell("", html.Text(orDash(strings.Join(k.Models, ", ")))), cell("", html.Text(limitsText(k.Limits))),
			cell("n", html.Textf("%d", u.Requests)), cell("n", html.Text(dollars(u.USD))), cell("time", clock(k.Created)), cell("", p.keyActions(k)))
	})
	create := html.Tag("form", html.Attrs{"method", "post", "action", p.Base + "/gateway/keys", "class", "filters"}, p.session.hidden(),
		field("team", "Team", "", "text"), field("name", "Name", "", "text"), field("models", "Models, with commas", "", "text"),
		field("limits", "Limits, like requests/minute=60, money/month=50", "", "text"), field("expires", "Expires, like 30d", "", "text"),
		html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Create key")))
	return p.write(w, "Keys", html.Join(html.Tag("h1", nil, html.Text("Keys")), p.gatewaySections(), above,
		html.Tag("h2", nil, html.Text("Create a key")), create, html.Tag("h2", nil, html.Text("Keys, with the usage of the last 30 days")),
		table("Keys", []string{"Key", "Team", "Name", "State", "Models", "Limits", "#Requests", "#Dollars", "Created", "Actions"}, rows)))
}

func keyState(k keyRow) html.HTML {
	switch {
	case !k.Revoked.IsZero() && k.Revoked.Before(time.Now()):
		return html.El("span", "badge s-failed", html.Text("✗ revoked"))
	case !k.Expires.IsZero() && k.Expires.Before(time.Now()):
		return html.El("span", "badge s-failed", html.Text("✗ expired"))
	}
	return html.El("span", "badge s-success", html.Text("✓ active"))
}

func limitsText(raw json.RawMessage) string {
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return strings.Join(list, ", ")
	}
	return "–"
}

func (p page) keyActions(k keyRow) html.HTML {
	if !k.Revoked.IsZero() {
		return ""
	}
	form := func(action, label string) html.HTML {
		return html.Tag("form", html.Attrs{"method", "post", "class", "inline", "action", p.Base + "/gateway/keys/" + pathEscape(k.ID) + "/" + action}, p.session.hidden(),
			html.Tag("button", html.Attrs{"type", "submit", "aria-label", label + " key " + k.ID, "data-confirm", label + " the key " + k.ID + " of team " + k.Team + "?"}, html.Text(label)))
	}
	return html.Join(form("rotate", "Rotate"), form("revoke", "Revoke"))
}

// secretShown shows a new secret, once.
func secretShown(k keyRow, verb string) html.HTML {
	return html.Tag("section", html.Attrs{"class", "secret", "role", "status"},
		html.El("p", "verified", html.Textf("The key %s was %s. Its secret is shown only now:", k.ID, verb)), html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(k.Secret)))
}

func list(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (p page) createKey(w http.ResponseWriter) error {
	if err := p.connected(); err != nil {
		return err
	}
	body := map[string]any{"team": strings.TrimSpace(p.PostFormValue("team"))}
	if body["team"] == "" {
		return wrong("A key needs a team.")
	}
	if v := strings.TrimSpace(p.PostFormValue("name")); v != "" {
		body["name"] = v
	}
	for _, name := range []string{"models", "limits"} {
		if v := list(p.PostFormValue(name)); len(v) > 0 {
			body[name] = v
		}
	}
	if v := strings.TrimSpace(p.PostFormValue("expires")); v != "" {
		body["expires"] = v
	}
	var k keyRow
	if err := p.Gateway.ask(p.Context(), http.MethodPost, "/admin/keys", body, &k); err != nil {
		return err
	}
	return p.keysWith(w, secretShown(k, "created"))
}

func (p page) rotateKey(w http.ResponseWriter) error {
	if err := p.connected(); err != nil {
		return err
	}
	var k keyRow
	if err := p.Gateway.ask(p.Context(), http.MethodPost, "/admin/keys/"+url.PathEscape(p.PathValue("id"))+"/rotate", map[string]any{"grace": "1d"}, &k); err != nil {
		return err
	}
	return p.keysWith(w, html.Join(secretShown(k, "rotated"), note("The earlier secret works for one more day.")))
}

func (p page) revokeKey(w http.ResponseWriter) error {
	if err := p.connected(); err != nil {
		return err
	}
	id := p.PathValue("id")
	if err := p.Gateway.ask(p.Context(), http.MethodPost, "/admin/keys/"+url.PathEscape(id)+"/revoke", map[string]any{}, nil); err != nil {
		return err
	}
	return p.keysWith(w, html.Tag("p", html.Attrs{"class", "verified", "role", "status"}, html.Textf("The key %s was revoked.", id)))
}

// audit lists the changes of keys and teams.
func (p page) audit(w http.ResponseWriter) error {
	if err := p.connected(); err != nil {
		return err
	}
	var a struct {
		Changes []struct {
			At     time.Time `json:"at"`
			By     string    `json:"by"`
			Action string    `json:"action"`
			Of     string    `json:"of"`
			Team   string    `json:"team"`
		} `json:"changes"`
	}
	if err := p.Gateway.ask(p.Context(), http.MethodGet, "/admin/audit?limit=200", nil, &a); err != nil {
		return err
	}
	rows := html.HTML("")
	for _, c := range a.Changes {
		rows = html.Join(rows, html.Tag("tr", nil, cell("time", clock(c.At)), cell("", html.Text(orDash(c.By))), cell("", html.Text(c.Action)), cell("", html.Text(c.Of)), cell("", html.Text(orDash(c.Team)))))
	}
	return p.write(w, "Audit", html.Join(html.Tag("h1", nil, html.Text("Audit")), p.gatewaySections(),
		table("Changes of keys and teams", []string{"At", "By", "Action", "Of", "Team"}, rows)))
}
