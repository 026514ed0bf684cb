package lexicon

import "testing"

// Sets of rows behave like sets, with rows of the first words and beyond.
func TestRowSet(t *testing.T) {
	var all RowSet
	rows := []int{0, 1, 63, 64, 127, 128, 200, 300}
	for _, i := range rows {
		all = all.Or(oneRow(i))
	}
	for k, i := range rows {
		one := oneRow(i)
		if one.Empty() || !one.Within(all) || !one.Meets(all) || one.First() != i || all.And(one).First() != i {
			t.Errorf("row %d is no row of the set", i)
		}
		if k > 0 && all.Next(rows[k-1]+1) != i {
			t.Errorf("the row after %d is %d, want %d", rows[k-1], all.Next(rows[k-1]+1), i)
		}
		if other := oneRow(i + 1000); other.Meets(all) || other.Within(all) || !all.And(other).Empty() {
			t.Errorf("row %d is in the set", i+1000)
		}
	}
	if !(RowSet{}).Within(all) || (RowSet{}).Only(all) || all.Next(301) != -1 {
		t.Error("the empty set is none")
	}
}

func TestTree(t *testing.T) {
	for text, want := range map[string]string{"<tool_call>": "<tool_call>", "<｜tool▁calls▁begin｜>": "<|tool_calls_begin|>", "<tool_callx>": ""} {
		got := ""
		if m := builtin.Tree.Find(text); m != nil {
			got = m.Text
		}
		if got != want {
			t.Errorf("the marker %q is %q, want %q", text, got, want)
		}
	}
	if m := builtin.Tree.Find("<tool_call>"); !m.Is(Opens) || m.In(Opens).Empty() || m.Is(Closes) {
		t.Error("<tool_call> does not only begin calls")
	}
}
