package write

import (
	"testing"

	"github.com/toolpost/toolpost/dialect/spec"
)

// Ids keep their form where they have it, and are otherwise made so a
// call and its result agree.
func TestIDForms(t *testing.T) {
	for _, tt := range []struct {
		form     spec.IDForm
		id       string
		place    int
		want, is string
	}{
		{spec.NameIndex, "functions.f:7", 0, "functions.f:7", "kept"},
		{spec.NameIndex, "f:7", 0, "functions.f:7", "the prefix is added"},
		{spec.NameIndex, "call_1", 2, "functions.f:2", "made from the place"},
		{spec.NameIndex, "functions.g:7", 2, "functions.f:2", "of another tool"},
		{spec.Alnum9, "abcDEF123", 0, "abcDEF123", "kept"},
		{spec.Alnum9, "", 0, "000000001", "made from the place"},
		{spec.Alnum10, "a1b2c3d4e5", 0, "a1b2c3d4e5", "kept"},
		{spec.Counter, "4", 0, "4", "kept"},
		{spec.Counter, "call_9", 1, "1", "made from the place"},
		{spec.OneBased, "call_9", 0, "1", "counted from one"},
		{spec.NoID, "call_9", 0, "", "none"},
	} {
		if got := writtenID(tt.form, tt.id, "f", tt.place); got != tt.want {
			t.Errorf("%s: id %q became %q, want %q", tt.is, tt.id, got, tt.want)
		}
	}
	a, b := writtenID(spec.Alnum9, "toolu_01", "f", 0), writtenID(spec.Alnum9, "toolu_01", "f", 5)
	if a != b || len(a) != 9 {
		t.Errorf("the id of a call depends on its place: %q, %q", a, b)
	}
}
