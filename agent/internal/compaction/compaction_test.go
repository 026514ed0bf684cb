package compaction_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/agent/internal/compaction"
	"github.com/toolpost/toolpost/llm"
)

func unchanged(text string) string { return text }

// conversation returns a task and turns with a call and its result of n characters each.
func conversation(turns, n int) []llm.Message {
	msgs := []llm.Message{llm.User("the task")}
	for i := range turns {
		id := string(rune('a' + i))
		msgs = append(msgs, llm.Assistant(llm.Call{ID: id, Name: "read"}),
			llm.Results(llm.Result{CallID: id, Parts: []llm.Part{llm.Text{Text: strings.Repeat("x", n)}}}))
	}
	return msgs
}

// TestCutResultsSparesTheNewest: old results are cut, the newest two are not, and the original stays as it was.
func TestCutResultsSparesTheNewest(t *testing.T) {
	msgs := conversation(4, 5000)
	cut, report := compaction.CutResults(msgs, compaction.OldResults, 0)
	if diff := cmp.Diff(compaction.CutReport{Calls: []string{"a", "b"}, Chars: 10_000, Kept: 800}, report); diff != "" {
		t.Error(diff)
	}
	if n := len(cut.Changed(msgs)); n != 2 {
		t.Errorf("%d messages change", n)
	}
	after := cut.Apply(msgs, unchanged)
	if n := llm.EstimateMessages(after...); n >= llm.EstimateMessages(msgs...) {
		t.Errorf("%d tokens after the cut", n)
	}
	if diff := cmp.Diff(conversation(4, 5000), msgs); diff != "" {
		t.Error(diff)
	}
	if _, report := compaction.CutResults(conversation(4, 100), compaction.OldResults, 0); len(report.Calls) > 0 {
		t.Errorf("short results were cut: %v", report)
	}
}

// TestDivideKeepsTaskAndNewestTurns: the task and the newest turn stay, and a note replaces the rest.
func TestDivideKeepsTaskAndNewestTurns(t *testing.T) {
	msgs := conversation(4, 400)
	d := compaction.Divide(msgs, 0)
	if d.Task != 0 || d.Tail != len(msgs)-2 || len(d.Out) != len(msgs)-3 {
		t.Fatalf("%+v", d)
	}
	list := d.With(msgs, llm.Note("left out"), llm.Message{})
	after, err := compaction.Assemble(list, msgs)
	if err != nil || len(after) != 4 || after[1].Text() != "left out" {
		t.Fatalf("%v %v", after, err)
	}
	if diff := cmp.Diff(compaction.Pick(msgs, d.Out), compaction.LeftOut(list, msgs)); diff != "" {
		t.Error(diff)
	}
}

// TestRangesAssembleTheSame: a conversation written as parts of a known one is put together again.
func TestRangesAssembleTheSame(t *testing.T) {
	known := conversation(2, 10)
	changed := append([]llm.Message{known[0], llm.User("in between")}, known[3:]...)
	list, err := compaction.Ranges(changed, known)
	if err != nil || list == nil {
		t.Fatal(list, err)
	}
	after, err := compaction.Assemble(*list, known)
	if diff := cmp.Diff(changed, after); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if same, err := compaction.Ranges(known, known); same != nil || err != nil {
		t.Error(same, err)
	}
	if _, err := compaction.Assemble([]compaction.Range{{From: 0, To: 9}}, known); err == nil {
		t.Error("a range beyond the conversation was taken")
	}
}

// TestTrimCutsTheLongestText: the longest text of the model is cut to half, with a remark.
func TestTrimCutsTheLongestText(t *testing.T) {
	msgs := []llm.Message{llm.User("the task"), llm.Assistant(llm.Text{Text: strings.Repeat("word ", 2000)}), llm.User("and now?")}
	list, tokens := compaction.Trim(msgs, unchanged)
	after, err := compaction.Assemble(list, msgs)
	if err != nil || tokens == 0 || !strings.Contains(after[1].Text(), "[cut here:") || len(after[1].Text()) > 6000 {
		t.Errorf("%d tokens, %v: %.80q", tokens, err, after)
	}
	if list, _ := compaction.Trim(msgs[:1], unchanged); list != nil {
		t.Error("a short text was cut")
	}
}
