package console

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/console/internal/html"
)

// write sends a page.
func (p page) write(w http.ResponseWriter, title string, body html.HTML) error {
	return write(w, p.Base, title, p.navigation(), body)
}

func write(w http.ResponseWriter, base, title string, navigation, body html.HTML) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	head := html.Join(
		html.Tag("meta", html.Attrs{"charset", "utf-8"}),
		html.Tag("meta", html.Attrs{"name", "viewport", "content", "width=device-width, initial-scale=1"}),
		html.Tag("meta", html.Attrs{"name", "color-scheme", "content", "light dark"}),
		html.Tag("title", nil, html.Text(title+" · Toolpost")),
		html.Tag("link", html.Attrs{"rel", "stylesheet", "href", base + "/assets/console.css"}),
		html.Tag("link", html.Attrs{"rel", "icon", "href", base + "/assets/icon.svg"}),
		html.Tag("script", html.Attrs{"src", base + "/assets/console.js", "defer", ""}),
	)
	_, err := io.WriteString(w, html.Page(head, html.Join(
		html.Tag("a", html.Attrs{"class", "skip", "href", "#main"}, html.Text("Skip to content")),
		navigation,
		html.Tag("main", html.Attrs{"id", "main"}, body))))
	return err
}

// navigation links to the pages.
func (p page) navigation() html.HTML {
	section := p.section()
	var items []html.HTML
	for _, l := range p.places() {
		attrs := html.Attrs{"href", p.Base + l.path}
		if section == l.path {
			attrs = append(attrs, "aria-current", "page")
		}
		items = append(items, html.Tag("li", nil, html.Tag("a", attrs, html.Text(l.title))))
	}
	return html.El("header", "top",
		html.Tag("a", html.Attrs{"class", "brand", "href", p.Base + "/"}, html.Text("Toolpost")),
		html.Tag("nav", html.Attrs{"aria-label", "Pages"}, html.Tag("ul", nil, items...)),
		html.Tag("form", html.Attrs{"method", "post", "action", p.Base + "/logout", "class", "logout"}, p.session.hidden(),
			html.El("span", "quiet", html.Text(p.session.user.Name+", "+p.session.user.Permission.String()+" ")),
			html.Tag("button", html.Attrs{"type", "submit"}, html.Text("Log out"))))
}

// link is an entry of a navigation.
type link struct{ path, title string }

// places are the entries of the navigation: the pages that the console has something for.
func (p page) places() []link {
	links := []link{{"/", "Runs"}, {"/approvals", "Approvals"}, {"/explain", "Explain"}, {"/compare", "Compare"}}
	if p.Evaluations != nil {
		links = append(links, link{"/evaluations", "Evaluations"})
	}
	if p.Gateway != nil {
		links = append(links, link{"/gateway", "Gateway"})
	}
	links = append(links, link{"/models", "Models"})
	if p.Tools != nil {
		links = append(links, link{"/tools", "Tools"})
	}
	if p.Servers != nil {
		links = append(links, link{"/servers", "MCP servers"})
	}
	return links
}

// section is the entry of the navigation that a request belongs to.
func (p page) section() string {
	for _, l := range p.places()[1:] {
		if strings.HasPrefix(p.URL.Path, l.path) {
			return l.path
		}
	}
	return "/"
}

// sections is the navigation between the pages of a part.
func (p page) sections(label string, links []link) html.HTML {
	current := links[0].path
	for _, l := range links[1:] {
		if strings.HasPrefix(p.URL.Path, l.path) {
			current = l.path
		}
	}
	return html.Tag("nav", html.Attrs{"aria-label", label, "class", "sub"}, html.Tag("ul", nil, html.Each(links, func(l link) html.HTML {
		attrs := html.Attrs{"href", p.Base + l.path}
		if l.path == current {
			attrs = append(attrs, "aria-current", "page")
		}
		return html.Tag("li", nil, html.Tag("a", attrs, html.Text(l.title)))
	})))
}

// empty tells that there is nothing yet, and the command that changes it.
func empty(text, command string) html.HTML {
	return html.El("div", "empty", html.Tag("p", nil, html.Text(text)), html.If(command != "", html.Tag("p", nil, html.El("code", "", html.Text(command)))))
}

// fact is a name and a value; facts without a value are not shown.
type fact struct{ name, value string }

func factList(facts []fact) html.HTML {
	return html.El("dl", "facts", html.Each(facts, func(f fact) html.HTML {
		return html.If(f.value != "", html.El("div", "", html.Tag("dt", nil, html.Text(f.name)), html.Tag("dd", nil, html.Text(f.value))))
	}))
}

// thousands is a number in groups of three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func errorBody(text string) html.HTML {
	return html.Join(html.Tag("h1", nil, html.Text("This did not work")), html.Tag("p", html.Attrs{"class", "problem", "role", "alert"}, html.Text(text)))
}

func (c *Console) writeLogin(w http.ResponseWriter, status int, problem string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	write(w, c.Base, "Log in", "", html.Join(
		html.Tag("h1", nil, html.Text("Log in to Toolpost")),
		html.If(problem != "", html.Tag("p", html.Attrs{"class", "problem", "role", "alert"}, html.Text(problem))),
		html.Tag("form", html.Attrs{"method", "post", "action", c.Base + "/login", "class", "stack", "id", "login"},
			html.Tag("label", html.Attrs{"for", "token"}, html.Text("Token, as the command printed it")),
			html.Tag("input", html.Attrs{"id", "token", "name", "token", "type", "password", "autocomplete", "current-password", "required", ""}),
			html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Log in")))))
}

// cell is a cell of a table.
func cell(class string, inner ...html.HTML) html.HTML { return html.El("td", class, inner...) }

// table is a table that scrolls on narrow screens. The title of a column of numbers begins with "#".
func table(label string, columns []string, rows ...html.HTML) html.HTML {
	return html.Tag("div", html.Attrs{"class", "wide", "tabindex", "0", "role", "region", "aria-label", label},
		html.Tag("table", nil,
			html.Tag("thead", nil, html.Tag("tr", nil, html.Each(columns, func(c string) html.HTML {
				title, number := strings.CutPrefix(c, "#")
				attrs := html.Attrs{"scope", "col"}
				if number {
					attrs = append(attrs, "class", "n")
				}
				return html.Tag("th", attrs, html.Text(title))
			}))),
			html.Tag("tbody", nil, rows...)))
}

// field is a labelled input of a form.
func field(id, label, value, kind string) html.HTML {
	return html.El("div", "field", html.Tag("label", html.Attrs{"for", id}, html.Text(label)), html.Tag("input", html.Attrs{"id", id, "name", id, "type", kind, "value", value}))
}

// choice is a labelled list of values, of which the empty one is any.
func choice(id, label, value string, values []string) html.HTML {
	options := html.Tag("option", html.Attrs{"value", ""}, html.Text("any"))
	found := value == ""
	add := func(v string) {
		attrs := html.Attrs{"value", v}
		if v == value {
			attrs, found = append(attrs, "selected", ""), true
		}
		options = html.Join(options, html.Tag("option", attrs, html.Text(v)))
	}
	for _, v := range values {
		add(v)
	}
	if !found {
		add(value)
	}
	return html.El("div", "field", html.Tag("label", html.Attrs{"for", id}, html.Text(label)), html.Tag("select", html.Attrs{"id", id, "name", id}, options))
}

// named is a value of a list with the text that people see.
type named struct{ value, text string }

// selectNamed is a labelled list of values with texts.
func selectNamed(id, label, value string, values []named) html.HTML {
	return html.El("div", "field", html.Tag("label", html.Attrs{"for", id}, html.Text(label)), html.Tag("select", html.Attrs{"id", id, "name", id}, html.Each(values, func(v named) html.HTML {
		attrs := html.Attrs{"value", v.value}
		if v.value == value {
			attrs = append(attrs, "selected", "")
		}
		return html.Tag("option", attrs, html.Text(v.text))
	})))
}
