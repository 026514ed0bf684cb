package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxName   = 64
	maxMarker = 256
)

// MaxWord is the length of the longest name, or key of a Python argument, that
// is read.
const MaxWord = 128

// Validate reports the first thing that is wrong with a row, or nil.
func (d *Dialect) Validate() error {
	if err := d.validName(); err != nil {
		return err
	}
	for _, check := range []func() error{d.validChoices, d.validMarkers, d.validTags, d.validHead, d.validWords, d.validWriting, d.validResults} {
		if err := check(); err != nil {
			return fmt.Errorf("dialect %q: %w", d.Name, err)
		}
	}
	return nil
}

func (d *Dialect) validName() error {
	bad := strings.Trim(d.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
	if d.Name == "" || len(d.Name) > maxName || bad != "" {
		return fmt.Errorf("the name %.80q of a dialect must be 1 to %d letters, digits, dots, dashes and underscores", d.Name, maxName)
	}
	return nil
}

func (d *Dialect) validChoices() error {
	switch {
	case int(d.Form) >= forms:
		return fmt.Errorf("there is no form %d", d.Form)
	case d.Text > Plain:
		return fmt.Errorf("there is no way %d to read text", d.Text)
	case d.Write.Body > YAMLBody:
		return fmt.Errorf("there is no notation %d for arguments", d.Write.Body)
	case d.Write.ID > OneBased || d.Results.ID > OneBased:
		return errors.New("there is no such form of ids")
	}
	return nil
}

// validMarkers checks the markers, and that the row tells how to find a call.
func (d *Dialect) validMarkers() error {
	found := d.Bare || d.Tags.Call.Open != ""
	for _, p := range slices.Concat(d.Wrap, d.Call) {
		if p.Open == "" {
			return errors.New("a pair of Wrap or Call has no Open")
		}
		found = true
	}
	if !found {
		return errors.New("nothing says where a call begins: give Wrap, Call or Tags.Call, or set Bare")
	}
	var texts []string
	for _, p := range slices.Concat(d.Wrap, d.Call, d.Think) {
		if p == (Pair{}) {
			return errors.New("a pair of Think is empty")
		}
		texts = append(texts, p.Open, p.Close)
	}
	texts = slices.Concat(texts, d.IDSep, d.Code, d.Drop, d.End, d.Role, d.Inline, d.BeforeName, d.AtStart, d.Quotes)
	for _, s := range texts {
		if err := validMarker(s); s != "" && err != nil {
			return err
		}
	}
	for _, list := range [][]string{d.IDSep, d.Code, d.Drop, d.End, d.Role, d.Inline, d.BeforeName, d.AtStart, d.Quotes, d.Sep} {
		if slices.Contains(list, "") {
			return errors.New("a marker is empty")
		}
	}
	for _, s := range d.Sep {
		if err := validMarker(s); strings.TrimSpace(s) != "" && err != nil {
			return err
		}
	}
	return nil
}

// validMarker checks one marker. A marker of one byte would be found everywhere
// in ordinary text.
func validMarker(s string) error {
	switch {
	case len(s) < 2 || len(s) > maxMarker:
		return fmt.Errorf("the marker %.80q must be 2 to %d bytes long", s, maxMarker)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return fmt.Errorf("the marker %q is no text", s)
	case strings.TrimLeft(s, " \t\r\n") != s:
		return fmt.Errorf("the marker %q begins with white space", s)
	}
	return nil
}

// validAlso checks the tags of Also.
func (t *Tags) validAlso() error {
	for _, p := range t.Also {
		if !strings.Contains(p.Open, "=%s") && !strings.Contains(p.Open, `name="%s"`) || p.Close == "" {
			return fmt.Errorf("the tag %q must have =%%s or name=\"%%s\" for the name, and an end", p.Open)
		}
		if err := validTag(p.Open); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dialect) validTags() error {
	t := d.Tags
	if d.Form == TagCall && t.Call.Open == "" && (t.Param.Open == "" || t.Value.Open == "") {
		return errors.New("the elements are missing: give Tags.Call, or Tags.Param and Tags.Value")
	}
	if t.Call.Open != "" && !strings.Contains(t.Call.Open, "%s") {
		return fmt.Errorf("the tag %q has no %%s for the name", t.Call.Open)
	}
	if t.Param.Open != "" && t.Value.Open == "" && !strings.Contains(t.Param.Open, "%s") {
		return fmt.Errorf("the tag %q has no %%s for the name, and there is no Tags.Value", t.Param.Open)
	}
	if err := t.validAlso(); err != nil {
		return err
	}
	for _, tag := range []string{t.Call.Open, t.Param.Open, t.Value.Open} {
		if err := validTag(tag); tag != "" && err != nil {
			return err
		}
	}
	for _, tag := range []string{t.Call.Close, t.Param.Close, t.Value.Close} {
		if err := validMarker(tag); tag != "" && err != nil {
			return err
		}
	}
	if slices.Contains(t.Spaces, "") {
		return errors.New("a namespace of Tags.Spaces is empty")
	}
	return nil
}

// validTag checks an opening tag: it begins like a marker, and something
// follows its last value.
func validTag(tag string) error {
	head, rest, values := strings.Cut(tag, "%")
	if !values {
		return validMarker(tag)
	}
	if head != "<" { // an element named after its tool, or its parameter
		if err := validMarker(head); err != nil {
			return err
		}
	}
	for values {
		if rest == "" || !strings.ContainsAny(rest[:1], "sdt") {
			return fmt.Errorf("the tag %q has a %% without s, d or t", tag)
		}
		head, rest, values = strings.Cut(rest[1:], "%")
	}
	if strings.Trim(head, `"'`) == "" {
		return fmt.Errorf("nothing ends the tag %q", tag)
	}
	return nil
}

func (d *Dialect) validHead() error {
	if d.Form != Header {
		return nil
	}
	if !strings.HasPrefix(d.Head.End, "<") || d.Head.To == "" {
		return errors.New("the header is missing: give Head.End, which begins with <, and Head.To")
	}
	return validMarker(d.Head.End)
}

func (d *Dialect) validWords() error {
	for _, s := range d.Inline {
		if c := s[0] | 0x20; c < 'a' || c > 'z' {
			return fmt.Errorf("the marker %q of Inline does not begin with a letter, and may stand within a line anyway", s)
		}
	}
	if d.Opening != (Pair{}) && (d.Opening.Open == "" || d.Opening.Close == "") {
		return errors.New("an Opening needs both a line and what follows it")
	}
	for _, t := range d.Tells {
		if len(t.All) == 0 || slices.Contains(t.All, "") {
			return errors.New("a tell is empty")
		}
	}
	return nil
}

func (d *Dialect) validWriting() error {
	w := d.Write
	if w.Call == "" {
		return nil // it is read only
	}
	switch {
	case !strings.Contains(w.Call, "$args"):
		return fmt.Errorf("the call %q has no $args", w.Call)
	case !strings.Contains(w.Call, "$name") && !(w.ID == NameIndex && strings.Contains(w.Call, "$id")):
		return fmt.Errorf("the call %q has no $name", w.Call)
	case w.Body == ParamsBody && !strings.Contains(w.Param, "$value"):
		return fmt.Errorf("the parameter %q has no $value", w.Param)
	case w.Types != nil && len(w.Types) != 6:
		return fmt.Errorf("there are %d words for types, not six", len(w.Types))
	case w.Whole && !strings.HasSuffix(w.Text.Open, ":"):
		return errors.New("an answer that is one JSON value needs Text.Open, up to the colon before its text")
	}
	return nil
}

func (d *Dialect) validResults() error {
	r := d.Results
	if r.Each == "" {
		return nil // the form of the emulated dialects is used
	}
	if !strings.Contains(r.Each, "$text") && !strings.Contains(r.Each, "$json") {
		return fmt.Errorf("the result %q has no $text and no $json", r.Each)
	}
	if r.Role == "" {
		return errors.New("the results have no role")
	}
	return nil
}

// Clone returns a copy that shares nothing with d.
func (d *Dialect) Clone() Dialect {
	c := *d
	for _, p := range []*[]Pair{&c.Wrap, &c.Call, &c.Think, &c.Tags.Also} {
		*p = slices.Clone(*p)
	}
	for _, s := range []*[]string{
		&c.Sep, &c.IDSep, &c.Tags.Spaces, &c.Head.Skip, &c.Head.Thinkers, &c.Head.ThinkChannels, &c.Head.Users, &c.Head.Speakers,
		&c.Quotes, &c.Code, &c.Inline, &c.BeforeName, &c.AtStart, &c.Drop, &c.End, &c.Role, &c.Write.Types, &c.Results.Guard, &c.Results.Stop,
	} {
		*s = slices.Clone(*s)
	}
	c.Tells = slices.Clone(c.Tells)
	for i := range c.Tells {
		c.Tells[i].All = slices.Clone(c.Tells[i].All)
	}
	return c
}
