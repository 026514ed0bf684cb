package provider

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// vendor returns the row called name: the user's own over the table's.
func (c *Client) vendor(name string) (Vendor, bool) {
	if canonical, ok := aliases[name]; ok {
		if _, own := c.Vendors[name]; !own {
			name = canonical
		}
	}
	i := slices.IndexFunc(builtin, func(v Vendor) bool { return v.Name == name })
	own, changed := c.Vendors[name]
	switch {
	case i < 0 && !changed:
		return Vendor{}, false
	case i < 0:
		own.Name = name
		base := own.unnamed()
		if k := slices.IndexFunc(builtin, func(v Vendor) bool { return own.Like != "" && v.Name == own.Like }); k >= 0 {
			base = builtin[k]
		}
		return own.whole(base), true
	case !changed:
		return builtin[i], true
	}
	return own.whole(builtin[i]), true
}

// unnamed returns the row of a server that speaks the format of v and is known by its
// address only. Formats that only their vendor serves have none.
func (v Vendor) unnamed() Vendor {
	for _, row := range builtin {
		// The format is common to many servers, or named after its only vendor.
		if row.Name != compatible && (self[row.Name] == nil || row.Name != row.Wires[0]) {
			continue
		}
		if row.Wires[0] == v.mainWire() {
			row.server = row.Name
			row.BaseURL, row.BaseEnv = "", ""
			return row
		}
	}
	return Vendor{}
}

// mainWire returns the format of a row that does not name one: the most common format.
func (v Vendor) mainWire() string {
	if len(v.Wires) == 0 {
		return wire.Chat
	}
	return v.Wires[0]
}

// whole fills what a user's row leaves out from the row it changes. A row that
// goes to another address does not inherit the key.
func (v Vendor) whole(base Vendor) Vendor {
	out := base
	out.Name, out.Like = cmp.Or(v.Name, base.Name), v.Like
	if v.BaseURL = strings.TrimRight(v.BaseURL, "/"); v.BaseURL != "" && v.BaseURL != base.BaseURL {
		out.BaseURL, out.BaseEnv, out.KeyEnv = v.BaseURL, "", ""
		base.Promotion, out.Apart, out.bounds = "", false, format.RequestBounds{} // it is somebody else's server
		out.moved = base.BaseURL != "" && v.KeyEnv == ""
		if out.server == "" && self[base.Name] == nil {
			wires := v.Wires
			if wires == nil {
				wires = base.Wires
			}
			out.server = Vendor{Wires: wires}.unnamed().server
		}
	}
	out.Vars = orMap(v.Vars, base.Vars)
	if v.namesHost(base) {
		out.KeyEnv, out.moved = "", v.KeyEnv == ""
	}
	out.BaseEnv = cmp.Or(v.BaseEnv, out.BaseEnv)
	if v.KeyEnv != "" {
		out.KeyEnv, out.KeyOptional = v.KeyEnv, v.KeyOptional
	}
	out.KeyHeader, out.Sign = cmp.Or(v.KeyHeader, base.KeyHeader), cmp.Or(v.Sign, base.Sign)
	if v.Wires != nil {
		out.Wires = v.Wires
	}
	if v.Headers != nil {
		out.Headers = maps.Clone(base.Headers)
		if out.Headers == nil {
			out.Headers = map[string]string{}
		}
		maps.Copy(out.Headers, v.Headers)
	}
	out.Quirks = v.quirks(base)
	out.Families = orMap(v.Families, base.Families)
	out.Schemas = cmp.Or(v.Schemas, base.Schemas)
	out.Strict = out.Strict || v.Strict
	out.MaxStrict, out.MaxOptional = cmp.Or(v.MaxStrict, base.MaxStrict), cmp.Or(v.MaxOptional, base.MaxOptional)
	out.Both = out.Both || v.Both
	out.Hosts = out.Hosts || v.Hosts
	out.Apart = out.Apart || v.Apart
	out.NoNone = out.NoNone || v.NoNone
	out.NoAllowed = out.NoAllowed || v.NoAllowed
	out.Promotion = cmp.Or(v.Promotion, base.Promotion)
	out.Fields = orMap(v.Fields, base.Fields)
	out.Options = orMap(v.Options, base.Options)
	out.Rows = orMap(v.Rows, base.Rows)
	out.Signers = orMap(v.Signers, base.Signers)
	if out.Wires == nil {
		out.Wires = []string{wire.Chat}
	}
	return out
}

// namesHost reports whether the variables of a row say on which host the API of base is reached.
func (v Vendor) namesHost(base Vendor) bool {
	for name := range v.Vars {
		if strings.HasPrefix(base.BaseURL, "${"+name+"}") {
			return true
		}
	}
	return false
}

// quirks returns the quirks of a row, or of the row that it is like. Another server
// may refuse unknown members.
func (v Vendor) quirks(base Vendor) format.Quirks {
	own := v.Quirks != (format.Quirks{})
	out := base.Quirks
	if own {
		out = v.Quirks
	}
	if out.Members == "" && (own || v.BaseURL != "" && v.BaseURL != base.BaseURL) {
		return Vendor{Quirks: out}.taking("").Quirks
	}
	return out
}

// orMap returns the first of two maps that is there.
func orMap[K comparable, V any](first, second map[K]V) map[K]V {
	if first != nil {
		return first
	}
	return second
}
