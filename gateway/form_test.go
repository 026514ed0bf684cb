package gateway_test

import (
	"bytes"
	"mime/multipart"
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
		`form-data; name="model\;"`:                                       "as it is",
		`form-data; name="model"`:                                         "part 2 of the form: it names the model more than once",
		`form-data; name="Model"`:                                         "more than once",
		`form-data; name=model`:                                           "more than once",
		`form-data; name=" model"`:                                        "more than once",
		`form-data; name="model[]"`:                                       "more than once",
		`form-data; name="model[0]"`:                                      "more than once",
		`form-data; name="m%6fdel"`:                                       "more than once",
		`form-data; name="model"; filename="a"`:                           "as no plain field",
		`form-data; name="model"; filename=""`:                            "as no plain field",
		`form-data; name*=utf-8''model`:                                   "an encoding",
		`form-data; name="x"; name*=utf-8''model`:                         "",
		`form-data; name="x"; name="model"`:                               "cannot be read",
		`form-data; filename="a\"; name="model"`:                          "",
		`form-data; name="x"; filename="a\"; name=\"model"`:               "two names",
		`form-data; name="x"; filename="; name=model"`:                    "two names",
		`attachment; name="model"`:                                        "cannot be read",
		`form-data`:                                                       "cannot be read",
		"form-data; name=\"mod\x00el\"":                                   "",
		"form-data; name=x\r\nContent-Disposition: form-data; name=model": "one header",
		"form-data; name=x\r\nContent-Transfer-Encoding: base64":          "Content-Transfer-Encoding",
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

// TestFormsOfClients checks that what clients really send is passed on as it is, and that nothing is that stands beside the parts.
func TestFormsOfClients(t *testing.T) {
	url, v := passing(t)
	for _, disposition := range []string{
		`form-data; name="file"; filename="C:\a b.wav"`,
		`form-data; name="file"; filename="a \"b\".wav"`,
		`form-data; name="file"; filename="a.wav"; filename*=utf-8''%C3%A4.wav`,
		`form-data; name=file; filename=a.wav`,
		`form-data; filename="my name.wav"; name="file"`,
		`form-data; name="timestamp_granularities[]"`,
		`form-data; name="model_name"`,
	} {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		w.SetBoundary("b")
		f, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Transfer-Encoding": {"binary"}})
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("word"))
		w.WriteField("model", "embed-1")
		w.Close()
		resp, body := send(t, "POST", url+"/v1/audio/transcriptions", "multipart/form-data; boundary=b", "a preamble\r\n"+b.String()+"and more")
		_, got := v.asked()
		if want := strings.Replace(b.String(), "embed-1", "text-embed-1", 1); resp.StatusCode != 200 || got != want {
			t.Errorf("%s: %d %s\n%q\nwant %q", disposition, resp.StatusCode, body, got, want)
		}
	}
}
