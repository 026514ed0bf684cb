package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// MCPServers are the MCP servers of the configuration.
type MCPServers struct {
	// List returns the servers with their state. It starts none.
	List func(ctx context.Context) ([]MCPServer, error)
	// Check starts a server, reads its tools and ends it. List has the outcome, which may be an error.
	Check func(ctx context.Context, name string) error
}

// MCPServer is an MCP server and what is known of it.
type MCPServer struct {
	Name, Kind, Where string
	State             string // in words, like "not started"
	Revision          string // of the protocol, once it was checked
	Tools             []MCPTool
	Listed            bool // the tools are known
	Problem           string
	Notices           []string
	Checked           time.Time // zero: not since the console started
	Took              time.Duration
}

// MCPTool is a tool of an MCP server. One that is not used was changed by the server, or is switched off.
type MCPTool struct {
	llm.ToolDef
	Used bool
}

// toolUse counts the calls of a tool in the recorded runs.
type toolUse struct{ runs, failed int }

// tools lists the tools with their audit.
func (p page) tools(w http.ResponseWriter) error {
	if p.Tools == nil {
		return notFound("The console was started without tools.")
	}
	defs, err := p.Tools(p.Context())
	if err != nil {
		return err
	}
	body := html.Tag("h1", nil, html.Text("Tools"))
	if len(defs) == 0 {
		return p.write(w, "Tools", html.Join(body, empty("There are no tools.", "toolpost tools list")))
	}
	if _, _, _, err := p.index.list(p.Context(), filter{}, 0, 1); err != nil { // the calls of the runs
		return err
	}
	reports := tool.Audit(defs)
	if name := p.URL.Query().Get("name"); name != "" {
		i := slices.IndexFunc(defs, func(d llm.ToolDef) bool { return d.Name == name })
		if i < 0 {
			return notFound("There is no tool " + name + ".")
		}
		return p.write(w, name, html.Join(html.Tag("h1", nil, html.El("code", "", html.Text(name))), html.Tag("p", nil, html.Tag("a", html.Attrs{"href", p.Base + "/tools"}, html.Text("All tools"))), toolPage(defs[i], reports[i], p.index.uses()[name])))
	}
	used := p.index.uses()
	return p.write(w, "Tools", html.Join(body,
		html.El("p", "lead", html.Text("What a model can read in each definition. The score is the share of five questions that the definition answers.")),
		auditTable(p.Base+"/tools?name=", reports, used)))
}

// auditTable lists audited definitions. A name without an address is not a link.
func auditTable(address string, reports []tool.AuditReport, used map[string]toolUse) html.HTML {
	columns := []string{"Tool", "#Score", "", "#Findings", "#Tokens"}
	if used != nil {
		columns = append(columns, "#Runs", "#Runs with a failure")
	}
	return table("Tools", columns, html.Each(reports, func(r tool.AuditReport) html.HTML {
		name := html.El("code", "", html.Text(r.Tool))
		if address != "" {
			name = html.Tag("a", html.Attrs{"href", address + queryEscape(r.Tool)}, name)
		}
		cells := []html.HTML{html.Tag("th", html.Attrs{"scope", "row"}, name), cell("n", html.Textf("%.1f", r.Score)), cell("", scoreBar(r.Score)), cell("n", html.Text(zeroDash(len(r.Findings)))), cell("n", html.Textf("%d", r.Tokens))}
		if used != nil {
			u := used[r.Tool]
			cells = append(cells, cell("n", html.Text(zeroDash(u.runs))), cell("n", html.Text(zeroDash(u.failed))))
		}
		return html.Tag("tr", nil, cells...)
	}))
}

func zeroDash(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}

// scoreBar draws a score of 0 to 1.
func scoreBar(score float64) html.HTML {
	return html.Tag("svg", html.Attrs{"class", "share", "viewBox", "0 0 100 14", "width", "100", "height", "14", "aria-hidden", "true"},
		html.Tag("rect", html.Attrs{"class", "track", "x", "0", "y", "2", "width", "100", "height", "10", "rx", "3"}),
		html.Tag("rect", html.Attrs{"class", "fill", "x", "0", "y", "2", "width", fmt.Sprintf("%.1f", 100*score), "height", "10", "rx", "3"}))
}

// toolPage shows a definition and the findings of its audit.
func toolPage(d llm.ToolDef, r tool.AuditReport, u toolUse) html.HTML {
	findings := html.El("p", "verified", html.Text("✓ The audit has no finding."))
	if len(r.Findings) > 0 {
		findings = table("Findings", []string{"Rule", "Parameter", "Problem", "What to do"}, html.Each(r.Findings, func(f tool.Finding) html.HTML {
			return html.Tag("tr", nil, html.Tag("th", html.Attrs{"scope", "row"}, html.Text(f.Rule)), cell("", html.Text(orDash(f.Parameter))), cell("task", html.Text(f.Problem)), cell("task", html.Text(f.Fix)))
		}))
	}
	return html.Join(
		factList([]fact{{"Score", fmt.Sprintf("%.1f of 1", r.Score)}, {"By keywords", fmt.Sprintf("%.1f", r.Keywords)}, {"Tokens in every request", strconv.Itoa(r.Tokens)}, {"Runs with a call", strconv.Itoa(u.runs)}, {"Runs with a failed call", strconv.Itoa(u.failed)}}),
		html.El("div", "text", html.Text(limited(d.Description))),
		html.Tag("h2", nil, html.Text("Findings")), findings,
		html.Tag("h2", nil, html.Text("Parameters")), html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(limited(indented(d.Schema)))))
}

// servers lists the MCP servers.
func (p page) servers(w http.ResponseWriter) error { return p.serversWith(w, "") }

func (p page) serversWith(w http.ResponseWriter, above html.HTML) error {
	if p.Servers == nil {
		return notFound("The console was started without MCP servers.")
	}
	all, err := p.Servers.List(p.Context())
	if err != nil {
		return err
	}
	body := html.Join(html.Tag("h1", nil, html.Text("MCP servers")), above)
	if len(all) == 0 {
		return p.write(w, "MCP servers", html.Join(body, empty("No MCP server is configured.", "toolpost mcp add files -- npx -y @modelcontextprotocol/server-filesystem .")))
	}
	return p.write(w, "MCP servers", html.Join(body, html.El("p", "lead", html.Text("No server runs for this page. A check starts the server, reads its tools and ends it.")),
		html.Each(all, p.serverPanel)))
}

func (p page) serverPanel(s MCPServer) html.HTML {
	checked := "not since the console started"
	if !s.Checked.IsZero() {
		checked = s.Checked.Local().Format("2006-01-02 15:04:05") + ", in " + duration(s.Took)
	}
	tools := "unknown"
	if s.Listed {
		tools = strconv.Itoa(len(s.Tools))
	}
	out := []html.HTML{
		html.Tag("h2", html.Attrs{"id", "server-" + s.Name}, html.Text(s.Name+" "), serverBadge(s)),
		factList([]fact{{"Where", s.Where}, {"Kind", s.Kind}, {"Tools", tools}, {"Revision", s.Revision}, {"Checked", checked}}),
	}
	if s.Problem != "" {
		out = append(out, problem("The last error: "+limited(s.Problem)))
	}
	for _, n := range s.Notices {
		out = append(out, html.El("p", "warning", html.Text(limited(n))))
	}
	if p.session.user.Permission >= Operator && s.State != "disabled" {
		out = append(out, html.Tag("form", html.Attrs{"method", "post", "class", "inline", "action", p.Base + "/servers/" + pathEscape(s.Name) + "/check"}, p.session.hidden(),
			html.Tag("button", html.Attrs{"type", "submit", "aria-label", "Check " + s.Name}, html.Text("Check now"))))
	}
	if len(s.Tools) > 0 {
		var defs []llm.ToolDef
		var unused []string
		for _, t := range s.Tools {
			defs = append(defs, t.ToolDef)
			if !t.Used {
				unused = append(unused, t.Name)
			}
		}
		out = append(out, html.Tag("details", nil, html.El("summary", "", html.Textf("%s with their audit", count(len(defs), "tool"))), auditTable("", tool.Audit(defs), nil)))
		for _, name := range unused {
			out = append(out, html.El("p", "warning", html.Textf("The tool %s is not used: it is switched off, or the server changed its definition.", name)))
		}
	}
	return html.El("section", "panel", out...)
}

func serverBadge(s MCPServer) html.HTML {
	switch {
	case s.Problem != "":
		return html.El("span", "badge s-failed", html.Text("✗ "+cmp.Or(s.State, "broken")))
	case !s.Checked.IsZero():
		return html.El("span", "badge s-success", html.Text("✓ works"))
	}
	return html.El("span", "badge s-ended", html.Text(s.State))
}

// checkServer starts a server to see whether it works.
func (p page) checkServer(w http.ResponseWriter) error {
	if p.Servers == nil {
		return notFound("The console was started without MCP servers.")
	}
	name := p.PathValue("name")
	if err := p.Servers.Check(p.Context(), name); err != nil {
		return notFound(err.Error())
	}
	http.Redirect(w, p.Request, p.Base+"/servers#server-"+pathEscape(name), http.StatusSeeOther)
	return nil
}
