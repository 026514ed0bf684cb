package gateway

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/js"
)

// formBoundary returns what stands between the parts of a form, and whether a body is one.
func formBoundary(mediaType string) (boundary string, is bool) {
	kind, params, _ := mime.ParseMediaType(mediaType)
	return params["boundary"], kind == "multipart/form-data"
}

// maxParts bounds the parts of a form.
const maxParts = 1000

// form reads a form and returns the model that it names, and the same form with another one. It tells each of the other fields.
// What programs read in different ways is refused: the model and the fields that are checked must be those that the vendor reads.
func form(body []byte, boundary, rename string, each func(name, value []byte) error) (model string, out []byte, err error) {
	if boundary == "" {
		return "", nil, invalid("the form has no boundary")
	}
	src := multipart.NewReader(bytes.NewReader(body), boundary)
	var b bytes.Buffer
	dst := multipart.NewWriter(&b)
	if err := dst.SetBoundary(boundary); err != nil {
		return "", nil, invalid("the form cannot be read: %w", err)
	}
	named := false
	for n := 1; ; n++ {
		part, err := src.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || n > maxParts {
			return "", nil, invalid("the form cannot be read, or has more than %d parts", maxParts)
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return "", nil, invalid("the form cannot be read: %w", err)
		}
		name, file, err := fieldName(part.Header)
		switch {
		case err != nil:
			return "", nil, invalid("part %d of the form: %w", n, err)
		case meansModel(name):
			if named || name != "model" || file {
				return "", nil, invalid("part %d of the form: it names the model more than once, or as no plain field: send one field, with the name model", n)
			}
			named, model, value = true, string(value), []byte(rename)
		case !file:
			if err := each([]byte(strings.TrimSuffix(name, "[]")), fieldValue(value)); err != nil {
				return "", nil, err
			}
		}
		w, err := dst.CreatePart(part.Header)
		if err != nil {
			return "", nil, err
		}
		w.Write(value)
	}
	if err := dst.Close(); err != nil {
		return "", nil, err
	}
	return model, b.Bytes(), nil
}

// fieldNames finds what a program might take for the name of a field, wherever it thinks that a quoted text ends.
var fieldNames = regexp.MustCompile(`(?i)(?:^|[^a-z0-9_-])name\*?[ \t]*=`)

// fieldName returns the name of a part of a form, and whether it is a file. The name must stand there once and as it is: some programs
// take a backslash for the beginning of an escape, others for a character, and some decode name*= where others do not know it.
func fieldName(h textproto.MIMEHeader) (name string, file bool, err error) {
	said := h["Content-Disposition"]
	if len(said) != 1 {
		return "", false, errors.New("it needs one header Content-Disposition: form-data; name=\"...\"")
	}
	kind, params, err := mime.ParseMediaType(said[0])
	name = params["name"]
	switch {
	case err != nil || kind != "form-data" || name == "":
		return "", false, errors.New("its header Content-Disposition cannot be read: write form-data; name=\"...\"")
	case strings.ContainsAny(name, "\\\"") || strings.ContainsFunc(name, unicode.IsControl) || !nameAsItIs(said[0], name):
		return "", false, errors.New("its name has a backslash, a quote or a control character, or is written in an encoding: programs read such names in different ways; write name=\"...\" with the name as it is")
	case len(fieldNames.FindAllStringIndex(said[0], 2)) > 1:
		return "", false, errors.New("its header Content-Disposition seems to have two names: programs read that in different ways; write name=\"...\" once, and none in the name of a file")
	}
	_, file = params["filename"]
	if coding := h.Get("Content-Transfer-Encoding"); !file && coding != "" && !plainCodings[strings.ToLower(coding)] {
		return "", false, errors.New("a field with Content-Transfer-Encoding is not taken: send its value as it is")
	}
	return name, file, nil
}

// nameAsItIs reports whether a header has the name as it is.
func nameAsItIs(said, name string) bool {
	at := fieldNames.FindStringIndex(said)
	if at == nil || strings.Contains(said[at[0]:at[1]], "*") {
		return false
	}
	rest := strings.TrimLeft(said[at[1]:], " \t")
	return strings.HasPrefix(rest, `"`+name+`"`) || strings.HasPrefix(rest, name)
}

// plainCodings leave a value as it is.
var plainCodings = map[string]bool{"7bit": true, "8bit": true, "binary": true}

// meansModel reports whether some program takes a field of that name for the model: in other letters, with spaces, as one of a list, or encoded.
func meansModel(name string) bool {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if at := strings.IndexAny(name, "[."); at >= 0 {
		name = name[:at]
	}
	return strings.EqualFold(strings.TrimSpace(name), "model")
}

// fieldValue returns the value of a field of a form as JSON: what it is, or a text.
func fieldValue(v []byte) []byte {
	if t := js.Trim(v); js.Valid(t) {
		return t
	}
	return js.AppendQuoted(nil, v)
}
