package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// begunIn returns a store with a run of one entry, in a format that decides in which
// one the run goes on.
func begunIn(t *testing.T, format int, run string) *journal.Memory {
	t.Helper()
	store := new(journal.Memory)
	if _, err := store.Append(t.Context(), journal.Entry{Run: run, Kind: "note", Body: json.RawMessage(`{}`), At: ticking()(), Format: format}); err != nil {
		t.Fatal(err)
	}
	return store
}

// bodiesOf returns what a reader gets of a run, without the times that are measured.
func bodiesOf(t *testing.T, store journal.Store, run string) []string {
	t.Helper()
	measured := regexp.MustCompile(`"latency_ms":\d+`)
	var out []string
	for _, e := range verified(t, store, run) {
		body := measured.ReplaceAllString(string(e.Body), `"latency_ms":0`)
		if e.Kind == journal.KindSeal { // its head is another one
			body = ""
		}
		out = append(out, string(e.Kind)+" "+body)
	}
	return out
}

// TestRecordsAreTheSameInEveryFormat plays every scene in both formats: readers get
// the same, and the replay goes as the run went.
func TestRecordsAreTheSameInEveryFormat(t *testing.T) {
	for _, s := range scenes {
		if s.name == "ids" { // two calls side by side have no order
			continue
		}
		old, now := begunIn(t, 1, s.name), begunIn(t, 2, s.name)
		s.play(t, old, s.name)
		s.play(t, now, s.name)
		if diff := cmp.Diff(bodiesOf(t, old, s.name), bodiesOf(t, now, s.name)); diff != "" {
			t.Errorf("%s (-format 1 +format 2):\n%s", s.name, diff)
		}
		if recordStates[s.name].state == "sealed" && s.name != "session" {
			if err := agent.Replay(t.Context(), now, s.name); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
}

// TestOldRecordsGoOnInTheirFormat: a resumed run has one format from its first line to
// its last.
func TestOldRecordsGoOnInTheirFormat(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, dir *journal.Dir, original string) {
		for run, want := range recordsThatGoOn {
			was, err := os.ReadFile(filepath.Join(original, run+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			resumeRecord(t, dir, run, want)
			is, err := os.ReadFile(dir.File(run))
			if err != nil {
				t.Fatal(err)
			}
			version := was[bytes.LastIndex(was[:bytes.IndexByte(was, '\n')], []byte(`"v":`)):bytes.IndexByte(was, '\n')]
			whole := bytes.LastIndexByte(was, '\n') + 1 // a torn line is cut off
			if !bytes.HasPrefix(is, was[:whole]) || bytes.Count(is, append(version, '\n')) != bytes.Count(is, []byte{'\n'}) {
				t.Errorf("%s was changed, or has gone on in another format than %s:\n%s", run, version, is[whole:])
			}
		}
	})
}

// words is a text of about n bytes that is found nowhere else.
func words(i, n int) string {
	return strings.Repeat(fmt.Sprintf("word %d of many, ", i), n/16)
}

// recordedTurns records a run of so many turns, with a result of 1 kB and an answer of
// 500 bytes in each, and returns its size.
func recordedTurns(t *testing.T, format, turns, tokens int) int {
	t.Helper()
	var lines []any
	for i := range turns - 1 {
		lines = append(lines, []llm.Part{llm.Text{Text: words(i, 500)}, call(fmt.Sprintf("c%d", i), "read", fmt.Sprintf(`{"n":%d,"why":%q}`, i, words(i, 200)))})
	}
	read := tool.Func("read", "Reads.", func(_ context.Context, in map[string]any) (string, error) {
		return words(int(in["n"].(float64)), 1000), nil
	})
	read.Effects = tool.ReadOnly
	store := begunIn(t, format, "r")
	a := recordedAgent(store, "r", says(append(lines, "Done.")...))
	a.MaxTurns, a.Context, a.Tools = turns+1, tokens, &invoke.Runner{Tools: tool.MustSet(read)}
	if l := run(t, a, "Read it all"); l.err != nil || l.done.Turns != turns {
		t.Fatalf("%d turns, %v", l.done.Turns, l.err)
	}
	size := 0
	for e, err := range store.Read(t.Context(), "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		size += len(line) + 1
	}
	return size
}

// TestARecordGrowsWithItsTurns: twice the turns take twice the bytes, and no more than
// what was said, once, with what surrounds it.
func TestARecordGrowsWithItsTurns(t *testing.T) {
	t.Parallel()
	turns := sample(100, 200)
	short, long := recordedTurns(t, 2, turns/2, 0), recordedTurns(t, 2, turns, 0)
	before := recordedTurns(t, 1, turns, 0)
	t.Logf("%d turns: %d bytes in format 1, %d in format 2 (%.0f %%); half of them: %d", turns, before, long, 100*float64(long)/float64(before), short)
	if ratio := float64(long) / float64(short); ratio > 2.05 {
		t.Errorf("twice the turns take %.2f times the bytes", ratio)
	}
	const said, around = 1000 + 500 + 200, 3000 // of a turn, in bytes
	if most := turns * (said + around); long > most {
		t.Errorf("%d turns take %d bytes, more than %d", turns, long, most)
	}
	if long > before*7/10 {
		t.Errorf("%d bytes were %d when everything was repeated", long, before)
	}
}

// TestARecordOfAShortenedConversation: results that are cut later, when the conversation
// outgrows the model, are on record once per cut; nothing else is written again.
func TestARecordOfAShortenedConversation(t *testing.T) {
	t.Parallel()
	turns, tokens := sample(65, 130), sample(20_000, 40_000)           // the first cut comes after about 47 turns, or 94
	const said, around, cuts = 1000 + 500 + 200, 2700, 2 * (400 + 250) // of a turn, in bytes
	if size, most := recordedTurns(t, 2, turns, tokens), turns*(said+around+cuts); size > most {
		t.Errorf("%d turns take %d bytes, more than %d", turns, size, most)
	}
}
