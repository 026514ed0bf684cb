package configcheck

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CheckDeclared compares the values of a section with their declared bounds and words. A 0 in the file that means a
// default is a warning, because the user may have meant none or no limit.
func (r *Report) CheckDeclared(section reflect.Value, path string) {
	for _, f := range Fields(section.Type()) {
		r.checkField(f, f.Of(section), strings.TrimPrefix(path+"."+f.Key, "."))
	}
}

func (r *Report) checkField(f Field, v reflect.Value, path string) {
	given := v.Kind() == reflect.Pointer
	if given {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch {
	case isSection(v.Type()):
		r.CheckDeclared(v, path)
	case v.Kind() == reflect.Slice && isSection(v.Type().Elem()):
		for i := range v.Len() {
			r.CheckDeclared(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case v.CanInt() && v.IsZero() && !given:
		if text := f.Tag.Get("default"); text != "" && r.zero[path] {
			r.Warn(path, "0 means the default, which is %s; leave it out, or write another value", text)
		}
	case v.CanInt():
		if problem := f.outOfBounds(v.Int()); problem != "" {
			r.Wrong(path, "%s", problem)
		}
	case v.Kind() == reflect.String && v.String() != "":
		if words := f.Words(); len(words) > 0 && !slices.Contains(words, v.String()) {
			r.Wrong(path, "%q is not one of %s", v.String(), strings.Join(words, ", "))
		}
	}
}

// Words returns the words that a text may be, nil for any text.
func (f Field) Words() []string { return strings.Fields(f.Tag.Get("values")) }

// outOfBounds describes why a number is out of its bounds, "" if it is not.
func (f Field) outOfBounds(n int64) string {
	format := func(n int64) string { return strconv.FormatInt(n, 10) }
	if f.Type == durations {
		format = func(n int64) string { return time.Duration(n).String() }
	}
	least, hasLeast := f.bound("min")
	most, hasMost := f.bound("max")
	switch {
	case n < 0 && f.Tag.Get("negative") != "":
	case hasLeast && hasMost && (n < least || n > most):
		return fmt.Sprintf("%s is not between %s and %s", format(n), format(least), format(most))
	case hasLeast && n < least:
		return fmt.Sprintf("%s is too small; the minimum is %s", format(n), format(least))
	case hasMost && n > most:
		return fmt.Sprintf("%s is too large; the maximum is %s", format(n), format(most))
	}
	return ""
}

// BoundsText describes the bounds of a number for a reference page, "" if it has none.
func (f Field) BoundsText() string {
	least, most := f.Tag.Get("min"), f.Tag.Get("max")
	switch {
	case most != "":
		return fmt.Sprintf("; %s to %s", least, most)
	case least != "" && f.Type != durations:
		return "; at least " + least
	}
	return ""
}

// bound parses a bound of a number or a duration.
func (f Field) bound(tag string) (n int64, ok bool) {
	text := f.Tag.Get(tag)
	if text == "" {
		return 0, false
	}
	if f.Type == durations {
		d, err := time.ParseDuration(text)
		return int64(d), err == nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// NeedRestart returns the paths of the settings that differ and that a running gateway does not take over.
func NeedRestart(before, now reflect.Value, path string) (paths []string) {
	for _, f := range Fields(before.Type()) {
		a, b := f.Of(before), f.Of(now)
		switch f.Tag.Get("restart") {
		case "yes":
			if reflect.DeepEqual(a.Interface(), b.Interface()) {
				continue
			}
		case "presence":
			if a.IsZero() == b.IsZero() {
				continue
			}
		default:
			continue
		}
		paths = append(paths, path+"."+f.Key)
	}
	return paths
}
