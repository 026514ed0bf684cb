package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Search configures the tool that searches the web from this machine, for
// models whose provider lacks a search. Every limit is enforced here, whatever
// the engine returns; Tool refuses limits that cannot be enforced.
type Search struct {
	// Engine is "searxng" or "duckduckgo".
	Engine string
	// Endpoint is the address of the engine, like https://searx.example.org.
	// The operator chose it, so it may be any address, including a local one.
	// Empty means the engine's public address, if there is one.
	Endpoint string
	// Allowed and Blocked filter results by domain; nil Allowed means all,
	// empty but not nil none.
	Allowed, Blocked []string
	// Location is the approximate location of the user.
	Location *llm.Location
	// Limit is the maximum number of results of one search; 0 means 8.
	Limit int
	// MaxUses limits the calls of the tool; 0 means no limit.
	MaxUses int
	// Timeout is for one search; 0 means 15 seconds.
	Timeout time.Duration
}

// engine holds the differences between search engines.
type engine struct {
	endpoint string // public address, if any
	path     string
	region   string // name of the parameter that takes a region
	place    func(country string) string
	fixed    map[string]string
	parse    func(io.Reader) ([]hit, error)
}

var engines = map[string]engine{
	"searxng":    {"", "/search", "language", searxRegion, map[string]string{"format": "json"}, parseSearXNG},
	"duckduckgo": {"https://html.duckduckgo.com", "/html/", "kl", duckRegion, nil, parseDuckDuckGo},
}

// languages are the countries that a search can be restricted to, and the
// language of most of their results.
var languages = map[string]string{
	"ar": "es", "at": "de", "au": "en", "be": "nl", "br": "pt", "ca": "en", "ch": "de", "cl": "es", "co": "es", "cz": "cs", "de": "de", "dk": "da",
	"es": "es", "fi": "fi", "fr": "fr", "gb": "en", "gr": "el", "hu": "hu", "ie": "en", "in": "en", "it": "it", "jp": "ja", "kr": "ko", "mx": "es",
	"nl": "nl", "no": "no", "nz": "en", "pl": "pl", "pt": "pt", "ro": "ro", "se": "sv", "tr": "tr", "us": "en", "za": "en",
}

// duckRegions are the regions DuckDuckGo does not name country-language.
var duckRegions = map[string]string{"gb": "uk-en", "jp": "jp-jp", "kr": "kr-kr"}

func duckRegion(country string) string {
	if r, ok := duckRegions[country]; ok {
		return r
	}
	return country + "-" + languages[country]
}

func searxRegion(country string) string { return languages[country] + "-" + strings.ToUpper(country) }

// hit is one result.
type hit struct{ title, url, text string }

type searchWebIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

// Tool returns web_search, or an error if one of the configured limits
// cannot be enforced.
func (s Search) Tool() (tool.Tool, error) {
	e, ok := engines[s.Engine]
	if !ok {
		return tool.Tool{}, fmt.Errorf("builtin: no search engine is called %q: use searxng or duckduckgo", s.Engine)
	}
	if s.Endpoint == "" {
		s.Endpoint = e.endpoint
	}
	base, err := url.Parse(s.Endpoint)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil {
		return tool.Tool{}, fmt.Errorf("builtin: the endpoint of %s must be an address with http:// or https:// and no password", s.Engine)
	}
	if err := s.checkLocation(); err != nil {
		return tool.Tool{}, err
	}
	uses := new(atomic.Int64)
	return define(tool.Tool{
		Name:    llm.WebSearch,
		Effects: tool.ReadOnly,
		Timeout: s.timeout() + time.Second,
		Description: `Search the web and return titles, addresses and short extracts of the best results, best first.
Use it for facts you do not know or that may have changed. Do not use it when you know the address; use fetch_url instead. Do not trust extracts for details; fetch the page. query must be a few words, such as go release notes.
Note: if nothing is found, the answer says so; try other words.`,
	}, `{"type":"object","additionalProperties":false,"required":["query"],"properties":{
"query":{"type":"string","minLength":1,"maxLength":400,"description":"What to search for, in a few words, like go generics tutorial."},
"limit":{"type":"integer","minimum":1,"maximum":20,"description":"Most results to return. Default: 8."}}}`,
		`{"query":"go 1.26 release notes","limit":5}`,
		func(ctx context.Context, in searchWebIn) (tool.Output, error) {
			if n := uses.Add(1); s.MaxUses > 0 && n > int64(s.MaxUses) {
				return tool.Output{}, tool.Errorf(tool.Permission, "web_search may be called %d times, and was", s.MaxUses)
			}
			return s.search(ctx, e, base, in)
		}), nil
}

func (s Search) checkLocation() error {
	if s.Location == nil {
		return nil
	}
	if _, ok := languages[strings.ToLower(s.Location.Country)]; s.Location.Country != "" && !ok {
		return fmt.Errorf("builtin: %s cannot search for country %q", s.Engine, s.Location.Country)
	}
	if s.Location.Timezone != "" && s.Location.Country == "" && s.Location.City == "" && s.Location.Region == "" {
		return errors.New("builtin: a time zone alone is not a place to search from: name a city, region or country")
	}
	return nil
}

func (s Search) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return 15 * time.Second
}

func (s Search) search(ctx context.Context, e engine, base *url.URL, in searchWebIn) (tool.Output, error) {
	if strings.TrimSpace(in.Query) == "" {
		return tool.Output{}, tool.Errorf(tool.Validation, "query is empty")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address(e, base, in.Query), nil)
	if err != nil {
		return tool.Output{}, tool.Errorf(tool.Execution, "the search cannot be made: %v", err)
	}
	req.Header.Set("User-Agent", "toolpost")
	resp, err := s.client(base).Do(req)
	if err != nil {
		return tool.Output{}, failure(ctx, base.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return tool.Output{}, statusFailure(base.Host, resp)
	}
	hits, err := e.parse(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return tool.Output{}, tool.Errorf(tool.Execution, "%s sent what is not a list of results: %v", base.Host, err)
	}
	return tool.Text(s.present(hits, in.Limit)), nil
}

// client reaches the endpoint wherever it is, and redirects only to its host.
func (s Search) client(base *url.URL) *http.Client {
	everywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	return guard{everywhere}.client(s.timeout(), func(u *url.URL) error {
		if u.Host != base.Host || u.Scheme != base.Scheme {
			return tool.Errorf(tool.Permission, "%s redirects to another host", base.Host)
		}
		return nil
	})
}

func (s Search) address(e engine, base *url.URL, query string) string {
	u := *base
	u.Path = strings.TrimSuffix(u.Path, "/") + e.path
	q := url.Values{}
	for k, v := range e.fixed {
		q.Set(k, v)
	}
	if l := s.Location; l != nil {
		query = strings.TrimSpace(query + " " + strings.TrimSpace(l.City+" "+l.Region))
		if l.Country != "" {
			q.Set(e.region, e.place(strings.ToLower(l.Country)))
		}
	}
	if len(s.Allowed) == 1 {
		query += " site:" + s.Allowed[0]
	}
	q.Set("q", query)
	u.RawQuery = q.Encode()
	return u.String()
}

// present keeps the hits that the filters allow, up to the limit.
func (s Search) present(hits []hit, asked int) string {
	limit := s.Limit
	if limit <= 0 {
		limit = 8
	}
	if asked > 0 {
		limit = min(limit, asked)
	}
	var b strings.Builder
	n, left := 0, 0
	for _, h := range hits {
		u, err := url.Parse(h.url)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		if domain(u.Hostname(), s.Blocked) || s.Allowed != nil && !domain(u.Hostname(), s.Allowed) {
			left++
			continue
		}
		if n++; n > limit {
			break
		}
		fmt.Fprintf(&b, "%d. %s\n%s\n%s\n\n", n, oneLine(h.title, 200), h.url, oneLine(h.text, 500))
	}
	if n == 0 {
		b.WriteString("nothing was found")
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n(%d results left out: their domains are not allowed)", left)
	}
	return strings.TrimSpace(b.String())
}

func oneLine(s string, most int) string {
	return clip.Bytes(strings.Join(strings.Fields(s), " "), most)
}

func parseSearXNG(r io.Reader) ([]hit, error) {
	var body struct {
		Results []struct{ Title, URL, Content string } `json:"results"`
	}
	if err := json.NewDecoder(r).Decode(&body); err != nil {
		return nil, err
	}
	var hits []hit
	for _, x := range body.Results {
		hits = append(hits, hit{x.Title, x.URL, x.Content})
	}
	return hits, nil
}

// parseDuckDuckGo reads the page without scripts: links of class result__a,
// each followed by an extract of class result__snippet.
func parseDuckDuckGo(r io.Reader) ([]hit, error) {
	z := html.NewTokenizer(r)
	var hits []hit
	var into *string
	for {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return hits, nil
		case html.StartTagToken:
			t := z.Token()
			switch class := attr(t, "class"); {
			case strings.Contains(class, "result__a") && t.DataAtom == atom.A:
				hits = append(hits, hit{url: target(attr(t, "href"))})
				into = &hits[len(hits)-1].title
			case strings.Contains(class, "result__snippet") && len(hits) > 0:
				into = &hits[len(hits)-1].text
			}
		case html.EndTagToken:
			if t := z.Token(); t.DataAtom == atom.A || t.DataAtom == atom.Td {
				into = nil
			}
		case html.TextToken:
			if into != nil {
				*into += string(z.Text())
			}
		}
	}
}

func attr(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// target unwraps the engine's own redirect around an address.
func target(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if to := u.Query().Get("uddg"); to != "" {
		return to
	}
	return href
}
