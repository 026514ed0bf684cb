package journal

import (
	"bytes"
	"encoding/json"
	"iter"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/llm"
)

// fill gives every field of a struct a value, so that a field somebody adds
// later and forgets in the encoder is noticed.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":[1,"x"]}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("té\"xt\n<&>")
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Interface:
		v.Set(reflect.ValueOf(llm.Text{Text: "said"}))
	}
}

func TestEncodersAgreeWithReflection(t *testing.T) {
	var in Intent
	var rec Receipt
	fill(reflect.ValueOf(&in).Elem())
	fill(reflect.ValueOf(&rec).Elem())
	odd := rec
	odd.Reason = "not \xff UTF-8"
	plain := rec
	plain.Result = &llm.Result{CallID: "c", Name: "n", Failed: true, Parts: []llm.Part{llm.Text{Text: "\u2028 <&> \x00"}}}
	media := rec
	media.Result = &llm.Result{CallID: "c", Parts: []llm.Part{llm.Media{Kind: llm.Image, Data: []byte{1}}, llm.Text{Text: "x"}}}
	cited := &llm.Result{Parts: []llm.Part{llm.Text{Text: "x", Citations: []llm.Citation{{URL: "u"}}}}}
	for _, c := range []struct {
		name string
		v    interface {
			encode(*references, []byte) object
		}
	}{
		{"empty intent", &Intent{}},
		{"full intent", &in},
		{"empty receipt", &Receipt{}},
		{"plain receipt", &Receipt{Result: plain.Result, Reason: "r", Attempts: 2, Truncated: true}},
		{"full receipt", &rec},
		{"text that is not UTF-8", &odd},
		{"plain result", &plain},
		{"media", &media},
		{"receipt of a server's tool", &Receipt{Tool: "s__t", Server: &ToolServer{Name: "s", List: hashBytes(nil)}}},
		{"empty result", &Receipt{Result: &llm.Result{}}},
		{"cited result", &Receipt{Result: cited}},
	} {
		o := c.v.encode(nil, nil)
		if o.err != nil {
			t.Fatalf("%s: %v", c.name, o.err)
		}
		got := o.b
		slow, err := json.Marshal(c.v)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want, err := Canonical(slow)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		canonical, err := Canonical(got)
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, got)
		}
		if diff := cmp.Diff(string(want), string(canonical)); diff != "" {
			t.Errorf("%s (-reflection +encoder):\n%s", c.name, diff)
		}
		if o.loose || string(canonical) != string(got) { // what is written is trusted to be canonical
			t.Errorf("%s: loose %v, not canonical: %s", c.name, o.loose, got)
		}
	}
}

// A vendor's own JSON need not have a canonical form; the encoder must not
// claim it has.
func TestEncodersReportNonCanonicalValues(t *testing.T) {
	twice := llm.Extra{"chat": {"k": json.RawMessage(`{"a":1,"a":2}`)}}
	if o := (&Receipt{Result: &llm.Result{Extra: twice}}).encode(nil, nil); !o.loose || o.err != nil {
		t.Errorf("loose %v, %v", o.loose, o.err)
	}
}

// What the pass over the bytes finds harmless is harmless.
func FuzzSuspicious(f *testing.F) {
	key := "sk-ant-" + "a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5"
	for _, body := range []string{
		`{"password":"x"}`, `{"PASSWD":"x"}`, `["Authorization : Bearer abc"]`, `["\"api_key\" = \"'abcdefgh"]`, `["\n` + key + `"]`, `["\u001f` + key + `"]`,
		`["é` + key + `"]`, `["postgres://bob:pa\\ss@db"]`, `["x -----BEGIN RSA PRIVATE KEY-----\nMI"]`, `["to BEARER 0123456789abcdef0"]`,
		`["a12345:AKIAIOSFODNN7EXAMPLE"]`, `{"` + key + `":1}`, `["key=\tAIza` + key[7:] + `12345"]`, `["sha256:be"]`, `["\\sk-` + key[7:] + `"]`,
	} {
		f.Add([]byte(body), "open \"sesame\"")
	}
	f.Fuzz(func(t *testing.T, raw []byte, value string) {
		body, err := Canonical(raw)
		if err != nil {
			return
		}
		for _, s := range []*Secrets{nil, {Values: []string{"", value}}} {
			if _, mark := s.redactStrings(body); mark != nil && !s.mayFind(body, false) {
				t.Errorf("%s is not suspicious, but %v is found", body, mark.Rules)
			}
		}
	})
}

// A receipt of an ordinary call must not take the long way.
func TestOrdinaryReceiptsAreNotSuspicious(t *testing.T) {
	rec := Receipt{Call: "call_1", Tool: "echo", Args: json.RawMessage(`{"text":"hello"}`), ParamsHash: ParamsHash(nil), OutputHash: ParamsHash(nil), Status: OK,
		Result: &llm.Result{CallID: "call_1", Name: "echo", Parts: []llm.Part{llm.Text{Text: "See https://example.org/a:b, x = 1; a task to be done -- later"}}}}
	if o := rec.encode(nil, nil); o.suspect || secret.Suspicious(o.b) {
		t.Errorf("%s", o.b)
	}
}

// Wherever in an intent or a receipt a secret stands, its encoder suspects it.
func TestEncodersSuspectSecrets(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	const secret = "sk-ant-a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5"
	look := func(what string, o object) {
		t.Helper()
		_, mark := (*Secrets)(nil).redactStrings(o.b)
		if mark == nil || !o.suspect {
			t.Errorf("%s: found %v, suspected %v: %s", what, mark != nil, o.suspect, o.b)
		}
	}
	var in Intent
	var rec Receipt
	for v := range texts(reflect.ValueOf(&in).Elem()) {
		attacks++
		v.Set(reflect.ValueOf(secret).Convert(v.Type()))
		look("intent", in.encode(nil, nil))
		v.SetZero()
	}
	for v := range texts(reflect.ValueOf(&rec).Elem()) {
		attacks++
		v.Set(reflect.ValueOf(secret).Convert(v.Type()))
		if o := rec.encode(nil, nil); bytes.Contains(o.b, []byte(secret)) { // all but Entry
			look("receipt", o)
		}
		v.SetZero()
	}
	quoted := json.RawMessage(`{"a":"` + secret + `"}`)
	look("args", (&Intent{Args: quoted}).encode(nil, nil))
	look("args", (&Receipt{Args: quoted}).encode(nil, nil))
	look("a name", (&Receipt{Args: json.RawMessage(`{"password":"x"}`)}).encode(nil, nil))
	look("a result", (&Receipt{Result: &llm.Result{Parts: []llm.Part{llm.Text{Text: "x " + secret}}}}).encode(nil, nil))
	look("its name", (&Receipt{Result: &llm.Result{Name: secret, Parts: []llm.Part{llm.Text{}}}}).encode(nil, nil))
	look("a longer result", (&Receipt{Result: &llm.Result{Parts: []llm.Part{llm.Text{}, llm.Text{Text: secret}}}}).encode(nil, nil))
	look("an error", (&Receipt{Error: &Failure{Message: secret}}).encode(nil, nil))
	look("an approval", (&Receipt{Approval: &Approval{Reason: secret}}).encode(nil, nil))
	look("a side effect", (&Receipt{SideEffects: []SideEffect{{Path: secret}}}).encode(nil, nil))
	look("a repair", (&Receipt{Repairs: []llm.Repair{{Rule: secret}}}).encode(nil, nil))
}

// texts yields the fields of a struct that are text.
func texts(v reflect.Value) iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		for i := range v.NumField() {
			if v.Field(i).Kind() == reflect.String && !yield(v.Field(i)) {
				return
			}
		}
	}
}
