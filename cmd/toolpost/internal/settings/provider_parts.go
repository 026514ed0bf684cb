package settings

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/toolpost/toolpost/provider"
)

// addressPart is a setting of a provider that fills a part of its vendor's address, instead of environment variables.
type addressPart struct {
	setting string
	vars    []string // a vendor uses at most one of them
	value   func(ProviderConfig) string
}

var addressParts = []addressPart{
	{"region", []string{"AWS_REGION", "GOOGLE_CLOUD_LOCATION"}, func(p ProviderConfig) string { return p.Region }},
	{"project", []string{"GOOGLE_CLOUD_PROJECT"}, func(p ProviderConfig) string { return p.Project }},
	{"endpoint", []string{"AZURE_OPENAI_ENDPOINT"}, func(p ProviderConfig) string { return p.Endpoint }},
}

// in returns the variable in a vendor's address that the setting replaces, "" if there is none.
func (a addressPart) in(v provider.Vendor) string {
	for _, name := range a.vars {
		if strings.Contains(v.BaseURL, "${"+name+"}") {
			return name
		}
	}
	return ""
}

// vendorOfRow returns the vendor that a provider copies or changes. The address is empty if the vendor does not exist.
func (p ProviderConfig) vendorOfRow(name string) provider.Vendor {
	return Vendors()[cmp.Or(p.Like, name)]
}

// Vars returns the values of a provider for the variables in its vendor's address.
func (p ProviderConfig) Vars(name string) map[string]string {
	var out map[string]string
	for _, part := range addressParts {
		if variable, value := part.in(p.vendorOfRow(name)), part.value(p); variable != "" && value != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[variable] = value
		}
	}
	return out
}

// pieceOfAddress matches values that are safe within an address.
var pieceOfAddress = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// partProblems reports invalid address parts of a provider.
func (p ProviderConfig) partProblems(name string, wrong func(setting, format string, args ...any)) {
	v := p.vendorOfRow(name)
	for _, part := range addressParts {
		value := part.value(p)
		at, variable := "."+part.setting, value != "" && VariableIn.FindString(value) == value
		switch {
		case value == "":
		case p.BaseURL != "":
			wrong(at, "%s has a base_url, so %s says nothing; leave one of them out", part.setting)
		case part.in(v) == "":
			wrong(at, "%s has a %s, and the address of %s has none; it is for rows that are like %s", part.setting, cmp.Or(v.Name, "your own server"), strings.Join(part.vendors(), ", "))
		case variable:
		case part.setting != "endpoint" && !pieceOfAddress.MatchString(value):
			wrong(at, "%s has a %s that is not a plain word, like eu-west-1, and no ${VARIABLE}", part.setting)
		case part.setting == "endpoint":
			if problem := endpointProblem(value); problem != "" {
				wrong(at, "the endpoint of %s %s", problem)
			}
		}
	}
	if p.Endpoint != "" && p.KeyEnv == "" && p.BaseURL == "" && v.KeyEnv != "" {
		wrong(".endpoint", "%s has its own endpoint and no key_env, which names the variable of its key: the one in %s is not sent to another endpoint, unless key_env names it", v.KeyEnv)
	}
}

// endpointProblem describes why a text is not an Azure endpoint, "" if it is valid. It does not repeat the text, which
// may hold a password.
func endpointProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "is not an address; write one like https://NAME.openai.azure.com, or ${VARIABLE}"
	case strings.Contains(u.Path+"/", "/openai/"):
		return "must end before /openai, which is added"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "has a password, a query or a fragment, which are not sent"
	}
	return ""
}

// unschemed reports whether a base_url lacks http:// and https://. An address with a variable at its start is known only where
// the variable is set.
func unschemed(base string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(base), "://")
	return base != "" && !strings.HasPrefix(base, "${") && (!ok || scheme != "http" && scheme != "https")
}

// vendors returns the vendors whose address has the part.
func (a addressPart) vendors() (names []string) {
	for _, v := range provider.Vendors() {
		if a.in(v) != "" {
			names = append(names, v.Name)
		}
	}
	return names
}

// Where describes the address of a provider, without secrets.
func (p ProviderConfig) Where() string {
	if p.BaseURL != "" {
		return "at " + RedactAddress(p.BaseURL)
	}
	var parts []string
	if p.Like != "" {
		parts = append(parts, "like "+p.Like)
	}
	for _, part := range addressParts {
		if value := part.value(p); value != "" {
			parts = append(parts, fmt.Sprintf("%s %s", part.setting, RedactAddress(value)))
		}
	}
	return strings.Join(parts, ", ")
}

// PartSaid returns the first setting of a provider that fills a part of its address, "" if there is none.
func (p ProviderConfig) PartSaid() string {
	for _, part := range addressParts {
		if part.value(p) != "" {
			return part.setting
		}
	}
	return ""
}

// Vendors returns the table of vendors by name.
func Vendors() map[string]provider.Vendor {
	all := make(map[string]provider.Vendor)
	for _, v := range provider.Vendors() {
		all[v.Name] = v
	}
	return all
}
