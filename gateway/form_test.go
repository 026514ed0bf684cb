package gateway_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
)

// TestFormsThatCanBeReadInTwoWays checks that a form is refused, and says why, if another program could find another model in it, or
// another field, than was checked.
func TestFormsThatCanBeReadInTwoWays(t *testing.T) {
	url, v := passing(t)
	const model = "Content-Disposition: form-data; name=\"model\"\r\n\r\nembed-1\r\n"
	for part, says := range map[string]string{
		`form-data; name="mod\el"`:                                        "part 2 of the form: its name has a backslash",
		`form-data; name="mod\\el"`:                                       "a backslash",
		`form-data; name="mod\"el"`:                                       "a quote",
		`form-data; name="model\;"`:                                       "a backslash",
		`form-data; name="model"`:                                         "part 2 of the form: it names the model more than once",
		`form-data; name="Model"`:                                         "more than once",
		`form-data; name=model`:                                           "more than once",
		`form-data; name=" model"`:                                        "more than once",
		`form-data; name="model[]"`:                                       "more than once",
		`form-data; name="model[0]"`:                                      "more than once",
		`form-data; name="m%6fdel"`:                                       "more than once",
		`form-data; name="model"; filename="a"`:                           "as no plain field",
		`form-data; name="model"; filename=""`:                            "as no plain field",
		`form-data; name*=utf-8''model`:                                   "more than once",
		`form-data; name*0=mo; name*1=del`:                                "more than once",
		`form-data; name="x"; name="model"`:                               "cannot be read",
		`form-data; filename="a\"; name="model"`:                          "",
		`form-data; name="x"; name="model"; filename="a"`:                 "cannot be read",
		`attachment; name="model"`:                                        "cannot be read",
		`form-data`:                                                       "cannot be read",
		"form-data; name=\"mod\x00el\"":                                   "",
		"form-data; name=x\r\nContent-Disposition: form-data; name=model": "one header",
		"form-data; name=x\r\nContent-Transfer-Encoding: base64":          "not in the encoding",
		"form-data;\r\n name=\"model\"":                                   "more than once",
	} {
		for _, body := range []string{
			"--b\r\n" + model + "--b\r\nContent-Disposition: " + part + "\r\n\r\nembed-2\r\n--b--\r\n",
			"--b\n" + strings.ReplaceAll(model, "\r\n", "\n") + "--b\nContent-Disposition: " + strings.ReplaceAll(part, "\r\n", "\n") + "\n\nembed-2\n--b--\n",
		} {
			resp, answer := send(t, "POST", url+"/v1/audio/transcriptions", "multipart/form-data; boundary=b", body)
			if answer = strings.ReplaceAll(answer, `\"`, `"`); resp.StatusCode != 400 || !strings.Contains(answer, says) {
				t.Errorf("%q: %d %s", part, resp.StatusCode, answer)
			}
			if r, _ := v.asked(); r != nil {
				t.Errorf("%q: the vendor was asked", part)
			}
		}
	}
}

// TestFormsOfClients checks that what clients really send arrives, and that nothing does that stands beside the parts.
func TestFormsOfClients(t *testing.T) {
	url, v := passing(t)
	for disposition, want := range map[string]string{
		`form-data; name="file"; filename="C:\a b.wav"`:                         `form-data; name="file"; filename="C:_a b.wav"`,
		`form-data; name="file"; filename="a \"b\".wav"`:                        `form-data; name="file"; filename="a _b_.wav"`,
		`form-data; name="file"; filename="a.wav"; filename*=utf-8''%C3%A4.wav`: `form-data; name="file"; filename="ä.wav"`,
		`form-data; name="file"; filename*=iso-8859-1''%E4.wav`:                 `form-data; name="file"; filename="file"`,
		`form-data; name=file; filename=a.wav`:                                  `form-data; name="file"; filename="a.wav"`,
		`form-data; filename="my name.wav"; name="file"`:                        `form-data; name="file"; filename="my name.wav"`,
		`form-data; name="timestamp_granularities[]"`:                           `form-data; name="timestamp_granularities[]"`,
		`form-data; name="model_name"`:                                          `form-data; name="model_name"`,
	} {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		w.SetBoundary("b")
		f, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {"audio/wav"}})
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("word"))
		w.WriteField("model", "embed-1")
		w.Close()
		resp, body := send(t, "POST", url+"/v1/audio/transcriptions", "multipart/form-data; boundary=b", "a preamble\r\n"+b.String()+"and more")
		_, got := v.asked()
		want := strings.Replace(strings.Replace(b.String(), "embed-1", "text-embed-1", 1), disposition, want, 1)
		if resp.StatusCode != 200 || sameBoundary(got, "b") != want {
			t.Errorf("%s: %d %s\n%q\nwant %q", disposition, resp.StatusCode, body, got, want)
		}
	}
}

// TestFormsAreWrittenInOneWay checks that names of files in which a program could find the name of a field, encoded fields and boundaries that Go
// would not write are no reason to refuse a form, and that the vendor can read them in one way only.
func TestFormsAreWrittenInOneWay(t *testing.T) {
	url, v := passing(t)
	const bound = "*****"
	for part, want := range map[string]string{
		"form-data; name=\"file\"; filename=\"download?name=foo.mp3\"\r\n\r\nsound":              "form-data; name=\"file\"; filename=\"download?name_foo.mp3\"\r\n\r\nsound",
		"form-data; filename=\"song name = x.mp3\"; name=\"file\"\r\n\r\nsound":                  "form-data; name=\"file\"; filename=\"song name _ x.mp3\"\r\n\r\nsound",
		"form-data; name=\"x\"; filename=\"a\\\"; name=\\\"model\"\r\n\r\nsound":                 "form-data; name=\"x\"; filename=\"a_; name__model\"\r\n\r\nsound",
		"form-data; name=\"prompt\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\na=3Db": "form-data; name=\"prompt\"\r\n\r\na=b",
		"form-data; name=\"prompt\"\r\nContent-Transfer-Encoding: BASE64\r\n\r\nYT1i":            "form-data; name=\"prompt\"\r\n\r\na=b",
		"form-data; name=\"x\"; name*=utf-8''y\r\n\r\na":                                         "form-data; name=\"y\"\r\n\r\na",
		"form-data; name=x; kind=\"; name=model\"\r\n\r\na":                                      "form-data; name=\"x\"\r\n\r\na",
		"form-data; name=model; name*0=mode\r\n\r\na":                                            "form-data; name=\"mode\"\r\n\r\na",
		"form-data; name=\"mo\"; name*1=\"del\"\r\n\r\na":                                        "form-data; name=\"mo\"\r\n\r\na",
		"form-data; name=x\r\nContent-Transfer-Encoding: x-foo\r\nX-Other: y\r\n\r\na":           "form-data; name=\"x\"\r\n\r\na",
		"form-data; name=\"file\"; filename=\"Müller straße.wav\"\r\n\r\nsound":                  "form-data; name=\"file\"; filename=\"Müller straße.wav\"\r\n\r\nsound",
	} {
		whole := func(part, model string) string {
			return "--" + bound + "\r\nContent-Disposition: " + part + "\r\n--" + bound + "\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + model + "\r\n--" + bound + "--\r\n"
		}
		resp, body := send(t, "POST", url+"/v1/audio/transcriptions", "multipart/form-data; boundary="+bound, whole(part, "embed-1"))
		if _, got := v.asked(); resp.StatusCode != 200 || sameBoundary(got, bound) != whole(want, "text-embed-1") {
			t.Errorf("%s: %d %s\n%q\nwant %q", part, resp.StatusCode, body, got, whole(want, "text-embed-1"))
		}
	}
}

// sameBoundary returns a form with another boundary.
func sameBoundary(form, boundary string) string {
	own, _, _ := strings.Cut(form, "\r\n")
	return strings.ReplaceAll(form, own, "--"+boundary)
}

// TestFormsInForms checks that nobody finds the parts of another form in a field: the boundary that the vendor is told is not the client's, and
// stands there once.
func TestFormsInForms(t *testing.T) {
	url, v := passing(t)
	for _, kinds := range [][]string{
		{"multipart/form-data; boundary=A; boundary*=utf-8''B"}, {"multipart/form-data; boundary=A; boundary*0=B"}, {"multipart/form-data; boundary=B"},
		{"multipart/form-data; boundary=B", "multipart/form-data; boundary=A"},
	} {
		for _, inner := range []string{"--A\r\n", "--A \r\n", "--Bx\r\n", "--B.\r\n"} {
			req, err := http.NewRequest("POST", url+"/v1/audio/transcriptions", strings.NewReader("--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nembed-1\r\n"+
				"--B\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nx\r\n"+inner+"Content-Disposition: form-data; name=\"model\"\r\n\r\nexpensive\r\n--A--\r\n\r\n--B--\r\n"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Content-Type"] = kinds
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			r, got := v.asked()
			if r == nil && resp.StatusCode == 400 {
				continue
			}
			own, is := strings.CutPrefix(r.Header.Get("Content-Type"), "multipart/form-data; boundary=")
			if !is || len(r.Header["Content-Type"]) > 1 || len(own) < 40 || strings.Count(got, own) != 3 {
				t.Errorf("%q: the vendor gets %q and %q", kinds, r.Header["Content-Type"], got)
			}
		}
	}
}

// TestFilesWithoutNamesAreFields checks that a file with an empty name is checked like a field, as which some programs read it.
func TestFilesWithoutNamesAreFields(t *testing.T) {
	url, v := passing(t)
	resp, body := send(t, "POST", url+"/v1/images/edits", "multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nembed-1\r\n"+
		"--B\r\nContent-Disposition: form-data; name=\"n\"; filename=\"\"\r\n\r\n9999\r\n--B--\r\n")
	if r, _ := v.asked(); resp.StatusCode != 400 || r != nil {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
