package serveimport

import (
	"fmt"
	"strings"
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
		b.WriteString("  # keys: sqlite:keys.db   # without it nobody needs a key; make them with 'toolpost keys create'\n")
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
