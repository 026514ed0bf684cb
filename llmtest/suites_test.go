package llmtest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/llmtest"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// defect is the variable that names the defect under test.
const defect = "LLMTEST_DEFECT"

// mustFail runs a test of this binary in a separate process with a defect, and
// checks that the suite names the broken promise.
func mustFail(t *testing.T, test, name, promise string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.short")
	cmd.Env = append(os.Environ(), defect+"="+name)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), strings.ReplaceAll(promise, " ", "_")) {
		t.Errorf("%s: the suite does not say that %q is broken: %v\n%.2000s", name, promise, err, out)
	}
}

// brokenCodecs are formats that each break one promise.
var brokenCodecs = map[string]struct {
	promise string
	format  format.Format
}{
	"a feature that is only claimed":   {"what the properties say of each feature is true", claims{}},
	"options dropped without a word":   {"what the properties say of each feature is true", silent{}},
	"content dropped without a word":   {"no content of a message is lost in silence", silent{}},
	"requests that are changed":        {"requests are not changed", changes{}},
	"a stream that reads whole chunks": {"a stream means the same however it is cut", chunks{}},
	"half a stream taken for a whole":  {"no call that was cut off can be run", early{}},
	"pieces that are trimmed":          {"white space at the borders of pieces is kept", trims{}},
	"a keep-alive nobody can read":     {"a keep-alive does not disturb an answer", noisy{}},
	"requests that are not JSON":       {"what cannot be read is not passed over", trusting{}},
	"lines that are skipped":           {"what cannot be read is not passed over", skips{}},
	"every error a server's":           {"errors keep what a caller can do about them", wordless{}},
}

func TestCodecFindsDefects(t *testing.T) {
	for name, broken := range brokenCodecs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustFail(t, "TestBrokenCodec", name, broken.promise)
		})
	}
}

// TestBrokenCodec fails if a defect is requested.
func TestBrokenCodec(t *testing.T) {
	if broken, ok := brokenCodecs[os.Getenv(defect)]; ok {
		llmtest.TestCodec(t, wire.Codec{Own: broken.format})
	}
}

type claims struct{ acme }

func (f claims) Properties() format.Properties {
	p := f.acme.Properties()
	p.Features = append(p.Features, format.TopK)
	return p
}

type silent struct{ acme }

func (f silent) EncodeRequest(req *llm.Request, stream bool) ([]byte, []llm.Warning, error) {
	body, _, err := f.acme.EncodeRequest(req, stream)
	return body, nil, err
}

type changes struct{ acme }

func (f changes) EncodeRequest(req *llm.Request, stream bool) ([]byte, []llm.Warning, error) {
	if i := bytes.Index(req.Tools[0].Schema, []byte("city")); i > 0 {
		copy(req.Tools[0].Schema[i:], "town")
	}
	return f.acme.EncodeRequest(req, stream)
}

type chunks struct{ acme }

func (f chunks) DecodeStream(src io.Reader, a *format.Answer) error {
	buf := make([]byte, 1<<20)
	for !a.Stopped() {
		n, err := src.Read(buf)
		if err != nil {
			return nil
		}
		for line := range bytes.Lines(buf[:n]) {
			var l acmeLine
			if json.Unmarshal(line, &l) == nil && !l.read(a, line) {
				return nil
			}
		}
	}
	return nil
}

type early struct{ acme }

func (f early) DecodeStream(src io.Reader, a *format.Answer) error {
	err := f.acme.DecodeStream(src, a)
	if err != nil && !a.Stopped() {
		a.Finish(llm.Finish{Reason: llm.Stop})
		return nil
	}
	return err
}

type wordless struct{ acme }

func (wordless) DecodeError([]byte) (code, message string) { return "server_error", "" }

type trims struct{ acme }

func (trims) DecodeStream(src io.Reader, a *format.Answer) error {
	return a.Lines(src, func(raw []byte) bool {
		var l acmeLine
		_ = json.Unmarshal(raw, &l)
		if l.Call != nil {
			l.Call.Args = strings.TrimSpace(l.Call.Args)
		}
		return l.read(a, raw)
	})
}

type noisy struct{ acme }

func (f noisy) Properties() format.Properties {
	p := f.acme.Properties()
	p.KeepAlive = "still here\n"
	return p
}

// TestKeepAliveOfLines: a format whose streams are lines has its keep-alives,
// also before the first event.
func TestKeepAliveOfLines(t *testing.T) {
	llmtest.TestCodec(t, wire.Codec{Own: blank{}})
}

type blank struct{ acme }

func (f blank) Properties() format.Properties {
	p := f.acme.Properties()
	p.KeepAlive = "\n"
	return p
}

type trusting struct{ acme }

func (f trusting) DecodeRequest(body []byte) (*llm.Request, bool, error) {
	if req, stream, err := f.acme.DecodeRequest(body); err == nil {
		return req, stream, nil
	}
	return &llm.Request{}, false, nil
}

type skips struct{ acme }

func (skips) DecodeStream(src io.Reader, a *format.Answer) error {
	for lines := bufio.NewScanner(src); lines.Scan(); {
		var l acmeLine
		if json.Unmarshal(lines.Bytes(), &l) == nil && !l.read(a, lines.Bytes()) {
			return nil
		}
	}
	return nil
}
