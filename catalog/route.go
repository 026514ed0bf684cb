package catalog

import "strings"

// route strips the host's additions from a model's name and records the host
// and the maker. The rest is the name.
func (p *reader) route(s string) string {
	if base, ok := cutPrefixFold(s, "ft:"); ok {
		return p.fineTune(base)
	}
	s = p.address(s)
	if hasSuffixFold(s, ".gguf") { // a file on disk: its folders are ignored
		s = s[strings.LastIndexAny(s, `/\`)+1:]
	}
	s, _ = cutPrefixFold(strings.TrimPrefix(s, "~"), "hf:")
	for {
		i := strings.IndexByte(s, '/')
		if i < 0 {
			break
		}
		p.segment(s[:i])
		s = s[i+1:]
	}
	if base, ok := cutPrefixFold(s, "ft:"); ok {
		return p.fineTune(base)
	}
	if i := strings.LastIndexByte(s, '@'); i > 0 { // …@20241022, …@default
		s = s[:i]
	}
	if hasSuffixFold(s, ".gguf") {
		s = s[:len(s)-len(".gguf")]
	}
	return p.dotted(s)
}

// address removes the address of the server: [provider+]http://host/v1#name.
func (p *reader) address(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	i := strings.IndexByte(rest, '#')
	if i < 0 {
		return s
	}
	if provider, _, ok := strings.Cut(scheme, "+"); ok {
		p.segment(provider)
	}
	return rest[i+1:]
}

// fineTune reads the part after "ft:": base:organisation:name:id.
func (p *reader) fineTune(s string) string {
	p.id.Custom = true
	base, rest, _ := strings.Cut(s, ":")
	org, _, _ := strings.Cut(rest, ":")
	if org != "" {
		p.id.Org = strings.ToLower(org)
	}
	return base
}

// segment reads one part of a path: a provider, an organisation, or a host's
// word that is ignored (accounts, models, us-east-1).
func (p *reader) segment(s string) {
	var buf [64]byte
	if s == "" || len(s) > len(buf) {
		return
	}
	key := fold(buf[:0], strings.TrimPrefix(s, "@"))
	if p.vocab.skip[string(key)] {
		return
	}
	if host, ok := p.vocab.providers[string(key)]; ok && p.id.Provider == "" && p.id.Org == "" {
		p.id.Provider = host
		return
	}
	if org, ok := p.vocab.orgs[string(key)]; ok {
		p.id.Org, p.unknownOrg = org.name, false
		return
	}
	if _, ok := p.vocab.providers[string(key)]; ok || isRegion(key) || p.id.Org != "" {
		return
	}
	p.id.Org = strings.ToLower(s)
	p.unknownOrg = p.vocab.names[string(key)].family == nil // voyage/voyage-3 is the family's own
}

// dotted strips the prefixes Bedrock and its imitators put in front with dots:
// us.anthropic.claude-…
func (p *reader) dotted(s string) string {
	var buf [64]byte
	for {
		i := strings.IndexByte(s, '.')
		if i <= 0 || i > len(buf) {
			return s
		}
		key := fold(buf[:0], s[:i])
		if org, ok := p.vocab.orgs[string(key)]; ok {
			p.id.Org, p.unknownOrg = org.name, false
		} else if !p.vocab.regions[string(key)] {
			return s
		}
		if p.id.Provider == "" && p.vocab.regions[string(key)] {
			p.id.Provider = "bedrock" // only Bedrock routes by region
		}
		s = s[i+1:]
	}
}

// isRegion recognises us-east-1 and image sizes such as 1024-x-1024.
func isRegion(key []byte) bool {
	return len(key) > 0 && (isDigit(key[0]) || isDigit(key[len(key)-1]) && strings.Count(string(key), "-") >= 2)
}

// fold appends s to b in lower case, with hyphens for underscores.
func fold(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '_':
			c = '-'
		}
		b = append(b, c)
	}
	return b
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
