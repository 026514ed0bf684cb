package builtin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/tool"
)

// Fetch is the tool that gets a page from the web. The zero value reaches every
// public host on the ports of the web, but neither this machine nor its
// networks.
type Fetch struct {
	// Allowed restricts it to these domains and their subdomains. Nil means
	// all; empty but not nil means none. Blocked are excluded.
	Allowed, Blocked []string
	// Open are networks that may be reached although they are private.
	Open []netip.Prefix
	// Ports are the ports that may be asked; nil means 80 and 443.
	Ports []string
	// Timeout limits the request and its response together; 0 means 20 seconds.
	Timeout time.Duration
	// MaxBytes limits the bytes that are read; 0 means 1 MiB.
	MaxBytes int64
}

type fetchIn struct {
	URL string `json:"url"`
}

// Tool returns fetch_url.
func (f Fetch) Tool() tool.Tool {
	return previewed(define(tool.Tool{
		Name:    "fetch_url",
		Effects: tool.ReadOnly,
		Timeout: f.timeout() + time.Second,
		Description: `Get a page from the public web and return its text; HTML is returned as readable text with its links, JSON and plain text as they are.
Use it when you know the address. Do not use it to search; use web_search instead. url must be a whole address, such as https://go.dev/doc. Note: it cannot log in, send data, or reach this machine and its network.
At most 1 MiB is read; longer pages are cut and say so. Images, archives and other binary content are refused with their type.`,
	}, `{"type":"object","additionalProperties":false,"required":["url"],"properties":{
"url":{"type":"string","format":"uri","maxLength":4096,"description":"Full address with http:// or https://, like https://go.dev/doc/."}}}`,
		`{"url":"https://go.dev/doc/"}`, f.fetch), func(_ context.Context, in fetchIn) (tool.Preview, error) {
		return tool.Preview{Request: "GET " + in.URL}, nil
	})
}

func (f Fetch) timeout() time.Duration {
	if f.Timeout > 0 {
		return f.Timeout
	}
	return 20 * time.Second
}

// check refuses addresses by their text; the guard refuses them by where they
// lead.
func (f Fetch) check(u *url.URL) error {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	ports := f.Ports
	if ports == nil {
		ports = []string{"80", "443"}
	}
	host := u.Hostname()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return withFix(tool.Errorf(tool.Permission, "%.100q cannot be fetched", u.Scheme+":"), "Use an address with http:// or https://.")
	case host == "":
		return tool.Errorf(tool.Validation, "the address has no host")
	case u.User != nil:
		return tool.Errorf(tool.Permission, "an address with a user or password is not fetched")
	case !slices.Contains(ports, port):
		return tool.Errorf(tool.Permission, "port %s may not be asked", port)
	case domain(host, f.Blocked), f.Allowed != nil && !domain(host, f.Allowed):
		return tool.Errorf(tool.Permission, "the domain %s may not be asked", host)
	}
	return nil
}

func (f Fetch) fetch(ctx context.Context, in fetchIn) (tool.Output, error) {
	u, err := url.Parse(strings.TrimSpace(in.URL))
	if err != nil {
		return tool.Output{}, withFix(tool.Errorf(tool.Validation, "%.200q is not an address", in.URL), "Use a full address, like https://go.dev/doc/.")
	}
	if err := f.check(u); err != nil {
		return tool.Output{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return tool.Output{}, tool.Errorf(tool.Validation, "%.200q is not an address", in.URL)
	}
	req.Header.Set("User-Agent", "toolpost")
	req.Header.Set("Accept", "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1")
	resp, err := guard{f.Open}.client(f.timeout(), f.check).Do(req)
	if err != nil {
		return tool.Output{}, failure(ctx, u.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return tool.Output{}, statusFailure(u.Host, resp)
	}
	return f.body(ctx, resp)
}

// body reads the page up to the limit. The limit counts decompressed bytes,
// which stops decompression bombs.
func (f Fetch) body(ctx context.Context, resp *http.Response) (tool.Output, error) {
	limit := f.MaxBytes
	if limit <= 0 {
		limit = 1 << 20
	}
	host := resp.Request.URL.Host
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return tool.Output{}, failure(ctx, host, err)
	}
	cut := int64(len(data)) > limit
	data = data[:min(int64(len(data)), limit)]
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	if !textual(kind) || bytes.IndexByte(data, 0) >= 0 {
		return tool.Output{}, tool.Errorf(tool.Execution, "%s sent %s, which is not text", host, kind)
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if kind == "text/html" || kind == "application/xhtml+xml" {
		text = readable(text, resp.Request.URL)
	}
	if cut {
		text += fmt.Sprintf("\n[cut after %d bytes]", limit)
	}
	return tool.Text(text), nil
}

// textual accepts the types whose content can be shown to a model.
func textual(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	return slices.Contains([]string{"application/json", "application/xml", "application/javascript", "application/x-ndjson", "application/yaml", "application/toml"}, kind)
}
