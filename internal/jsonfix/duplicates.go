package jsonfix

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// maxDuplicates bounds the answer of DuplicateKeys.
const maxDuplicates = 100

// DuplicateKeys returns the JSON pointers of the keys that an object of value
// has more than once. JSON allows this and readers differ in which one they
// keep, so a repair keeps them all. A caller that runs a tool must know.
func DuplicateKeys(value []byte) []string {
	d := duplicates{dec: json.NewDecoder(bytes.NewReader(value))}
	d.dec.UseNumber()
	if err := d.value(); err != nil && err != io.EOF {
		return nil
	}
	return d.found
}

type duplicates struct {
	dec   *json.Decoder
	path  []string
	found []string
}

func (d *duplicates) value() error {
	t, err := d.dec.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for n := 0; d.dec.More(); n++ {
		name := strconv.Itoa(n)
		if open == '{' {
			t, err := d.dec.Token()
			if err != nil {
				return err
			}
			name = t.(string) // More and a valid decoder leave nothing else
		}
		d.path = append(d.path, name)
		if open == '{' && seen[name] && len(d.found) < maxDuplicates {
			d.found = append(d.found, d.pointer())
		}
		seen[name] = open == '{'
		if err := d.value(); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	_, err = d.dec.Token() // the closing bracket
	return err
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (d *duplicates) pointer() string {
	var b strings.Builder
	for _, name := range d.path {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(name))
	}
	return b.String()
}
