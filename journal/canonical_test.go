package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// The vectors others publish for the same rules. A change here is a change of
// every hash ever written: it needs a decision record, not an edit.
func TestHashVectors(t *testing.T) {
	for _, v := range []struct{ in, want string }{
		{`{"b":2,"a":1}`, "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"},
		{`{"topic":"runtime.codex_worker_summaries","doc_key":"org_123:worker_456","payload":{"status":"running","seq":99,"metadata":{"region":"us-central1","flags":["a","b","c"]}}}`,
			"bf367b161129295cb3fab72a7eae88f8602207d4fc8fcf4510c4d5fa0bcb5317"},
		{`{"active":true,"deleted":null,"retry_after_ms":1500,"tags":["z","a"]}`, "b5ef670c5e47639c44a0ed4ba6901df6b0e7f59e41e4102bb26e76fb1f4af946"},
		{`{"message":"line\\nbreak","path":"docs/sync/thoughts.md","quote":"\"khala\""}`, "5da82c8c6bf15cceb33ae20ba89c0adb33d030c5d65824d138936fae7a1ab3d8"},
		{`{"events":[{"topic":"runtime.run_summaries","watermark":2},{"topic":"runtime.run_summaries","watermark":3}]}`, "700bae9e6bc89b1810ee4cc08c459cc2a02ccb13fcde1949b10adfa031e8212d"},
		{`{}`, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
		{`[]`, "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},
		{`null`, "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"},
		{`{"path":"src/auth.rs"}`, "2432e75fcdc5b53e0c60fc6d1514682a9eb0c5b5fd4faefba9f8d6fcfef7d5fd"},
		{`{"a\"b":1}`, "bf7eee3c228f8b7fdfc1e47adab6d55a4f5d190e983dce87207152e5bf5e9667"},
		{"{\"b\":[1,2,{\"z\":null,\"a\":true}],\"a\":\"\u00e9\u2028<&>\"}", "05026f60dd67608c292e339a596c589bbc3f855b6cbf872947941705cb1ad462"},
		{`{"b":[1,2,{"z":null,"a":true}],"a":"\u00e9\u2028\u003c\u0026\u003e"}`, "05026f60dd67608c292e339a596c589bbc3f855b6cbf872947941705cb1ad462"},
	} {
		got, err := journal.HashJSON([]byte(v.in))
		if err != nil || got != journal.Hash("sha256:"+v.want) {
			t.Errorf("%s: %s, %v; want %s", v.in, got, err, v.want)
		}
		if !got.Valid() {
			t.Errorf("%s is not a valid hash", got)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{
		{"white space goes", " { \"a\" : [ 1 , 2 ] }\n", `{"a":[1,2]}`},
		{"keys by UTF-16 unit: an astral key before U+FB33", `{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"1":4,"\r":5}`, "{\"\\r\":5,\"1\":4,\"\u20ac\":3,\"\U0001F600\":2,\"\ufb33\":1}"},
		{"an astral key after U+D7FF", `{"\ud83d\ude00":2,"\ud7ff":3}`, "{\"\ud7ff\":3,\"\U0001F600\":2}"},
		{"a prefix stands first", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"keys are ordered by what they say, not by their escapes", `{"b":1,"\u0061":2,"\n":3}`, `{"\n":3,"a":2,"b":1}`},
		{"nested objects are ordered too", `{"z":{"b":[{"d":1,"c":2}],"a":0},"y":1}`, `{"y":1,"z":{"a":0,"b":[{"c":2,"d":1}]}}`},
		{"escapes are as short as can be", `"\u0041\/\u000a\u001f\u007f\""`, "\"A/\\n\\u001f\u007f\\\"\""},
		{"line separators stay raw", `"\u2028\u2029"`, "\"\u2028\u2029\""},
		{"integers keep their digits", `[12345678901234567890, -98765432109876543210987654321, 9007199254740993]`, `[12345678901234567890,-98765432109876543210987654321,9007199254740993]`},
		{"minus zero is zero", `[-0, -0.0, 0e5]`, `[0,0,0]`},
		{"other numbers are ECMAScript's", `[1.0, 1e2, 333333333.33333329, 4.50, 2e-3, 1E-27, 1e21, 1e20, 1e-6, 1e-7, 5e-324, 1.7976931348623157e308, 1e-400]`,
			`[1,100,333333333.3333333,4.5,0.002,1e-27,1e+21,100000000000000000000,0.000001,1e-7,5e-324,1.7976931348623157e+308,0]`},
	} {
		got, err := journal.Canonical([]byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s\n got %s, %v\nwant %s", c.why, c.in, got, err, c.want)
		}
	}
}

func TestNoCanonicalForm(t *testing.T) {
	for _, c := range []struct{ why, in string }{
		{"two equal keys", `{"a":1,"b":2,"a":1}`},
		{"two keys equal after unescaping", `{"a":1,"\u0061":2}`},
		{"two equal keys deep down", `[{"x":{"a":1,"a":1}}]`},
		{"NaN", `NaN`}, {"infinity", `[Infinity]`}, {"a float beyond float64", `1e400`}, {"a decimal beyond float64", `-1.5e999`},
		{"a lone surrogate", `"\ud800"`}, {"a surrogate pair the wrong way round", `"\ude00\ud83d"`}, {"a surrogate and no escape", `"\ud83dxxxxxx"`},
		{"bytes that are not UTF-8", "\"\xff\""}, {"bytes that are not UTF-8 in a key with an escape", "{\"\\n\xff\":1}"},
		{"a raw control character", "\"a\nb\""}, {"an unknown escape", `"\x41"`}, {"half an escape", `"\u00g0"`}, {"a cut escape", `"\u00`},
		{"a leading zero", `01`}, {"a bare minus", `-`}, {"a bare point", `1.`}, {"a point first", `.5`}, {"no exponent", `1e`}, {"a plus", `+1`},
		{"nothing", ``}, {"white space", ` `}, {"two values", `1 2`}, {"a comma too many", `[1,]`}, {"a comma too many in an object", `{"a":1,}`}, {"an open string", `"a`},
		{"an open array", `[1`}, {"an open object", `{"a":1`}, {"no colon", `{"a" 1}`}, {"no key", `{1:2}`}, {"a long word", `nullx`},
		{"too deep", strings.Repeat("[", 600) + strings.Repeat("]", 600)},
	} {
		got, err := journal.Canonical([]byte(c.in))
		var bad *journal.CanonicalError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %.40s has the canonical form %.40s, %v", c.why, c.in, got, err)
		}
	}
}

// An encoder that visits floats at random must agree with the standard
// library about their value and with itself about their spelling.
func TestFloatsReadBack(t *testing.T) {
	for seed := uint64(1); seed < 200_000; seed += 7 {
		bits := seed * 0x9E3779B97F4A7C15
		f := math.Float64frombits(bits)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		in := strconv.FormatFloat(f, 'e', 17, 64)
		out, err := journal.Canonical([]byte(in))
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if back, err := strconv.ParseFloat(string(out), 64); err != nil || back != f {
			t.Fatalf("%s became %s, %v", in, out, err)
		}
	}
}

func TestParamsHash(t *testing.T) {
	same := [][2]string{{`{"a":1,"b":2}`, ` {"b":2, "a":1.0}`}, {``, `{}`}, {" \n", `{}`}}
	for _, c := range same {
		if a, b := journal.ParamsHash(json.RawMessage(c[0])), journal.ParamsHash(json.RawMessage(c[1])); a != b {
			t.Errorf("%q and %q mean the same, but hash to %s and %s", c[0], c[1], a, b)
		}
	}
	broken := journal.ParamsHash(json.RawMessage(`{"a":1,"a":2}`))
	if want, _ := journal.HashJSON([]byte(`"{\"a\":1,\"a\":2}"`)); broken != want {
		t.Errorf("arguments without a canonical form hash to %s, want the hash of their text %s", broken, want)
	}
}

func TestOutputHash(t *testing.T) {
	for _, c := range []struct {
		parts   []llm.Part
		failure string
		want    string
	}{
		{[]llm.Part{llm.Text{Text: "hi <there>"}}, "", `{"content":"hi <there>","error":null,"success":true}`},
		{[]llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "b"}}, "", `{"content":"a\nb","error":null,"success":true}`},
		{nil, "no such file", `{"content":"","error":"no such file","success":false}`},
		{[]llm.Part{llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte{1}}}, "",
			`{"content":[{"type":"media","kind":"image","mime":"image/png","data":"AQ=="}],"error":null,"success":true}`},
		{[]llm.Part{llm.Text{Text: "\xff"}}, "", `{"content":{"base64":"/w=="},"error":null,"success":true}`},
	} {
		got, err := journal.OutputHash(c.parts, c.failure)
		want, _ := journal.HashJSON([]byte(c.want))
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v", c.want, got, err)
		}
	}
}

// The canonical form of a canonical form is itself, means the same to the
// standard library, and never makes one value of two.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":[1.0,-0,1e21],"a":"\u2028\ud83d\ude00"}`, `{"\ufb33":1,"\ud83d\ude00":2}`, `[[],{},"",0.1e-7,12345678901234567890]`, `{"a":1,"a":2}`, `"\u0000\n"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := journal.Canonical(in)
		if err != nil {
			return
		}
		if !json.Valid(in) || !json.Valid(once) {
			t.Fatalf("%q became %q, but one of them is not JSON", in, once)
		}
		twice, err := journal.Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q, then %q, %v", in, once, twice, err)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	in := []byte(`{"tool":"read_file","args":{"path":"src/auth.rs","limit":2000,"offset":0},"call":"call_1","step_id":"s1","at":"2026-01-02T03:04:05Z","ok":true,"score":0.25}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	var buf []byte
	for b.Loop() {
		buf, _ = journal.AppendCanonical(buf[:0], in)
	}
}
