package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxSettling bounds how often what is written is checked: each time everything is left out that is wrong then.
const maxSettling = 20

// settle leaves out what 'serve --check' would refuse, and says so: what import writes can be served.
func (in *importing) settle() error {
	for range maxSettling {
		in.dropBadFallbacks()
		if err := in.empty(); err != nil {
			return err
		}
		wrong, err := in.refused()
		if err != nil {
			return err
		}
		if !in.drop(wrong) {
			in.rows = slices.DeleteFunc(in.rows, func(row importedRow) bool { return !in.asked(row.name) })
			slices.SortStableFunc(in.left, func(a, b leftover) int { return a.line - b.line })
			return nil
		}
	}
	return errors.New("what would be written is not in order; take fewer models over at once")
}

// asked reports whether a model is asked by a row of providers.
func (in *importing) asked(row string) bool {
	return slices.ContainsFunc(in.routes, func(r *importedRoute) bool {
		return slices.ContainsFunc(r.to, func(u importedUpstream) bool { return strings.HasPrefix(u.id, row+"/") })
	})
}

// refused is what 'serve --check' refuses of what is written. It asks the same list of checks, about a file of its own.
func (in *importing) refused() ([]mistake, error) {
	dir, err := os.MkdirTemp("", "toolpost-import")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(file, []byte(in.write()), 0o600); err != nil {
		return nil, err
	}
	cmd := newServe()
	if err := cmd.Flags().Set("config", file); err != nil {
		return nil, err
	}
	v := &serving{cmd: cmd, log: slog.New(slog.DiscardHandler)}
	m, _, _ := v.examine()
	wrong, _ := m.split(true)
	return wrong, nil
}

// placeInRoutes is the place of a mistake: a route, perhaps one of its upstreams, and perhaps a setting.
var placeInRoutes = regexp.MustCompile(`^gateway\.routes\[(\d+)\](?:\.to\[(\d+)\])?(?:\.([a-z_]+))?`)

// routeWords are what the problem of a route begins with, which says a number that the file read does not have.
var routeWords = regexp.MustCompile(`^route \d+ \(.*?\): `)

// drop leaves out what is wrong, and reports whether there was anything. What is wrong with the environment is not about the file.
func (in *importing) drop(wrong []mistake) bool {
	dropped := map[*importedRoute]map[int]bool{} // the upstreams of each; -1 is the route itself
	some := false
	for _, x := range wrong {
		if place := placeInRoutes.FindStringSubmatch(x.Path); place != nil {
			i, _ := strconv.Atoi(place[1]) // it is digits
			if i < len(in.routes) {
				some = true
				in.refuse(in.routes[i], place[2], place[3], routeWords.ReplaceAllString(x.Problem, ""), dropped)
			}
		} else if rest, ok := strings.CutPrefix(x.Path, "providers."); ok {
			name, _, _ := strings.Cut(rest, ".")
			some = in.refuseRow(name, x.Problem, dropped) || some
		}
	}
	in.routes = slices.DeleteFunc(in.routes, func(r *importedRoute) bool {
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

// refuse notes that an upstream of a route, its weight, or the route itself is left out, and says why.
func (in *importing) refuse(r *importedRoute, upstream, setting, why string, dropped map[*importedRoute]map[int]bool) {
	k := -1
	if n, err := strconv.Atoi(upstream); err == nil && n < len(r.to) {
		k = n
	}
	at := r.to[max(k, 0)].at
	if k >= 0 && setting == "weight" && r.to[k].weight != "" {
		in.leave(at, "the weight of %s is left out: %s", r.model, why)
		r.to[k].weight = ""
		return
	}
	in.leave(at, "a model is left out (%s): %s", r.model, why)
	if dropped[r] == nil {
		dropped[r] = map[int]bool{}
	}
	dropped[r][k] = true
}

// refuseRow notes that a row of providers is left out, with all that is asked by it.
func (in *importing) refuseRow(name, why string, dropped map[*importedRoute]map[int]bool) bool {
	rows := len(in.rows)
	in.rows = slices.DeleteFunc(in.rows, func(r importedRow) bool { return r.name == name })
	for _, r := range in.routes {
		for k, u := range r.to {
			if strings.HasPrefix(u.id, name+"/") {
				in.refuse(r, fmt.Sprint(k), "", why, dropped)
			}
		}
	}
	return len(in.rows) < rows
}

// withoutAliases puts what an anchor of YAML names in the place of its aliases, and the members of a merged mapping beside the others, which count
// before them. Each anchor is read once, so that aliases of aliases cost nothing.
func withoutAliases(n ast.Node, anchors map[string]ast.Node) ast.Node {
	switch x := n.(type) {
	case *ast.AnchorNode:
		v := withoutAliases(x.Value, anchors)
		anchors[x.Name.String()] = v
		return v
	case *ast.AliasNode:
		if v := anchors[x.Value.String()]; v != nil {
			return v
		}
	case *ast.TagNode:
		return withoutAliases(x.Value, anchors)
	case *ast.SequenceNode:
		for i, v := range x.Values {
			x.Values[i] = withoutAliases(v, anchors)
		}
	case *ast.MappingValueNode:
		return withoutAliases(ast.Mapping(x.GetToken(), false, x), anchors)
	case *ast.MappingNode:
		x.Values = mergedMembers(x, anchors)
	}
	return n
}

// mergedMembers are the members of a mapping, with those that it merges.
func mergedMembers(x *ast.MappingNode, anchors map[string]ast.Node) []*ast.MappingValueNode {
	var own, merged []*ast.MappingValueNode
	for _, v := range x.Values {
		v.Value = withoutAliases(v.Value, anchors)
		if v.Key.Type() != ast.MergeKeyType {
			own = append(own, v)
			continue
		}
		for _, from := range append([]ast.Node{v.Value}, items(v.Value)...) {
			if m, ok := from.(*ast.MappingNode); ok {
				merged = append(merged, m.Values...)
			}
		}
	}
	for _, v := range merged {
		if !slices.ContainsFunc(own, func(o *ast.MappingValueNode) bool { return keyName(o.Key) == keyName(v.Key) }) {
			own = append(own, v)
		}
	}
	return own
}
