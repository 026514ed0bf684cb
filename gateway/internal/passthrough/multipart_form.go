package passthrough

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
)

// formBoundary returns the boundary of a multipart form, and whether a body is a form.
func formBoundary(mediaType string) (boundary string, is bool) {
	kind, params, _ := mime.ParseMediaType(mediaType)
	return params["boundary"], kind == "multipart/form-data"
}

// maxParts limits the parts of a form.
const maxParts = 1000

// rewriteForm reads a form and returns its model, and the form with the model replaced by rename and a new boundary.
// The new boundary ensures that other programs find the same parts. It calls each for every other field, which reports
// whether the field stays.
// Input that programs parse differently is rejected or normalized: the vendor must read the same model and the same
// fields that were checked here.
func rewriteForm(body []byte, boundary, rename string, each func(name, value []byte) (bool, error)) (model string, out []byte, mediaType string, err error) {
	if boundary == "" {
		return "", nil, "", exchange.Invalid("the form has no boundary")
	}
	src := multipart.NewReader(bytes.NewReader(body), boundary)
	var b bytes.Buffer
	dst := multipart.NewWriter(&b)
	named := false
	for n := 1; ; n++ {
		f, err := nextField(src, n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", nil, "", err
		}
		switch {
		case meansModel(f.name):
			if named || f.name != "model" || f.file {
				return "", nil, "", exchange.Invalid("part %d of the form: it names the model more than once, or as no plain field: send one field, with the name model", n)
			}
			named, model, f.value = true, string(f.value), []byte(rename)
		case !f.file || f.nameless:
			if stays, err := each([]byte(strings.TrimSuffix(f.name, "[]")), fieldValue(f.value)); err != nil {
				return "", nil, "", err
			} else if !stays {
				continue
			}
		}
		w, err := dst.CreatePart(f.header)
		if err != nil {
			return "", nil, "", err
		}
		w.Write(f.value)
	}
	if err := dst.Close(); err != nil {
		return "", nil, "", err
	}
	return model, b.Bytes(), dst.FormDataContentType(), nil
}

// field is a part of a form.
type field struct {
	header   textproto.MIMEHeader
	name     string
	file     bool
	nameless bool // a file without a name, which some programs treat as a field
	value    []byte
}

// nextField reads the next part of a form, which has number n. The error is io.EOF after the last part.
func nextField(src *multipart.Reader, n int) (f field, err error) {
	part, err := src.NextRawPart()
	if errors.Is(err, io.EOF) {
		return f, io.EOF
	}
	if err != nil || n > maxParts {
		return f, exchange.Invalid("the form cannot be read, or has more than %d parts", maxParts)
	}
	value, err := io.ReadAll(part)
	if err != nil {
		return f, exchange.Invalid("the form cannot be read: %w", err)
	}
	if f, err = readField(part.Header, value); err != nil {
		return f, exchange.Invalid("part %d of the form: %w", n, err)
	}
	return f, nil
}

// readField reads a part of a form. It rebuilds the headers from the parsed values only.
func readField(h textproto.MIMEHeader, value []byte) (f field, err error) {
	said := h["Content-Disposition"]
	if len(said) != 1 {
		return f, errors.New("it needs one header Content-Disposition: form-data; name=\"...\"")
	}
	kind, params, err := mime.ParseMediaType(said[0])
	if err != nil || kind != "form-data" || params["name"] == "" {
		return f, errors.New("its header Content-Disposition cannot be read: write form-data; name=\"...\"")
	}
	f.name = params["name"]
	if strings.ContainsAny(f.name, "\\\"';=") || strings.ContainsFunc(f.name, unicode.IsControl) {
		return f, errors.New("its name has a backslash, a quote, a semicolon, an equals sign or a control character: programs read such names in different ways; write name=\"...\" with a plain name")
	}
	if f.value, err = decoded(h, value); err != nil {
		return f, err
	}
	called, file := params["filename"]
	f.file = file || strings.Contains(strings.ToLower(said[0]), "filename") // the parameter may use an unknown encoding
	f.nameless = f.file && called == ""
	if f.file && !file {
		called = "file"
	}
	f.header = textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + f.name + `"`}}
	if f.file {
		f.header.Set("Content-Disposition", f.header.Get("Content-Disposition")+`; filename="`+tameName(called)+`"`)
	}
	if typ := h.Get("Content-Type"); typ != "" {
		f.header.Set("Content-Type", typ)
	}
	return f, nil
}

// fieldNames matches text that a lenient parser might take for the name of a field.
var fieldNames = regexp.MustCompile(`(?i)(?:^|[^a-z0-9_-])name\*?[ \t]*=`)

// tameName returns a file name without characters that end a quoted string, and without text that looks like the name
// of a field.
func tameName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
	if fieldNames.MatchString(name) {
		name = strings.ReplaceAll(name, "=", "_")
	}
	return name
}

// decoded returns the value of a part decoded by its Content-Transfer-Encoding. Unknown encodings are ignored.
func decoded(h textproto.MIMEHeader, value []byte) (plain []byte, err error) {
	switch coding := strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))); coding {
	case "quoted-printable":
		plain, err = io.ReadAll(quotedprintable.NewReader(bytes.NewReader(value)))
	case "base64":
		plain, err = io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(bytes.TrimSpace(value))))
	default:
		return value, nil
	}
	if err != nil {
		return nil, fmt.Errorf("its value is not in the encoding of its header Content-Transfer-Encoding: %w", err)
	}
	return plain, nil
}

// meansModel reports whether some program might treat a field as the model: in another spelling, with spaces, an index, or
// percent-encoding.
func meansModel(name string) bool {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if at := strings.IndexAny(name, "[."); at >= 0 {
		name = name[:at]
	}
	return js.SameField([]byte(strings.TrimSpace(name)), "model")
}

// fieldValue returns the value of a form field as JSON: unchanged if it is valid JSON, otherwise as a string.
func fieldValue(v []byte) []byte {
	if t := js.Trim(v); js.Valid(t) {
		return t
	}
	return js.AppendQuoted(nil, v)
}
