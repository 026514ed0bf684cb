package console

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/toolpost/toolpost/console/internal/html"
	"github.com/toolpost/toolpost/eval"
)

// maxProfiles limits the measurements of a page of drift.
const maxProfiles = 12

// evaluationDrift shows what changed in an endpoint: the shares of its abilities over time, and the answers that were lost.
func (p page) evaluationDrift(w http.ResponseWriter) error {
	if err := p.evaluated(); err != nil {
		return err
	}
	models, err := eval.ProfiledModels(p.Context(), p.Evaluations.Store)
	if err != nil {
		return err
	}
	body := html.Join(html.Tag("h1", nil, html.Text("Drift")), p.evaluationSections())
	if len(models) == 0 {
		return p.write(w, "Drift", html.Join(body, empty("No endpoint has been measured. This command asks a model fixed probes; run it again later, and this page shows what changed.", "toolpost models drift sim/native")))
	}
	model := p.URL.Query().Get("model")
	if model == "" {
		model = models[0]
	}
	if !slices.Contains(models, model) {
		return notFound("No measurement of " + model + " is kept.")
	}
	body = html.Join(body, html.Tag("form", html.Attrs{"method", "get", "action", p.Base + "/evaluations/drift", "class", "filters"},
		selectNamed("model", "Endpoint", model, sameNames(models)), html.Tag("button", html.Attrs{"type", "submit", "class", "primary"}, html.Text("Show"))))
	all, err := eval.Profiles(p.Context(), p.Evaluations.Store, model)
	if err != nil {
		return err
	}
	shown := all[max(0, len(all)-maxProfiles):]
	if len(all) < 2 {
		return p.write(w, "Drift", html.Join(body, note("One measurement, the baseline. The next one is compared with it."), abilities(shown)))
	}
	changes, err := eval.Drift(all[len(all)-2], all[len(all)-1])
	if err != nil {
		return err
	}
	return p.write(w, "Drift", html.Join(body, drifted(changes), html.Tag("h2", nil, html.Text("Abilities over time")), abilities(shown)))
}

func sameNames(values []string) []named {
	var out []named
	for _, v := range values {
		out = append(out, named{v, v})
	}
	return out
}

// drifted tells what the last measurement lost or gained.
func drifted(changes []eval.AbilityDrift) html.HTML {
	var moved []eval.AbilityDrift
	for _, c := range changes {
		if c.Drifted {
			moved = append(moved, c)
		}
	}
	if len(moved) == 0 {
		return html.El("p", "lead verified", html.Text("✓ No ability changed since the measurement before by more than chance explains."))
	}
	verb := " abilities changed since the measurement before."
	if len(moved) == 1 {
		verb = " ability changed since the measurement before."
	}
	return html.Join(html.El("p", "lead asks", html.Text(strconv.Itoa(len(moved))+verb)),
		table("What changed", []string{"Ability", "#Before", "#Now", "#p", "Answers that no longer pass"}, html.Each(moved, func(c eval.AbilityDrift) html.HTML {
			var lost []html.HTML
			for i, name := range slices.Sorted(maps.Keys(c.Lost)) {
				if i == 3 {
					lost = append(lost, html.El("p", "quiet", html.Textf("and %d more", len(c.Lost)-3)))
					break
				}
				lost = append(lost, html.Tag("p", nil, html.El("code", "", html.Text(name)), html.Text(" "+firstLine(c.Lost[name], 300))))
			}
			return html.Tag("tr", nil, html.Tag("th", html.Attrs{"scope", "row"}, html.Text(c.Ability)), cell("n", html.Text(percent(c.Before))), cell("n", html.Text(percent(c.Now))),
				cell("n", html.Textf("%.3f", c.P)), cell("task", lost...))
		})))
}

// abilities is a heat map of the abilities in each measurement.
func abilities(all []*eval.Profile) html.HTML {
	columns := []string{"Ability"}
	seen := make(map[string]bool)
	for _, profile := range all {
		columns = append(columns, profile.At.Local().Format("01-02 15:04"))
		for name := range profile.Abilities {
			seen[name] = true
		}
	}
	return html.El("div", "heat", table("Abilities over time", columns, html.Each(slices.Sorted(maps.Keys(seen)), func(name string) html.HTML {
		return html.Tag("tr", nil, html.Tag("th", html.Attrs{"scope", "row"}, html.Text(name)), html.Each(all, func(profile *eval.Profile) html.HTML {
			share, ok := profile.Abilities[name]
			switch {
			case !ok || share.Of == 0:
				return cell("h-none", html.Text("–"))
			case eval.IsNeutral(name):
				return cell("", html.Text(percent(share)))
			case share.Hits == share.Of:
				return cell("h-all", html.Text(percent(share)))
			case share.Hits == 0:
				return cell("h-no", html.Text(percent(share)))
			}
			return cell("h-some", html.Text(percent(share)))
		}))
	})))
}
