package schema_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/toolpost/toolpost/schema"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew; read every line of the diff")

// Each archive is a schema, values, and what a model is told about each.
func TestFaults(t *testing.T) {
	files, err := filepath.Glob("testdata/faults/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c *schema.Compiled
			for i, f := range a.Files {
				switch {
				case f.Name == "schema":
					if c, err = schema.Compile(f.Data); err != nil {
						t.Fatal(err)
					}
				case strings.HasPrefix(f.Name, "value"):
					got := report(c.Validate(f.Data))
					want := &a.Files[i+1]
					if *update {
						want.Data = []byte(got)
					} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
						t.Errorf("%s: %s (-want +got):\n%s", f.Name, f.Data, diff)
					}
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func report(faults []schema.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		b.WriteString(f.Path + " | " + f.Keyword + " | " + f.Expected + " | " + f.Received + "\n\t" + f.Message + "\n")
	}
	if len(faults) == 0 {
		return "valid\n"
	}
	return b.String()
}

func TestUnreadableArguments(t *testing.T) {
	c := schema.MustCompile(nil)
	for _, text := range []string{
		`{`, `{"a":1,}`, `{"a":1,"a":1}`, `{'a':1}`, `{} {}`, `{"a":01}`, `{"a":NaN}`, `{"a":1e999999999}`, "{\"a\":\"\n\"}",
		`{"a"}`, `{"a":"\x"}`, `nul`, strings.Repeat(`{"a":`, 600) + `1` + strings.Repeat(`}`, 600), "\x00", `{"a":1}` + "\x00",
	} {
		f := c.Validate(json.RawMessage(text))
		if len(f) != 1 || f[0].Keyword != "json" || !strings.HasPrefix(f[0].Message, "This cannot be read as JSON: ") {
			t.Errorf("%.40q: got %v", text, f)
		}
	}
	if f := c.Validate(nil); f != nil {
		t.Errorf("no arguments are an empty object: %v", f)
	}
}

func TestBigNumbersAreExact(t *testing.T) {
	c := schema.MustCompile(schema.Schema(`{"type":"integer","maximum":12345678901234567890123}`))
	if f := c.Validate(json.RawMessage(`12345678901234567890123`)); f != nil {
		t.Error(f)
	}
	if f := c.Validate(json.RawMessage(`12345678901234567890124`)); len(f) != 1 || f[0].Expected != "at most 12345678901234567890123" {
		t.Error(f)
	}
}

func TestFaultLimit(t *testing.T) {
	c := schema.MustCompile(schema.Schema(`{"items":{"type":"string"}}`))
	f := c.Validate(json.RawMessage(`[` + strings.Repeat(`1,`, 999) + `1]`))
	if len(f) != 51 || f[50].Message != "There are 950 more faults." {
		t.Errorf("%d faults, the last is %v", len(f), f[len(f)-1])
	}
}

// Decoding as we do it and as encoding/json does it must give the same value.
func FuzzValidate(f *testing.F) {
	f.Add(string(orderArgs))
	f.Add(`{"a":[1,2.5e3,-0,true,null,"\u00e9\ud83d\ude00"],"b":{}}`)
	c := schema.MustCompile(orderSchema)
	f.Fuzz(func(t *testing.T, text string) {
		faults := c.Validate(json.RawMessage(text))
		unread := len(faults) == 1 && faults[0].Keyword == "json"
		if !unread && text != "" && !json.Valid([]byte(text)) {
			t.Errorf("read what is not JSON: %q", text)
		}
		if unread {
			return
		}
		for _, fault := range faults {
			if fault.Message == "" || fault.Keyword == "" {
				t.Errorf("%q: empty fault %+v", text, fault)
			}
		}
		if v, err := jsonschema.UnmarshalJSON(strings.NewReader(text)); err == nil {
			if diff := cmp.Diff(faults, c.ValidateValue(v)); diff != "" {
				t.Errorf("%q: decoded elsewhere it means something else:\n%s", text, diff)
			}
		}
	})
}

// The library alone and through this package, decoded and from text, in one
// run.
func BenchmarkValidate(b *testing.B) {
	bare, ours, value := bareAndOurs(b)
	b.Run("value/bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if bare.Validate(value) != nil {
				b.Fatal("invalid")
			}
		}
	})
	b.Run("value/ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ours.ValidateValue(value) != nil {
				b.Fatal("invalid")
			}
		}
	})
	b.Run("text/bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(orderArgs)))
			if err != nil || bare.Validate(v) != nil {
				b.Fatal("invalid")
			}
		}
	})
	b.Run("text/ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ours.Validate(orderArgs) != nil {
				b.Fatal("invalid")
			}
		}
	})
	wrong := json.RawMessage(`{"sku":"x","quantity":"3","priority":"hgih","address":{"street":1}}`)
	b.Run("text/wrong", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ours.Validate(wrong) == nil {
				b.Fatal("valid")
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		schema.MustCompile(orderSchema)
	}
}

// What is ours must cost nothing where nothing is wrong.
func TestValidInputCostsNoAllocationsOfOurs(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates too")
	}
	bare, ours, value := bareAndOurs(t)
	lib := testing.AllocsPerRun(100, func() { _ = bare.Validate(value) })
	all := testing.AllocsPerRun(100, func() { ours.ValidateValue(value) })
	if all > lib {
		t.Errorf("%v allocations, the library alone %v", all, lib)
	}
}

// bareAndOurs compiles the example with the library alone and with this
// package, and decodes its arguments.
func bareAndOurs(tb testing.TB) (*jsonschema.Schema, *schema.Compiled, any) {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(orderSchema)))
	if err != nil {
		tb.Fatal(err)
	}
	lib := jsonschema.NewCompiler()
	if err := lib.AddResource("order.json", doc); err != nil {
		tb.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(orderArgs)))
	if err != nil {
		tb.Fatal(err)
	}
	return lib.MustCompile("order.json"), schema.MustCompile(orderSchema), value
}
