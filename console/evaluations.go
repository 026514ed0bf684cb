package console

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/clip"
)

// Evaluations are the recorded evaluations, and the suites to score them with.
type Evaluations struct {
	Store RunStore
	// Suite reads the suite of an evaluation by the source in its plan.
	Suite func(ctx context.Context, source string) (*eval.Suite, error)

	mu     sync.Mutex
	scored map[string]*scored
}

// scored is an evaluation with its scores. It holds until the record grows.
type scored struct {
	*eval.Summary
	suite   *eval.Suite
	changed bool // the suite is not the one that was asked
	entries int64
	began   time.Time
	problem string
}

const (
	maxScored      = 200  // evaluations of the list
	maxHeatRows    = 200  // cases of one page
	maxShownChange = 100  // cases of a comparison
	maxHistory     = 40   // points of a history
	maxCaseText    = 4096 // bytes of an answer
)

// scores returns an evaluation with its scores. Only new entries are read again.
func (v *Evaluations) scores(ctx context.Context, run string) (*scored, error) {
	v.mu.Lock()
	old := v.scored[run]
	v.mu.Unlock()
	seen := int64(0)
	if old != nil {
		seen = old.entries
	}
	now := &scored{entries: seen}
	for e, err := range v.Store.Read(ctx, run, seen+1) {
		if err != nil {
			return nil, err
		}
		if e.Seq == 1 {
			now.began = e.At
		}
		now.entries = e.Seq
	}
	if old != nil && now.entries == old.entries {
		return old, nil
	}
	if old != nil {
		now.began = old.began
	}
	plan, _, err := eval.ReadPlan(ctx, v.Store, run)
	if err != nil {
		return nil, err
	}
	suite, err := v.Suite(ctx, plan.Source)
	if err != nil {
		now.problem = "The suite cannot be read, so the answers have no scores: " + err.Error()
		suite = &eval.Suite{Name: plan.Suite}
	}
	now.suite = suite
	now.changed = now.problem == "" && suite.Hash != plan.Hash && plan.Cases == len(suite.Cases)
	if now.Summary, err = eval.Summarize(ctx, v.Store, suite, run); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.scored == nil || len(v.scored) > maxScored {
		v.scored = make(map[string]*scored)
	}
	v.scored[run] = now
	return now, nil
}

// list returns the evaluations, the newest first, and how many were left out.
func (v *Evaluations) list(ctx context.Context) (all []*scored, left int, err error) {
	for run, err := range v.Store.Runs(ctx) {
		if err != nil {
			return nil, 0, err
		}
		if !isEvaluation(run) {
			continue
		}
		if len(all) == maxScored {
			left++
			continue
		}
		if s, err := v.scores(ctx, run); err == nil { // a damaged record must not hide the others
			all = append(all, s)
		} else if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
	}
	slices.SortFunc(all, func(a, b *scored) int { return b.began.Compare(a.began) })
	return all, left, nil
}

// isEvaluation reports whether a record is an evaluation, and not a conversation of one.
func isEvaluation(run string) bool {
	rest, ok := strings.CutPrefix(run, "eval-")
	return ok && !strings.Contains(rest, "-")
}

func (p page) evaluated() error {
	if p.Evaluations == nil {
		return notFound("The console was started without evaluations.")
	}
	return nil
}

// evaluationSections are the pages about evaluations.
func (p page) evaluationSections() html.HTML {
	return p.sections("Evaluations", []link{{"/evaluations", "Results"}, {"/evaluations/compare", "Compare"}, {"/evaluations/drift", "Drift"}, {"/evaluations/labels", "Labels"}})
}

// evaluations lists the recorded evaluations by suite.
func (p page) evaluations(w http.ResponseWriter) error {
	if err := p.evaluated(); err != nil {
		return err
	}
	all, left, err := p.Evaluations.list(p.Context())
	if err != nil {
		return err
	}
	body := html.Join(html.Tag("h1", nil, html.Text("Evaluations")), p.evaluationSections())
	if len(all) == 0 {
		return p.write(w, "Evaluations", html.Join(body, empty("No evaluation is recorded yet. An evaluation asks models the cases of a suite and scores their answers.",
			"toolpost eval run basics -m sim/native -m sim/offline")))
	}
	rows := html.Each(all, func(s *scored) html.HTML {
		models := html.Each(s.Models, func(m eval.ModelSummary) html.HTML {
			return html.El("div", "score", html.El("span", "score-name", html.Text(m.Model)), shareBar(m.Right), html.El("span", "score-share", html.Text(percent(m.Right))))
		})
		return html.Tag("tr", nil,
			html.Tag("th", html.Attrs{"scope", "row"}, html.Tag("a", html.Attrs{"href", p.Base + "/evaluations/" + s.Run}, html.Text(s.Plan.Suite)),
				html.If(s.Plan.Label != "", html.El("span", "quiet", html.Text(" "+s.Plan.Label)))),
			cell("scores", models),
			cell("n", html.Textf("%d", s.Plan.Cases)),
			cell("", completeBadge(s.Complete)),
			cell("time", clock(s.began)),
			cell("", html.Tag("a", html.Attrs{"href", p.Base + "/evaluations/history?suite=" + queryEscape(s.Plan.Suite), "aria-label", "History of " + s.Plan.Suite + ", " + s.Run}, html.Text("History"))))
	})
	return p.write(w, "Evaluations", html.Join(body,
		html.El("p", "lead", html.Text("The share of right answers of each model. The thin line is the 95 % interval: bars whose lines overlap may be equal.")),
		table("Evaluations", []string{"Suite", "Right answers", "#Cases", "State", "Began", ""}, rows),
		html.If(left > 0, note(fmt.Sprintf("%s more. 'toolpost eval list' lists all.", count(left, "evaluation"))))))
}

func completeBadge(complete bool) html.HTML {
	if complete {
		return badge(stateComplete)
	}
	return badge(stateOpen)
}

func percent(i eval.Interval) string {
	if i.Of == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*i.Share, 'f', 1, 64) + " %"
}

func percentRange(i eval.Interval) string {
	if i.Of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f–%.0f %%", 100*i.Low, 100*i.High)
}

// shareBar draws a share with its interval.
func shareBar(i eval.Interval) html.HTML {
	const width = 160
	if i.Of == 0 {
		return html.El("span", "quiet", html.Text("no answers"))
	}
	at := func(share float64) string { return fmt.Sprintf("%.1f", width*share) }
	low, high := at(i.Low), at(i.High)
	return html.Tag("svg", html.Attrs{"class", "share", "viewBox", "0 0 160 14", "width", "160", "height", "14", "role", "img",
		"aria-label", fmt.Sprintf("%d of %d, %s, 95 %% interval %s", i.Hits, i.Of, percent(i), percentRange(i))},
		html.Tag("rect", html.Attrs{"class", "track", "x", "0", "y", "2", "width", "160", "height", "10", "rx", "3"}),
		html.Tag("rect", html.Attrs{"class", "fill", "x", "0", "y", "2", "width", at(i.Share), "height", "10", "rx", "3"}),
		html.Tag("path", html.Attrs{"class", "whisker", "d", "M" + low + " 7H" + high + "M" + low + " 4v6M" + high + " 4v6"}))
}

// evaluation shows the scores of one evaluation, and its cases as a heat map.
func (p page) evaluation(w http.ResponseWriter) error {
	if err := p.evaluated(); err != nil {
		return err
	}
	s, err := p.scoresOf(p.PathValue("run"))
	if err != nil {
		return err
	}
	q := p.URL.Query()
	if name := q.Get("case"); name != "" {
		return p.evaluationCase(w, s, name)
	}
	facts := factList([]fact{{"Cases", strconv.Itoa(s.Plan.Cases)}, {"Asked", times(s.Plan.Repeat)}, {"Judge", s.Plan.Judge}, {"Label", s.Plan.Label}, {"Suite file", s.Plan.Source}, {"Record", s.Run}})
	out := []html.HTML{
		html.Tag("h1", nil, html.Text(s.Plan.Suite+" "), completeBadge(s.Complete)), p.evaluationSections(), facts,
		html.If(s.problem != "", problem(s.problem)),
		html.If(s.changed, note("The suite has changed since. Its expectations as they are now count.")),
		html.Tag("h2", nil, html.Text("Models")), modelScores(s), html.Tag("h2", nil, html.Text("Cases")), p.heatMap(s, q.Get("show") == "failed", q.Get("from")),
	}
	if len(s.Models) > 1 {
		out = slices.Insert(out, 6, html.Tag("p", nil, html.Tag("a", html.Attrs{"href", fmt.Sprintf("%s/evaluations/compare?a=%s&model-a=%s&b=%s&model-b=%s", p.Base, s.Run, queryEscape(s.Models[0].Model), s.Run, queryEscape(s.Models[1].Model))},
			html.Textf("Is %s better than %s, or is it chance?", s.Models[1].Model, s.Models[0].Model))))
	}
	return p.write(w, s.Plan.Suite, html.Join(out...))
}

// scoresOf returns the scores of an evaluation that a person names.
func (p page) scoresOf(name string) (*scored, error) {
	run, err := p.runName(name)
	if err != nil {
		return nil, err
	}
	s, err := p.Evaluations.scores(p.Context(), run)
	if err != nil {
		return nil, notFound("There is no evaluation " + run + ": " + strings.TrimPrefix(err.Error(), "eval: "))
	}
	return s, nil
}

func times(n int) string {
	if n <= 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// modelScores is the table of models. The best and the cheapest are named.
func modelScores(s *scored) html.HTML {
	columns := []string{"Model", "Right", "#95 % interval", "#Right tools", "#Right arguments", "#Errors", "#Tokens", "#Median time"}
	priced := slices.ContainsFunc(s.Models, func(m eval.ModelSummary) bool { return m.Cost > 0 })
	if priced {
		columns = append(columns, "#Cost", "#Cost per right answer")
	}
	best := only(s.Models, func(m eval.ModelSummary) float64 { return -m.Right.Share })
	cheapest := only(s.Models, func(m eval.ModelSummary) float64 {
		if m.Cost == 0 {
			return math.Inf(1)
		}
		return float64(m.Cost)
	})
	fewest := only(s.Models, func(m eval.ModelSummary) float64 { return float64(m.Usage.Input + m.Usage.Output) })
	rows := html.Each(s.Models, func(m eval.ModelSummary) html.HTML {
		marks := html.Join(
			html.If(m.Model == best, html.El("span", "tag", html.Text("most right"))),
			html.If(priced && m.Model == cheapest, html.El("span", "tag", html.Text("cheapest"))),
			html.If(!priced && m.Model == fewest, html.El("span", "tag", html.Text("fewest tokens"))))
		cells := []html.HTML{html.Tag("th", html.Attrs{"scope", "row"}, html.Text(m.Model+" "), marks),
			cell("", html.El("span", "bar-cell", shareBar(m.Right), html.Text(percent(m.Right)))), cell("n", html.Text(percentRange(m.Right)))}
		for _, text := range []string{percent(m.RightTools), percent(m.RightArguments), zeroDash(m.Errors), thousands(int64(m.Usage.Input + m.Usage.Output)), millis(m.Latency[0])} {
			cells = append(cells, cell("n", html.Text(text)))
		}
		if priced {
			cells = append(cells, cell("n", html.Text(cost(m.Cost, 1))), cell("n", html.Text(cost(m.Cost, m.Right.Hits))))
		}
		return html.Tag("tr", nil, cells...)
	})
	return html.Join(table("Models", columns, rows), html.If(!priced, note("No price of these models is known. Tokens are what can be compared.")))
}

// only returns the model with the lowest value, "" if several have it.
func only(models []eval.ModelSummary, value func(eval.ModelSummary) float64) (name string) {
	least := math.Inf(1)
	for _, m := range models {
		switch v := value(m); {
		case v < least:
			name, least = m.Model, v
		case v == least:
			name = ""
		}
	}
	if len(models) < 2 {
		return ""
	}
	return name
}

// cost is a part of an amount in dollars.
func cost(m catalog.Money, parts int) string {
	switch {
	case m == 0 || parts == 0:
		return "–"
	case parts == 1:
		return m.String()
	}
	return fmt.Sprintf("$%.6f", float64(m)/float64(catalog.Dollar)/float64(parts))
}

// heatCell is the result of a model for a case, its repeats together.
type heatCell struct{ hits, of int }

// heatMap is the table of cases and models. Its cells link to the answers.
func (p page) heatMap(s *scored, failing bool, fromText string) html.HTML {
	type row struct {
		id    string
		cells map[string]*heatCell
		miss  bool
	}
	var rows []*row
	for i, r := range s.Rows {
		if i == 0 || s.Rows[i-1].Case != r.Case {
			rows = append(rows, &row{id: r.Case, cells: make(map[string]*heatCell)})
		}
		last := rows[len(rows)-1]
		c := last.cells[r.Model]
		if c == nil {
			c = new(heatCell)
			last.cells[r.Model] = c
		}
		c.of++
		if r.CaseScore.Pass {
			c.hits++
		} else {
			last.miss = true
		}
	}
	all := len(rows)
	if failing {
		rows = slices.DeleteFunc(rows, func(r *row) bool { return !r.miss })
	}
	here := p.Base + "/evaluations/" + s.Run
	choose := html.El("p", "actions", html.If(failing, html.Tag("a", html.Attrs{"href", here}, html.Textf("Show all %d cases", all))),
		html.If(!failing, html.Tag("a", html.Attrs{"href", here + "?show=failed"}, html.Text("Show only cases with a wrong answer"))))
	if len(rows) == 0 {
		return html.Join(choose, empty("No case here.", ""))
	}
	from, _ := strconv.Atoi(fromText)
	from = min(max(from, 0), len(rows)-1)
	end := min(from+maxHeatRows, len(rows))
	columns := append([]string{"Case"}, s.Plan.Models...)
	body := html.Each(rows[from:end], func(r *row) html.HTML {
		return html.Tag("tr", nil, html.Tag("th", html.Attrs{"scope", "row"}, html.Tag("a", html.Attrs{"href", here + "?case=" + queryEscape(r.id)}, html.Text(r.id))),
			html.Each(s.Plan.Models, func(m string) html.HTML { return heat(r.cells[m]) }))
	})
	more := func(label string, at int) html.HTML {
		href := here + "?from=" + strconv.Itoa(at)
		if failing {
			href += "&show=failed"
		}
		return html.Tag("a", html.Attrs{"href", href}, html.Text(label))
	}
	return html.Join(choose, html.El("div", "heat", table("Cases and models", columns, body)),
		html.If(len(rows) > maxHeatRows, html.El("p", "pages", html.Textf("%d to %d of %d cases ", from+1, end, len(rows)), html.If(from > 0, more("Earlier", max(from-maxHeatRows, 0)), html.Text(" ")), html.If(end < len(rows), more("Later", end)))))
}

func heat(c *heatCell) html.HTML {
	if c == nil {
		return cell("h-none", html.Text("–"))
	}
	text, class := "✓", "h-all"
	switch {
	case c.hits == 0:
		text, class = "✗", "h-no"
	case c.hits < c.of:
		text, class = "◐", "h-some"
	}
	if c.of > 1 {
		text += fmt.Sprintf(" %d/%d", c.hits, c.of)
	}
	names := map[string]string{"h-all": "right", "h-no": "wrong", "h-some": "sometimes right"}
	return cell(class, html.Tag("span", html.Attrs{"title", names[class]}, html.Text(text)), html.El("span", "sr", html.Text(" "+names[class])))
}

// evaluationCase shows the answers of all models to one case.
func (p page) evaluationCase(w http.ResponseWriter, s *scored, name string) error {
	i := slices.IndexFunc(s.suite.Cases, func(c eval.Case) bool { return c.ID == name })
	if i < 0 {
		return notFound("The suite has no case " + name + ".")
	}
	c := &s.suite.Cases[i]
	var asked []html.HTML
	for _, m := range c.Messages {
		asked = append(asked, html.El("div", "text from-"+string(m.Role), html.Text(limited(m.Text()))))
	}
	var answers []html.HTML
	for t, err := range eval.Trials(p.Context(), p.Evaluations.Store, s.Run) {
		if err != nil {
			return err
		}
		if t.Case == name {
			answers = append(answers, trial(c, &t))
		}
	}
	return p.write(w, name, html.Join(html.Tag("h1", nil, html.Text(name)), p.evaluationSections(),
		html.Tag("p", nil, html.Tag("a", html.Attrs{"href", p.Base + "/evaluations/" + s.Run}, html.Text("All cases of "+s.Plan.Suite))),
		html.Tag("h2", nil, html.Text("Task")), html.Join(asked...), html.Tag("h2", nil, html.Text("Answers")), html.Join(answers...)))
}

// trial shows an answer with its score.
func trial(c *eval.Case, t *eval.Trial) html.HTML {
	score := eval.Score(c, t)
	state := stateSuccess
	if !score.Pass {
		state = stateFailed
	}
	title := t.Model
	if t.Repeat > 1 {
		title += ", answer " + strconv.Itoa(t.Repeat)
	}
	out := []html.HTML{html.Tag("h3", nil, html.Text(title+" "), badge(state))}
	for _, why := range score.Problems {
		out = append(out, problem(strings.ReplaceAll(string(why.Failure), "_", " ")+": "+why.Detail))
	}
	for _, call := range t.Calls {
		out = append(out, html.El("p", "callname", html.Text("calls "), html.El("code", "", html.Text(call.Name))), html.Tag("pre", html.Attrs{"tabindex", "0"}, html.Text(limited(indented(call.Args)))))
	}
	for _, call := range t.Invalid {
		out = append(out, problem("A call of "+orDash(call.Name)+" cannot run: "+call.Problem))
	}
	if t.Text != "" {
		out = append(out, html.El("div", "text", html.Text(limited(t.Text))))
	}
	if t.Error != "" {
		out = append(out, problem(t.Error))
	}
	out = append(out, html.El("p", "quiet", html.Textf("%s · %d tokens read, %d written", millis(t.Latency), t.Usage.Input, t.Usage.Output)))
	return html.El("section", "panel", out...)
}

// evaluationHistory shows the scores of a suite over time.
func (p page) evaluationHistory(w http.ResponseWriter) error {
	if err := p.evaluated(); err != nil {
		return err
	}
	name := p.URL.Query().Get("suite")
	all, _, err := p.Evaluations.list(p.Context())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s *scored) bool { return s.Plan.Suite != name })
	if len(all) == 0 {
		return notFound("No evaluation of the suite " + name + " is recorded.")
	}
	all = all[:min(len(all), maxHistory)]
	slices.Reverse(all)
	var models []string
	for _, s := range all {
		for _, m := range s.Models {
			if !slices.Contains(models, m.Model) {
				models = append(models, m.Model)
			}
		}
	}
	slices.Sort(models)
	charts := html.Each(models, func(model string) html.HTML {
		var points []point
		var last *scored
		for _, s := range all {
			i := slices.IndexFunc(s.Models, func(m eval.ModelSummary) bool { return m.Model == model })
			if i < 0 || s.Models[i].Right.Of == 0 {
				continue
			}
			points = append(points, point{s.began, s.Models[i].Right, p.Base + "/evaluations/" + s.Run})
			last = s
		}
		if len(points) == 0 {
			return ""
		}
		change := html.El("span", "quiet", html.Text("one measurement"))
		if len(points) > 1 {
			first := points[len(points)-2]
			change = html.Tag("a", html.Attrs{"href", fmt.Sprintf("%s/evaluations/compare?a=%s&model-a=%s&b=%s&model-b=%s", p.Base, first.run(), queryEscape(model), last.Run, queryEscape(model))}, html.Text("What changed since the one before"))
		}
		return html.El("section", "panel", html.Tag("h2", nil, html.Text(model)), lineChart("Right answers of "+model, points), change)
	})
	return p.write(w, name, html.Join(html.Tag("h1", nil, html.Text("History of "+name)), p.evaluationSections(), html.El("div", "cards", charts)))
}

// point is a measurement in a history.
type point struct {
	at    time.Time
	share eval.Interval
	href  string
}

func (p point) run() string { return p.href[strings.LastIndexByte(p.href, '/')+1:] }

// lineChart draws shares over time, each with its interval. The measurements have equal distances.
func lineChart(title string, points []point) html.HTML {
	const left, width, height, top = 44, 520, 150, 10
	step := 0.0
	if len(points) > 1 {
		step = float64(width-20) / float64(len(points)-1)
	}
	x := func(i int) float64 { return left + 10 + step*float64(i) }
	y := func(share float64) float64 { return top + height*(1-share) }
	var parts []html.HTML
	for _, share := range []float64{0, 0.5, 1} {
		at := fmt.Sprintf("%.1f", y(share))
		parts = append(parts, html.Tag("path", html.Attrs{"class", "grid", "d", fmt.Sprintf("M%d %sH%d", left, at, left+width)}),
			html.Tag("text", html.Attrs{"x", strconv.Itoa(left - 6), "y", fmt.Sprintf("%.1f", y(share)+4), "text-anchor", "end"}, html.Textf("%.0f %%", 100*share)))
	}
	line := ""
	for i, pt := range points {
		line += fmt.Sprintf("%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], x(i), y(pt.share.Share))
	}
	parts = append(parts, html.Tag("path", html.Attrs{"class", "line", "d", line}))
	for i, pt := range points {
		text := fmt.Sprintf("%s: %s, 95 %% interval %s", pt.at.Local().Format("2006-01-02 15:04"), percent(pt.share), percentRange(pt.share))
		parts = append(parts, html.Tag("a", html.Attrs{"href", pt.href, "aria-label", text}, html.Tag("title", nil, html.Text(text)),
			html.Tag("path", html.Attrs{"class", "whisker", "d", fmt.Sprintf("M%.1f %.1fV%.1f", x(i), y(pt.share.Low), y(pt.share.High))}),
			html.Tag("circle", html.Attrs{"class", "dot", "cx", fmt.Sprintf("%.1f", x(i)), "cy", fmt.Sprintf("%.1f", y(pt.share.Share)), "r", "5"})))
	}
	first, last := points[0].at.Local().Format(time.DateOnly), points[len(points)-1].at.Local().Format(time.DateOnly)
	parts = append(parts, html.Tag("text", html.Attrs{"x", strconv.Itoa(left), "y", strconv.Itoa(top + height + 20)}, html.Text(first)))
	if last != first {
		parts = append(parts, html.Tag("text", html.Attrs{"x", strconv.Itoa(left + width), "y", strconv.Itoa(top + height + 20), "text-anchor", "end"}, html.Text(last)))
	}
	return html.Tag("svg", html.Attrs{"class", "chart", "viewBox", fmt.Sprintf("0 0 %d %d", left+width+10, height+top+28), "role", "group", "aria-label", title}, parts...)
}

// evaluationCompare shows the cases that only one of two measurements passed.
func (p page) evaluationCompare(w http.ResponseWriter) error {
	if err := p.evaluated(); err != nil {
		return err
	}
	q := p.URL.Query()
	all, _, err := p.Evaluations.list(p.Context())
	if err != nil {
		return err
	}
	names := []named{{"", "choose"}}
	var models []string
	for _, s := range all {
		names = append(names, named{s.Run, fmt.Sprintf("%s, %s, %s", s.Plan.Suite, s.began.Local().Format("2006-01-02 15:04"), strings.TrimPrefix(s.Run, "eval-"))})
		for _, m := range s.Models {
			if !slices.Contains(models, m.Model) {
				models = append(models, m.Model)
			}
		}
	}
	slices.Sort(models)
	a, b := q.Get("a"), cmp.Or(q.Get("b"), q.Get("a"))
	form := html.Tag("form", html.Attrs{"method", "get", "action", p.Base + "/evaluations/compare", "class", "filters"},
		selectNamed("a", "First evaluation", a, names), choice("model-a", "Its model", q.Get("model-a"), models),
		selectNamed("b", "Second evaluation", b, names), choice("model-b", "Its model", q.Get("model-b"), models),
		html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Compare")))
	body := html.Join(html.Tag("h1", nil, html.Text("Compare two evaluations")), p.evaluationSections(), form)
	if a == "" {
		return p.write(w, "Compare evaluations", html.Join(body, empty("Choose two evaluations of a suite, or two models of one evaluation. The page tells whether the difference can be chance.", "")))
	}
	left, err := p.scoresOf(a)
	if err != nil {
		return err
	}
	right, err := p.scoresOf(b)
	if err != nil {
		return err
	}
	modelA, modelB := modelOf(left, q.Get("model-a")), modelOf(right, q.Get("model-b"))
	c := eval.Compare(left.Summary, modelA, right.Summary, modelB)
	if c.Cases == 0 {
		return p.write(w, "Compare evaluations", html.Join(body, problem("The two have no case in common. Compare evaluations of the same suite, and models that they asked.")))
	}
	if err := c.AddAnswers(p.Context(), p.Evaluations.Store, left.Run, modelA, p.Evaluations.Store, right.Run, modelB); err != nil {
		return err
	}
	class := "verified"
	if c.Different() {
		class = "asks"
	}
	return p.write(w, "Compare evaluations", html.Join(body, html.El("p", "lead "+class, html.Text(c.String())), compared(c)))
}

// modelOf returns the model of a name, or the first model.
func modelOf(s *scored, name string) string {
	if name == "" && len(s.Models) > 0 {
		return s.Models[0].Model
	}
	return name
}

// compared lists the cases that differ.
func compared(c *eval.PairedComparison) html.HTML {
	var out []html.HTML
	for _, side := range []struct {
		name    string
		changes []eval.Change
	}{{c.A, c.OnlyA}, {c.B, c.OnlyB}} {
		out = append(out, html.Tag("h2", nil, html.Textf("Only %s is right: %s", side.name, count(len(side.changes), "case"))))
		if len(side.changes) == 0 {
			continue
		}
		shown := side.changes[:min(len(side.changes), maxShownChange)]
		out = append(out, table("Only "+side.name+" is right", []string{"Case", c.A, c.B, "Problem"}, html.Each(shown, func(ch eval.Change) html.HTML {
			var why []string
			for _, problem := range ch.Problems {
				why = append(why, problem.Detail)
			}
			return html.Tag("tr", nil, html.Tag("th", html.Attrs{"scope", "row"}, html.Text(ch.Case)), cell("task", answerLine(ch.A)), cell("task", answerLine(ch.B)), cell("task", html.Text(strings.Join(why, "; "))))
		})))
		if len(shown) < len(side.changes) {
			out = append(out, note(fmt.Sprintf("The first %d of %d.", len(shown), len(side.changes))))
		}
	}
	return html.Join(out...)
}

// answerLine is an answer in few words.
func answerLine(t *eval.Trial) html.HTML {
	if t == nil {
		return html.Text("–")
	}
	var parts []html.HTML
	for _, c := range t.Calls {
		parts = append(parts, html.El("code", "", html.Text(c.Name+" "+firstLine(string(c.Args), 200))), html.Text(" "))
	}
	if t.Text != "" {
		parts = append(parts, html.Text(firstLine(t.Text, 200)))
	}
	if t.Error != "" {
		parts = append(parts, html.El("span", "failed", html.Text(firstLine(t.Error, 200))))
	}
	return html.Join(parts...)
}

// limited cuts a text that would make a page long.
func limited(s string) string {
	if len(s) <= maxCaseText {
		return s
	}
	cut := clip.Rune(s, maxCaseText)
	return s[:cut] + fmt.Sprintf("\n… %d more bytes", len(s)-cut)
}
