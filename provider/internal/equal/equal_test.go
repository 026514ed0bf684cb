package equal

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// Each comparison is written by hand. Every field of every type has to count, also one that is added later.
func TestEveryFieldCounts(t *testing.T) {
	event := func(a, b any) bool { return Events(a.(llm.Event), b.(llm.Event)) }
	part := func(a, b any) bool { return parts(a.(llm.Part), b.(llm.Part)) }
	cases := []struct {
		zero any
		same func(a, b any) bool
	}{
		{llm.TextDelta{}, event}, {llm.ThinkingDelta{}, event}, {llm.CallStart{}, event}, {llm.CallDelta{}, event},
		{llm.Call{}, event}, {llm.Start{}, event}, {llm.Finish{}, event}, {llm.Warning{}, event},
		{llm.Text{}, part}, {llm.Thinking{}, part}, {llm.Media{}, part}, {llm.Call{}, part}, {llm.Result{}, part},
		{llm.Message{}, func(a, b any) bool { return messages(a.(llm.Message), b.(llm.Message)) }},
		{llm.ToolDef{}, func(a, b any) bool { return tools(a.(llm.ToolDef), b.(llm.ToolDef)) }},
		{llm.Request{}, func(a, b any) bool {
			planned, said := a.(llm.Request), b.(llm.Request)
			return Requests(&planned, &said)
		}},
	}
	for _, c := range cases {
		typ := reflect.TypeOf(c.zero)
		if !c.same(c.zero, c.zero) {
			t.Errorf("%v: nothing is not the same as nothing", typ)
		}
		for name, other := range changes(t, typ) {
			if name == "Request.Model" { // the client's word for the model
				continue
			}
			if it := other(); !c.same(it, it) {
				t.Errorf("%v: not the same as itself with %s", typ, name)
			}
			if c.same(c.zero, other()) || c.same(other(), c.zero) {
				t.Errorf("%v: the same with another %s", typ, name)
			}
		}
	}
}

// changes returns, by the name of a field, values of a type that differ from its zero value in that field.
func changes(t *testing.T, typ reflect.Type) map[string]func() any {
	out := map[string]func() any{}
	var walk func(name string, index []int, field reflect.Type)
	walk = func(name string, index []int, field reflect.Type) {
		if field.Kind() == reflect.Struct && field != reflect.TypeFor[time.Time]() {
			for i := range field.NumField() {
				walk(name+"."+field.Field(i).Name, append(index[:len(index):len(index)], i), field.Field(i).Type)
			}
			return
		}
		out[name] = func() any {
			v := reflect.New(typ).Elem()
			v.FieldByIndex(index).Set(something(t, field))
			return v.Interface()
		}
	}
	walk(typ.Name(), nil, typ)
	return out
}

// something is a value of a type that is not its zero value.
func something(t *testing.T, typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Interface:
		if typ == reflect.TypeFor[llm.Part]() {
			v.Set(reflect.ValueOf(llm.Text{Text: "x"}))
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Slice:
		if typ == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"x":1}`))
			break
		}
		v.Set(reflect.Append(v, something(t, typ.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(something(t, typ.Key()), something(t, typ.Elem()))
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(something(t, typ.Elem()))
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			break
		}
		for i := range typ.NumField() {
			if typ.Field(i).IsExported() {
				v.Field(i).Set(something(t, typ.Field(i).Type))
				break
			}
		}
	default:
		t.Fatalf("no value of %v", typ)
	}
	return v
}

// What a client may say in two ways is the same.
func TestEqualTools(t *testing.T) {
	no, yes := false, true
	spaced := llm.ToolDef{Name: "f", Schema: json.RawMessage(`{ "type": "object" }`), Strict: &no}
	if planned := (llm.ToolDef{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}); !tools(planned, spaced) {
		t.Error("white space, or a strictness that is not asked for, makes another tool")
	}
	if tools(llm.ToolDef{Strict: &no}, llm.ToolDef{}) || tools(llm.ToolDef{}, llm.ToolDef{Strict: &yes}) || tools(llm.ToolDef{Strict: &no}, llm.ToolDef{Strict: &yes}) {
		t.Error("another strictness is the same tool")
	}
}
