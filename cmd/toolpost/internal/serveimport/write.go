package serveimport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
)

// write returns the text of the configuration.
func (in *importer) write() string {
	var b strings.Builder
	if len(in.rows) > 0 {
		b.WriteString("providers:\n")
	}
	for _, row := range in.rows {
		fmt.Fprintf(&b, "  %s: {", yamlText(row.name))
		if row.like != "" {
			fmt.Fprintf(&b, "like: %s", yamlText(row.like))
		} else {
			fmt.Fprintf(&b, "base_url: %s, wire: %s", yamlText(row.base), row.wire)
		}
		if row.like != "" && row.base != "" {
			fmt.Fprintf(&b, ", base_url: %s", yamlText(row.base))
		}
		for _, part := range []struct{ key, value string }{{"region", row.region}, {"project", row.project}, {"endpoint", row.endpoint}, {"key_env", row.keyEnv}} {
			if part.value != "" {
				fmt.Fprintf(&b, ", %s: %s", part.key, yamlText(part.value))
			}
		}
		b.WriteString("}\n")
	}
	b.WriteString("gateway:\n")
	if in.keys {
		b.WriteString("  # keys: sqlite:keys.db   # without it no key is needed; make keys with 'toolpost keys create'\n")
	}
	b.WriteString("  routes:\n")
	for _, r := range in.routes {
		fmt.Fprintf(&b, "    - model: %s\n", yamlText(r.model))
		if r.hidden {
			b.WriteString("      hidden: true\n")
		}
		b.WriteString("      to:\n")
		for _, u := range r.to {
			fmt.Fprintf(&b, "        - {model: %s", yamlText(u.id))
			if u.weight != "" {
				fmt.Fprintf(&b, ", weight: %s", u.weight)
			}
			b.WriteString("}\n")
		}
		if len(r.fallback) > 0 {
			var list []string
			for _, f := range r.fallback {
				list = append(list, yamlText(f))
			}
			fmt.Fprintf(&b, "      fallback: [%s]\n", strings.Join(list, ", "))
		}
		if r.pass != "" {
			fmt.Fprintf(&b, "      pass: [%s]\n", r.pass)
		}
		if r.cache != "" {
			fmt.Fprintf(&b, "      cache: %s\n", r.cache)
		}
	}
	return b.String()
}

// yamlText quotes a text as a YAML value if necessary.
func yamlText(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./", r))
	}) < 0 && s[0] >= 'a' && s[0] <= 'z' {
		return s
	}
	return fmt.Sprintf("%q", s)
}

// maxSettling limits how often the output is checked. Each pass removes all mistakes found.
const maxSettling = 20

// settle removes and reports everything that 'serve --check' would refuse. A gateway can then serve the output.
func (in *importer) settle(check func(file string) ([]configcheck.Mistake, error)) error {
	for range maxSettling {
		in.dropBadFallbacks()
		if err := in.empty(); err != nil {
			return err
		}
		wrong, err := in.refused(check)
		if err != nil {
			return err
		}
		if !in.drop(wrong) {
			in.rows = slices.DeleteFunc(in.rows, func(row providerRow) bool { return !in.asked(row.name) })
			slices.SortStableFunc(in.notes, func(a, b note) int { return a.line - b.line })
			return nil
		}
	}
	return errors.New("what would be written is not in order; take fewer models over at once")
}

// asked reports whether a model uses an entry of providers.
func (in *importer) asked(row string) bool {
	return slices.ContainsFunc(in.routes, func(r *route) bool {
		return slices.ContainsFunc(r.to, func(u upstream) bool { return strings.HasPrefix(u.id, row+"/") })
	})
}

// refused returns the mistakes that 'serve --check' finds in the output. It runs the same checks on a temporary file.
func (in *importer) refused(check func(file string) ([]configcheck.Mistake, error)) ([]configcheck.Mistake, error) {
	dir, err := os.MkdirTemp("", "toolpost-import")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(file, []byte(in.write()), 0o600); err != nil {
		return nil, err
	}
	return check(file)
}

// placeInRoutes matches the place of a mistake: a route, optionally an upstream, and optionally a setting.
var placeInRoutes = regexp.MustCompile(`^gateway\.routes\[(\d+)\](?:\.to\[(\d+)\])?(?:\.([a-z_]+))?`)

// routeWords matches the start of a route problem. Its route number does not apply to the input file.
var routeWords = regexp.MustCompile(`^route \d+ \(.*?\): `)

// drop removes the wrong parts and reports whether there were any. It ignores mistakes in the environment.
func (in *importer) drop(wrong []configcheck.Mistake) bool {
	dropped := map[*route]map[int]bool{} // the dropped upstreams of each route; -1 is the route itself
	some := false
	for _, x := range wrong {
		if place := placeInRoutes.FindStringSubmatch(x.Path); place != nil {
			i, _ := strconv.Atoi(place[1]) // the match has only digits
			if i < len(in.routes) {
				some = true
				in.refuse(in.routes[i], place[2], place[3], routeWords.ReplaceAllString(x.Problem, ""), dropped)
			}
		} else if rest, ok := strings.CutPrefix(x.Path, "providers."); ok {
			name, _, _ := strings.Cut(rest, ".")
			some = in.refuseRow(name, x.Problem, dropped) || some
		}
	}
	in.routes = slices.DeleteFunc(in.routes, func(r *route) bool {
		gone := dropped[r]
		kept := r.to[:0:0]
		for k, u := range r.to {
			if gone[k] || gone[-1] {
				if r.aliasOf == nil {
					in.lost++
				}
				continue
			}
			kept = append(kept, u)
		}
		r.to = kept
		return len(kept) == 0
	})
	return some
}

// refuse records that an upstream of a route, its weight, or the route itself is left out, and why.
func (in *importer) refuse(r *route, upstream, setting, why string, dropped map[*route]map[int]bool) {
	k := -1
	if n, err := strconv.Atoi(upstream); err == nil && n < len(r.to) {
		k = n
	}
	at := r.to[max(k, 0)].at
	if k >= 0 && setting == "weight" && r.to[k].weight != "" {
		in.skip(at, "the weight of %s is left out: %s", r.model, why)
		r.to[k].weight = ""
		return
	}
	in.skip(at, "a model is left out (%s): %s", r.model, why)
	if dropped[r] == nil {
		dropped[r] = map[int]bool{}
	}
	dropped[r][k] = true
}

// refuseRow records that an entry of providers is left out, together with all models that use it.
func (in *importer) refuseRow(name, why string, dropped map[*route]map[int]bool) bool {
	rows := len(in.rows)
	in.rows = slices.DeleteFunc(in.rows, func(r providerRow) bool { return r.name == name })
	for _, r := range in.routes {
		for k, u := range r.to {
			if strings.HasPrefix(u.id, name+"/") {
				in.refuse(r, fmt.Sprint(k), "", why, dropped)
			}
		}
	}
	return len(in.rows) < rows
}
