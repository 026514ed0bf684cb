package invoke_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// show runs a tool that returns text and returns what the model sees.
func show(t testing.TB, o invoke.ResultView, text string) invoke.Outcome {
	t.Helper()
	f := doer("f", tool.ReadOnly, func(context.Context) (string, error) { return text, nil })
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Output: o})
	return outcomes(t, s, call("a", "f", ``))[0]
}

func TestModes(t *testing.T) {
	var rows, log []string
	for i := range 60 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"part %d","note":null}`, 100+i, i))
		log = append(log, fmt.Sprintf("step %d of the build took a while and is done now", i))
	}
	list, lines := "["+strings.Join(rows, ",")+"]", strings.Join(log, "\n\n")+"\n"
	for _, c := range []struct {
		why         string
		mode        invoke.Mode
		text        string
		want, wants []string // beginnings of the view, and what else is in it
	}{
		{"detailed is all", invoke.Detailed, lines, []string{lines}, nil},
		{"concise shows lines and counts", invoke.Concise, lines, []string{"step 0 of the build"}, []string{"of 60 lines]"}},
		{"concise makes a table of a list", invoke.Concise, list, []string{"[60]: id|name\n"}, []string{"(empty: note)", "\n 100|part 0\n", "part 59", "of 60 items]"}},
		{"a short list stays as it is", invoke.Concise, "[1,2,3]", []string{"[1,2,3]"}, nil},
		{"minimal says what there is", invoke.Minimal, lines, []string{"step 0 of the build"}, []string{"of 60 lines]"}},
		{"a short text stays as it is", invoke.Minimal, "done", []string{"done"}, nil},
	} {
		o := show(t, invoke.ResultView{Mode: c.mode, NoSpill: true}, c.text)
		got, _, cut := strings.Cut(o.Result.Text(), "\n\n[output shortened")
		if !strings.HasPrefix(got, c.want[0]) || c.want[0] == c.text && got != c.text {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
		for _, w := range c.wants {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in\n%s", c.why, w, got)
			}
		}
		if cut != (got != c.text) || o.Receipt.Truncated != cut {
			t.Errorf("%s: marked %v, receipt %v", c.why, cut, o.Receipt.Truncated)
		}
		if cut && llm.EstimateText(got) > llm.EstimateText(c.text)/2 {
			t.Errorf("%s: %d tokens of %d", c.why, llm.EstimateText(got), llm.EstimateText(c.text))
		}
	}
}

func TestTruncationMarker(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	text := strings.Repeat("é", 1200) + strings.Repeat("ü", 1300)
	o := show(t, invoke.ResultView{MaxChars: 1000, SpillDir: dir}, text)
	want := regexp.MustCompile(`^é{800}\n\[\.\.\.\]\nü{200}\n\n\[output truncated: 2500 chars -> 1000 kept; full output saved to: (` +
		regexp.QuoteMeta(dir) + `/f-[0-9a-f]{8}-[0-9a-f]{8}\.txt)\. The full output was truncated; refine the tool arguments to return less data\.\]$`)
	m := want.FindStringSubmatch(o.Result.Text())
	if m == nil {
		t.Fatalf("%s", o.Result.Text())
	}
	if b, err := os.ReadFile(m[1]); err != nil || string(b) != text {
		t.Errorf("the file has %d bytes, error %v", len(b), err)
	}
	if o.Receipt.Spill != m[1] || o.Receipt.OutputBytes != int64(len(text)) {
		t.Errorf("%+v", o.Receipt)
	}
	whole, err := journal.OutputHash([]llm.Part{llm.Text{Text: text}}, "")
	if err != nil || o.Receipt.OutputHash != whole {
		t.Error("the hash is not that of the whole output")
	}
	if head := show(t, invoke.ResultView{MaxChars: 1000, Tail: -1, NoSpill: true}, text).Result.Text(); !strings.HasPrefix(head, strings.Repeat("é", 1000)+"\n\n[output truncated: 2500 chars -> 1000 kept. The full") {
		t.Errorf("without a tail: %s", head)
	}
}

func TestDefaultLimit(t *testing.T) {
	at := strings.Repeat("é", 50_000)
	if o := show(t, invoke.ResultView{NoSpill: true}, at); o.Receipt.Truncated {
		t.Error("50,000 characters are too many")
	}
	if o := show(t, invoke.ResultView{NoSpill: true}, at+"x"); !o.Receipt.Truncated {
		t.Error("50,001 characters are not")
	}
}

func TestOutputLimitOfTool(t *testing.T) {
	f := doer("f", tool.ReadOnly, func(context.Context) (string, error) { return strings.Repeat("x", 5000), nil })
	for own, kept := range map[int]int{2000: 2000, 10: 1000, 90_000: 5000} {
		f.MaxOutput = own
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Output: invoke.ResultView{NoSpill: true}})
		text, _, _ := strings.Cut(outcomes(t, s, call("a", "f", ``))[0].Result.Text(), "\n\n[output")
		if n := strings.Count(text, "x"); n != kept {
			t.Errorf("MaxOutput %d shows %d characters, want %d", own, n, kept)
		}
	}
}

func TestSpillFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are not those of Unix")
	}
	dir := filepath.Join(t.TempDir(), "new", "spill")
	text := strings.Repeat("x", 2000) + " Authorization: Bearer abcdefghijklmnop1234567890\n"
	o := show(t, invoke.ResultView{MaxChars: 1000, SpillDir: dir}, text)
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, o.Receipt.Spill: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, error %v", path, info.Mode(), err)
		}
	}
	if b, err := os.ReadFile(o.Receipt.Spill); err != nil || strings.Contains(string(b), "abcdefghijklmnop") {
		t.Errorf("a secret is in the file, or %v", err)
	}
	if again := show(t, invoke.ResultView{MaxChars: 1000, SpillDir: dir}, text); again.Receipt.Spill == o.Receipt.Spill || again.Receipt.Spill == "" {
		t.Errorf("a file was written over: %s", again.Receipt.Spill)
	}
}

// A secret that stands where a text is cut is in no half of it, neither in the
// record nor in the file.
func TestSecretsRedactedBeforeTruncation(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	const key = "kA9-of_no-known-form-Zq7"
	secrets := &journal.Secrets{Values: []string{key}}
	for at := 0; at <= len(key); at++ {
		attacks++
		head := strings.Repeat("h", 800-at) + key + strings.Repeat("m", 1000)
		tail := strings.Repeat("t", 200-at)
		text := head + key + tail
		f := doer("f", tool.ReadOnly, func(context.Context) (string, error) { return text, nil })
		s, store := session(t, &invoke.Runner{Tools: tool.MustSet(f), Output: invoke.ResultView{MaxChars: 1000, SpillDir: filepath.Join(t.TempDir(), "spill"), Secrets: secrets}})
		store.Secrets = secrets
		o := outcomes(t, s, call("a", "f", ``))[0]
		if !o.Receipt.Truncated || o.Receipt.Spill == "" {
			t.Fatalf("%+v", o.Receipt)
		}
		spilled, err := os.ReadFile(o.Receipt.Spill)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range store.Read(t.Context(), "run", 0) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range len(key) - 5 {
				if piece := key[i : i+6]; strings.Contains(string(e.Body)+string(spilled), piece) {
					t.Fatalf("cut %d bytes into the key, %q is left: %s", at, piece, e.Body)
				}
			}
		}
	}
}

// A call that fails shows the model no more than one that succeeds, whoever
// holds the output: the failure, the result, or both.
func TestErrorsTruncated(t *testing.T) {
	const key = "kA9-of_no-known-form-Zq7"
	secrets := &journal.Secrets{Values: []string{key}}
	long := strings.Repeat("a line of output\n", 20_000) + key
	other := strings.Repeat("something else\n", 20_000)
	for name, c := range map[string]struct {
		out string
		err error
	}{
		"in the failure":           {"", tool.Errorf(tool.Execution, "go failed with exit code 1:\n%s", long)},
		"in both":                  {"exit code 1\n" + long, tool.Errorf(tool.Execution, "go failed with exit code 1:\n%s", long)},
		"in the result":            {long, tool.Errorf(tool.Execution, "it failed")},
		"different in both":        {other, tool.Errorf(tool.Execution, "go failed: %s", long)},
		"an error of another type": {"", errors.New(long)},
	} {
		t.Run(name, func(t *testing.T) {
			f := tool.Tool{Name: "f", Effects: tool.ReadOnly, Call: func(context.Context, json.RawMessage) (tool.Output, error) {
				return tool.Text(c.out), c.err
			}}
			s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Output: invoke.ResultView{SpillDir: filepath.Join(t.TempDir(), "spill"), Secrets: secrets}})
			o := outcomes(t, s, call("a", "f", `{}`))[0]
			text := o.Result.Text()
			if n := utf8.RuneCountInString(text); n > 51_500 || n < 40_000 {
				t.Errorf("the model is shown %d characters", n)
			}
			if !o.Result.Failed || !strings.HasPrefix(text, "The call of f") || !strings.Contains(text, "What to do: ") || !strings.Contains(text, "[output truncated: ") {
				t.Errorf("%.300s … %s", text, text[len(text)-300:])
			}
			if !o.Receipt.Truncated || o.Receipt.Spill == "" || strings.Contains(text, key[:8]) {
				t.Errorf("%+v", o.Receipt.Spill)
			}
		})
	}
}

// A key that a tool returns is shown to nobody, however short the result is, and
// somebody is told.
func TestKeysInOutputRedacted(t *testing.T) {
	const key = "kA9-of_no-known-form-Zq7"
	secrets := &journal.Secrets{Values: []string{key}}
	for _, fails := range []bool{false, true} {
		for name, spelled := range map[string]string{"raw": key, "base64": base64.StdEncoding.EncodeToString([]byte("user:" + key)), "url": url.QueryEscape(key + "/")} {
			f := tool.Tool{Name: "f", Effects: tool.ReadOnly, Call: func(context.Context, json.RawMessage) (tool.Output, error) {
				if fails {
					return tool.Output{}, tool.Errorf(tool.Execution, "the server said %s", spelled)
				}
				return tool.Text("the key is " + spelled), nil
			}}
			s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Output: invoke.ResultView{Secrets: secrets}})
			var warned bool
			var o invoke.Outcome
			for ev, err := range s.Do(t.Context(), []llm.Call{call("a", "f", `{}`)}) {
				if err != nil {
					t.Fatal(err)
				}
				switch ev := ev.(type) {
				case llm.Warning:
					warned = warned || ev.Code == llm.Stripped && ev.Feature == "f"
				case invoke.Outcome:
					o = ev
				}
			}
			shown := fmt.Sprintf("%+v %v", o.Result, o.Error)
			if !warned || !strings.Contains(shown, "[stripped:value]") || strings.Contains(shown, spelled) {
				t.Errorf("%s, fails %v: warned %v: %s", name, fails, warned, shown)
			}
		}
	}
}

// What a tool returns beyond all measure is not kept, and no word of it is cut
// in two.
func TestHeldOutputLimit(t *testing.T) {
	huge := strings.Repeat("word ", 20<<20)
	for _, fails := range []bool{false, true} {
		f := tool.Tool{Name: "f", Effects: tool.ReadOnly, Call: func(context.Context, json.RawMessage) (tool.Output, error) {
			if fails {
				return tool.Output{}, errors.New(huge)
			}
			return tool.Output{Parts: []llm.Part{llm.Text{Text: huge[:60<<20]}, llm.Text{Text: huge}}}, nil
		}}
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Output: invoke.ResultView{NoSpill: true}})
		o := outcomes(t, s, call("a", "f", `{}`))[0]
		kept := o.Receipt.OutputBytes - o.Receipt.OmittedBytes
		whole := !fails && o.Receipt.OutputBytes < 160<<20 // the receipt has the size of what the tool returned
		if text := o.Result.Text(); kept > 65<<20 || whole || len(text) > 52_000 || !strings.Contains(text, "more than is kept]") {
			t.Errorf("%d bytes held, %d shown: %s", o.Receipt.OutputBytes, len(text), text[max(0, len(text)-300):])
		}
	}
}

// A text that is too long stays so, even if most of it is a secret.
func TestLongSecret(t *testing.T) {
	text := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIE\n", 1000) + "-----END PRIVATE KEY-----\n"
	o := show(t, invoke.ResultView{MaxChars: 1000, NoSpill: true}, text)
	if got := o.Result.Text(); !o.Receipt.Truncated || !strings.HasPrefix(got, "[stripped:private-key]") || len(got) > 1000 {
		t.Errorf("%d bytes: %.80q", len(got), got)
	}
}

// Whatever is wrong with the folder, the call goes on.
func TestSpillFolders(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	tmp := t.TempDir()
	if err := os.Mkdir(filepath.Join(tmp, "elsewhere"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(tmp, "elsewhere"), filepath.Join(tmp, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(filepath.Join(tmp, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tmp, "open"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, spilled := range map[string]bool{"link": false, "file": false, "file/below": false, "open": true, "elsewhere": true} {
		attacks++
		o := show(t, invoke.ResultView{MaxChars: 1000, SpillDir: filepath.Join(tmp, name)}, strings.Repeat("x", 2000))
		if (o.Receipt.Spill != "") != spilled || o.Error != nil || !strings.Contains(o.Result.Text(), "2000 chars -> 1000 kept") {
			t.Errorf("%s: spilled to %q, error %v", name, o.Receipt.Spill, o.Error)
		}
	}
	if info, err := os.Stat(filepath.Join(tmp, "open")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder stayed open to others: %v %v", info.Mode(), err)
	}
}

func TestBinaryOutput(t *testing.T) {
	for text, want := range map[string]string{
		"a\x00b\x1b[31mc\x7f": "ab[31mc",
		"tab\tline\r\nend":    "tab\tline\r\nend",
		"\xff\xfeok":          "\uFFFDok",
	} {
		if got := show(t, invoke.ResultView{}, text).Result.Text(); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestMediaAndTextTogether(t *testing.T) {
	picture := llm.Media{Kind: llm.Image, Data: []byte("png")}
	f := tool.Tool{Name: "f", Effects: tool.ReadOnly, Call: func(context.Context, json.RawMessage) (tool.Output, error) {
		return tool.Output{Parts: []llm.Part{picture, llm.Text{Text: "a"}, llm.Text{Text: "b"}}}, nil
	}}
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f)})
	r := outcomes(t, s, call("a", "f", ``))[0].Result
	if len(r.Parts) != 2 || r.Text() != "a\nb" {
		t.Errorf("%v", r.Parts)
	}
}

// However long the text and wherever it is cut: the result is text, has no more
// characters than allowed, and its head and tail are those of the whole.
func FuzzCut(f *testing.F) {
	f.Add("é", 1500, 3)
	f.Add("a\xffz", 900, 0)
	f.Fuzz(func(t *testing.T, piece string, times, tail int) {
		if times < 0 || times > 3000 || len(piece) > 50 || tail < 0 || tail > 1000 {
			t.Skip()
		}
		whole := strings.Repeat(piece, times)
		o := show(t, invoke.ResultView{MaxChars: 1000, Tail: tail, NoSpill: true}, whole)
		text := o.Result.Text()
		if !utf8.ValidString(text) {
			t.Errorf("%q is not UTF-8", text)
		}
		if n := utf8.RuneCountInString(text); n > 1000+200 {
			t.Errorf("%d characters", n)
		}
		if o.Receipt.Truncated && !strings.Contains(text, "1000 kept") {
			t.Errorf("cut without a word: %q", text)
		}
	})
}

// What a tool returns is recorded with its receipt, so it has bounds, and what
// cannot be recorded at all does not hide that the tool ran.
func TestUnrecordableOutput(t *testing.T) {
	for why, c := range map[string]struct {
		parts  []llm.Part
		failed bool
		says   string
	}{
		"too large": {[]llm.Part{llm.Media{Kind: llm.Image, Data: make([]byte, 20<<20)}, llm.Text{Text: "a"}}, false, "[left out: image of 20971520 bytes]\na"},
		"no JSON":   {[]llm.Part{llm.Media{Kind: llm.Image, Extra: llm.Extra{"x": {"y": json.RawMessage("{")}}}}, true, "it ran"},
	} {
		f := tool.Tool{Name: "f", Origin: tool.Program, Call: func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Output{Parts: c.parts}, nil }}
		s, store := session(t, &invoke.Runner{Tools: tool.MustSet(f)})
		o := outcomes(t, s, call("a", "f", ``))[0]
		if (o.Error != nil) != c.failed || !strings.Contains(o.Result.Text(), c.says) || len(statuses(t, store)) != 2 {
			t.Errorf("%s: %v %s %q", why, o.Error, o.Result.Text(), statuses(t, store))
		}
	}
}

// TestHashIsOfTheWholeOutput: the output hash of a receipt is that of everything the tool returned, however much of it the
// model is shown.
func TestHashIsOfTheWholeOutput(t *testing.T) {
	text := strings.Repeat("word ", 2000)
	o := show(t, invoke.ResultView{MaxChars: 1000, NoSpill: true}, text)
	whole, err := journal.OutputHash([]llm.Part{llm.Text{Text: text}}, "")
	if err != nil || !o.Receipt.Truncated || o.Receipt.OutputHash != whole {
		t.Errorf("%s, want %s, %v", o.Receipt.OutputHash, whole, err)
	}
	if other := show(t, invoke.ResultView{MaxChars: 1000, NoSpill: true}, text[:5000]+"x"+text[5000:]); other.Receipt.OutputHash == whole {
		t.Error("another output has the same hash")
	}
}
