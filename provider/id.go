package provider

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
)

// target is what an id means: which model, at whose address.
type target struct {
	vendor Vendor
	base   *url.URL
	model  string // as the vendor calls it
}

// maxID bounds an id.
const maxID = 2048

// fail makes an error of Open. It never repeats an address, which may hold a
// password.
func fail(kind llm.Kind, format string, args ...any) error {
	return &llm.Error{Op: "provider.Open", Kind: kind, Err: fmt.Errorf(format, args...)}
}

// resolve finds out what an id means.
func (c *Client) resolve(id string) (target, error) {
	if len(id) > maxID {
		return target{}, fail(llm.Invalid, "the id has %d bytes; %d are allowed", len(id), maxID)
	}
	if scheme, rest, ok := strings.Cut(id, "://"); ok {
		return c.resolveURL(scheme, rest)
	}
	if head, model, cut := cutHead(id); cut {
		if name, format, named := strings.Cut(head, "+"); named {
			return c.resolveFormat(name, format, model)
		}
	}
	name, model, slash := strings.Cut(id, "/")
	v, known := c.vendor(strings.ToLower(name))
	switch {
	case slash && known && v.BaseURL == "":
		return target{}, fail(llm.Invalid, "%s has no address of its own: use http://HOST/v1#%s", name, model)
	case slash && known && model == "":
		return target{}, fail(llm.Invalid, "%s/ lacks the name of a model", name)
	case slash && known:
		return c.locate(v, model)
	}
	parsed := catalog.ParseID(id)
	maker, ok := makers[parsed.Root()]
	if !ok || slash && !slices.Contains([]string{maker, "meta-llama", "mistralai", "openai"}, strings.ToLower(name)) {
		if slash && name == "sim" {
			return target{}, fail(llm.NotFound, "%q opens in the command only; a program uses a model of package sim, like sim.Offline{}", id)
		}
		ask := ": put"
		if like := c.nearVendor(name); slash && like != "" {
			ask = fmt.Sprintf("; did you mean %s/%s? Else put", like, model)
		}
		return target{}, fail(llm.NotFound, "nobody is known to serve %q%s a vendor in front (%s) or an address (http://host/v1#model)", id, ask, strings.Join(c.vendorNames(), ", "))
	}
	v, _ = c.vendor(maker)
	return c.locate(v, id)
}

// cutHead cuts an id at the first colon or slash.
func cutHead(id string) (head, model string, ok bool) {
	i := strings.IndexAny(id, ":/")
	if i < 0 {
		return id, "", false
	}
	return id[:i], id[i+1:], true
}

// named returns the row of a vendor that an id names.
func (c *Client) named(name string) (Vendor, error) {
	v, ok := c.vendor(strings.ToLower(name))
	if ok {
		return v, nil
	}
	ask := "there"
	if like := c.nearVendor(name); like != "" {
		ask = "did you mean " + like + "? There"
	}
	return v, fail(llm.NotFound, "no vendor is called %q; %s are %s", name, ask, strings.Join(c.vendorNames(), ", "))
}

// resolveFormat reads vendor+format:model.
func (c *Client) resolveFormat(name, format, model string) (target, error) {
	v, err := c.named(name)
	switch {
	case err != nil:
		return target{}, err
	case v.BaseURL == "":
		return target{}, fail(llm.Invalid, "%s has no address of its own: use %s+%s+http://HOST/v1#MODEL", name, name, format)
	case model == "":
		return target{}, fail(llm.Invalid, "%s+%s: lacks the name of a model", name, format)
	}
	t, err := c.locate(v, model)
	if err == nil {
		err = t.speak(format)
	}
	return t, err
}

// speak chooses the format of an id among those of the vendor.
func (t *target) speak(format string) error {
	format = strings.ToLower(format)
	if !slices.Contains(t.vendor.Wires, format) {
		return fail(llm.Invalid, "%s does not speak %.40q, but %s", t.vendor.Name, format, strings.Join(t.vendor.Wires, ", "))
	}
	t.vendor.Wires = []string{format}
	return nil
}

// resolveURL reads [vendor+[format+]]scheme://host[/path]#model. Without a path, the server has
// that of the vendor's own address.
func (c *Client) resolveURL(scheme, rest string) (target, error) {
	name, plain, named := strings.Cut(scheme, "+")
	if !named {
		name, plain = compatible, scheme
	}
	format, plain, chosen := strings.Cut(plain, "+")
	if !chosen {
		format, plain = "", format
	}
	v, err := c.named(name)
	if err != nil {
		return target{}, err
	}
	rest, model, ok := strings.Cut(rest, "#")
	if !ok || model == "" {
		return target{}, fail(llm.Invalid, "an address needs the name of a model after it: http://host/v1#model")
	}
	base, err := parseBase(plain + "://" + rest)
	if err != nil {
		return target{}, ofAddress("", err)
	}
	v = c.serving(v, model)
	if usual, err := url.Parse(v.BaseURL); err == nil && base.Path == "" && !strings.Contains(v.BaseURL, "${") {
		base.Path = strings.TrimRight(usual.Path, "/")
	}
	if base.String() != v.BaseURL {
		v.BaseURL, v.KeyEnv, v.Promotion, v.moved = base.String(), "", "", true
		if v.Quirks.Members == "" {
			v = v.taking("") // it is not the maker's own server
		}
	}
	if err := v.serves(model); err != nil {
		return target{}, err
	}
	t := target{vendor: v, base: base, model: model}
	if chosen {
		err = t.speak(format)
	}
	return t, err
}

// serving returns the row for a model of a vendor. A user's row for another account
// keeps its key, address and name, because the key of the environment belongs to
// another account.
func (c *Client) serving(v Vendor, model string) Vendor {
	row, ok := c.vendor(v.Rows[catalog.ParseID(model).Root()])
	if !ok {
		return v
	}
	own, is := c.Vendors[v.Name]
	if !is || own.Like == "" {
		return row
	}
	return Vendor{Name: v.Name, Like: row.Name, BaseURL: own.BaseURL, KeyEnv: own.KeyEnv, KeyOptional: own.KeyOptional, Vars: own.Vars, Headers: own.Headers}.whole(row)
}

// locate finds the address of a vendor.
func (c *Client) locate(v Vendor, model string) (target, error) {
	v = c.serving(v, model)
	if err := v.serves(model); err != nil {
		return target{}, err
	}
	text, err := v.Root()
	if err != nil {
		return target{}, ofAddress(v.Name, err)
	}
	base, err := parseBase(text)
	return target{vendor: v, base: base, model: model}, ofAddress(v.Name, err)
}

// AddressError reports that the address of a vendor cannot be used, whatever the model
// is. It does not contain the address, which may hold a password.
type AddressError struct {
	Vendor string // the vendor with the address; "" if the address is in the id
	err    error
}

// Error returns the problem with the address.
func (e *AddressError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *AddressError) Unwrap() error { return e.err }

// ofAddress marks an error as that of an address.
func ofAddress(vendor string, err error) error {
	var known *llm.Error
	if !errors.As(err, &known) {
		return err
	}
	out := *known
	out.Err = &AddressError{vendor, known.Err}
	return &out
}

// Root returns where the vendor's API is reached, with what the environment
// says of it.
func (v Vendor) Root() (string, error) {
	text, err := expand(v.BaseURL, v.Vars)
	if err != nil {
		return "", fail(llm.Invalid, "%s: %w", v.Name, err)
	}
	if other := os.Getenv(v.BaseEnv); v.BaseEnv != "" && other != "" {
		if text, err = serverRoot(other, text); err != nil {
			return "", fail(llm.Invalid, "%s: %w", v.BaseEnv, err)
		}
	}
	return text, nil
}

// serves refuses the models a vendor serves in ways we do not speak.
func (v *Vendor) serves(model string) error {
	why, refused := v.Refuse[catalog.ParseID(model).Root()]
	if !refused {
		return nil
	}
	return fail(llm.Unsupported, "%s on %s %s: open it at its maker, at openrouter, or through a gateway that speaks OpenAI's format (http://host/v1#model)", model, v.Name, why)
}

// variable is ${NAME} in an address.
var variable = regexp.MustCompile(`\$\{([A-Za-z0-9_]+)\}`)

// UnsetError is that the address of a vendor needs variables of the environment
// that are not set.
type UnsetError struct{ Names []string }

func (e *UnsetError) Error() string {
	return fmt.Sprintf("its address needs %s to be set", strings.Join(e.Names, ", "))
}

// expand puts variables into an address: those of a row, and for the others those of the environment.
func expand(base string, vars map[string]string) (string, error) {
	var missing, odd []string
	text := variable.ReplaceAllStringFunc(base, func(ref string) string {
		name := ref[2 : len(ref)-1]
		own, set := vars[name]
		if other := variable.FindString(own); other != "" && other == own {
			name, set = own[2:len(own)-1], false
		}
		if !set {
			own = os.Getenv(name)
		}
		value := strings.TrimRight(strings.TrimSpace(own), "/")
		if value == "" {
			missing = append(missing, name)
		}
		if !strings.HasPrefix(base, ref) && strings.ContainsAny(value, "/@?#:") {
			odd = append(odd, name)
		}
		return value
	})
	if len(odd) > 0 {
		return "", fmt.Errorf("its address needs a plain word in %s to be set", strings.Join(odd, ", "))
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return "", &UnsetError{slices.Compact(missing)}
	}
	return wideHosts.Replace(text), nil
}

// wideHosts are the hosts of Google's locations that cover several regions.
var wideHosts = strings.NewReplacer(
	"//global-aiplatform.googleapis.com", "//aiplatform.googleapis.com",
	"//us-aiplatform.googleapis.com", "//aiplatform.us.rep.googleapis.com",
	"//eu-aiplatform.googleapis.com", "//aiplatform.eu.rep.googleapis.com",
)

// serverRoot reads a variable like OLLAMA_HOST, which may be host:port, and
// gives it the path of the default.
func serverRoot(value, def string) (string, error) {
	d, err := url.Parse(def)
	if err != nil {
		return "", err
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil {
		return "", errors.New("it is not an address")
	}
	host, port := u.Hostname(), u.Port()
	if host == "0.0.0.0" || host == "" || host == "::" { // where a server listens is not where it is reached
		host = "127.0.0.1"
	}
	if port == "" {
		port = d.Port()
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u.Host = strings.TrimSuffix(host+":"+port, ":")
	if strings.Trim(u.Path, "/") == "" {
		u.Path = d.Path
	}
	return u.String(), nil
}

// parseBase reads the root of an API. What an error says about it leaves out
// the address, which may hold a password.
func parseBase(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	switch {
	case !strings.Contains(text, "://"):
		return nil, fail(llm.Invalid, "an address begins with http:// or https://")
	case err != nil:
		return nil, fail(llm.Invalid, "the address cannot be read")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fail(llm.Invalid, "an address begins with http:// or https://, not %s://", u.Scheme)
	case u.User != nil:
		return nil, fail(llm.Invalid, "the address holds a user or password: bind a key to your own vendor instead")
	case u.Hostname() == "":
		return nil, fail(llm.Invalid, "the address has no host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fail(llm.Invalid, "the address ends with a query or a fragment")
	}
	if err := outbound.CheckPort(u); err != nil {
		return nil, fail(llm.Invalid, "the address: %v", err)
	}
	return u, nil
}

// vendorNames are the names of the vendors that can be asked by them alone, in order.
func (c *Client) vendorNames() []string {
	var names []string
	for _, v := range builtin {
		if v.Name != compatible {
			names = append(names, v.Name)
		}
	}
	for name := range c.Vendors {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for name := range c.Schemes {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nearVendor returns the vendor with the most similar name to an unknown name, or ""
// if none is similar.
func (c *Client) nearVendor(name string) string {
	names := append(c.vendorNames(), slices.Sorted(maps.Keys(aliases))...)
	return strings.Join(near.Names(name, names, 1), "")
}
