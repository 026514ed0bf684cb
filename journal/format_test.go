package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// The words of a conversation that the tests look for.
const (
	saidFirst  = "Let me look at the weather for you."
	resultText = "sunny, with a light breeze from the sea"
	saidLast   = "It is sunny in Rome, as it nearly always is."
)

// talk records a conversation with a reading call, a changing call and an answer, as
// an agent does.
func talk(t *testing.T, store journal.Store, run string, secrets bool) {
	t.Helper()
	ctx := t.Context()
	r := open(t, store, run)
	key := ""
	if secrets {
		key = " sk-ant-api03-" + strings.Repeat("aB3", 12)
	}
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	req := &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.User("Weather in Rome?" + key)}}
	check(r.Write(ctx, "agent.begin", map[string]any{"messages": req.Messages}))
	calls := []llm.Call{{ID: "a", Name: "look", Args: json.RawMessage(`{"ids":["x"],"city":"Rome"}`)}, {ID: "b", Name: "note", Args: json.RawMessage(`{"text":"Rome` + key + `"}`)}}
	first := llm.Assistant(llm.Text{Text: saidFirst + key}, calls[0], calls[1])
	last := llm.Assistant(llm.Text{Text: saidLast + key})
	asked, err := r.Request(ctx, req)
	check(asked, err)
	check(r.Answer(ctx, asked, &llm.Response{Message: first, Finish: llm.Finish{Reason: llm.ToolCalls}}, 0, nil))
	check(r.Write(ctx, "agent.turn", map[string]any{"turn": 1, "message": first}))
	var results []llm.Result
	for i, c := range calls {
		if i == 1 {
			check(r.Intent(ctx, journal.Intent{Call: c.ID, Tool: c.Name, Args: c.Args}))
		}
		result := llm.Result{CallID: c.ID, Name: c.Name, Parts: []llm.Part{llm.Text{Text: fmt.Sprintf("%s %d%s", resultText, i, key)}}}
		results = append(results, result)
		check(r.Receipt(ctx, journal.Receipt{Call: c.ID, Tool: c.Name, Args: c.Args, Status: journal.OK, Result: &result}))
	}
	req = req.Clone()
	req.Messages = append(req.Messages, first, llm.Results(results...))
	asked, err = r.Request(ctx, req)
	check(asked, err)
	check(r.Answer(ctx, asked, &llm.Response{Message: last, Finish: llm.Finish{Reason: llm.Stop}}, 0, nil))
	check(r.Write(ctx, "agent.turn", map[string]any{"turn": 2, "message": last}))
	check(r.Write(ctx, journal.KindEnd, journal.End{Status: "success", Summary: saidLast + key}))
}

// began gives a store a run of some format, with one entry.
func began(t *testing.T, run string, format int) *journal.Memory {
	t.Helper()
	store := new(journal.Memory)
	if _, err := store.Append(t.Context(), journal.Entry{Run: run, Kind: "note", Body: json.RawMessage(`{}`), At: tick()(), Format: format}); err != nil {
		t.Fatal(err)
	}
	return store
}

func lines(t *testing.T, entries iter.Seq2[journal.Entry, error]) [][]byte {
	t.Helper()
	var out [][]byte
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, append(line, '\n'))
	}
	return out
}

func TestEachValueIsWrittenOnce(t *testing.T) {
	store := new(journal.Memory)
	talk(t, store, "r", false)
	all := string(bytes.Join(lines(t, store.Read(t.Context(), "r", 0)), nil))
	for _, text := range []string{saidFirst, resultText + " 0", resultText + " 1", saidLast, "Weather in Rome?", `"ids":["x"]`, `"text":"Rome"`} {
		if n := strings.Count(all, text); n != 1 {
			t.Errorf("%q is on record %d times:\n%s", text, n, all)
		}
	}
	if _, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil {
		t.Error(err)
	}
}

// What a reader gets does not depend on the format, also where secrets were
// stripped.
func TestFormatsAreEquivalent(t *testing.T) {
	for _, secrets := range []bool{false, true} {
		var bodies [2][]string
		for i, format := range []int{1, 2} {
			store := began(t, "r", format)
			talk(t, store, "r", secrets)
			report, err := journal.Verify(store.Read(t.Context(), "r", 0))
			if err != nil || report.Format != format || (report.Stripped > 0) != secrets {
				t.Errorf("format %d: %+v, %v", format, report, err)
			}
			for e, err := range journal.Whole(journal.Whole(store.Read(t.Context(), "r", 0))) { // twice is as good as once
				if err != nil {
					t.Fatal(err)
				}
				bodies[i] = append(bodies[i], string(e.Kind)+" "+string(e.Body))
			}
			p := replayOf(t, store)
			if _, err := p.Call(t.Context(), llm.Call{ID: "a", Name: "look", Args: json.RawMessage(`{"city":"Rome","ids":["x"]}`)}); err != nil {
				t.Errorf("format %d: %v", format, err)
			}
		}
		if diff := cmp.Diff(bodies[0], bodies[1]); diff != "" {
			t.Errorf("(-format 1 +format 2):\n%s", diff)
		}
		if strings.Contains(strings.Join(bodies[1], ""), "aB3aB3") {
			t.Error("a secret is on record")
		}
	}
}

// A run in format 1 goes on in format 1, entry by entry as before.
func TestOldRunKeepsItsFormat(t *testing.T) {
	store := began(t, "r", 1)
	talk(t, store, "r", false)
	for _, line := range lines(t, store.Read(t.Context(), "r", 0)) {
		if !bytes.HasSuffix(line, []byte(`,"v":1}`+"\n")) || bytes.Contains(line, []byte(`"of":"sha256`)) || bytes.Contains(line, []byte(`"messages":["`)) {
			t.Errorf("%s", line)
		}
	}
}

// remade is a run whose chain was made anew after change: its hashes are right.
func remade(t *testing.T, store journal.Store, change func(journal.Entry) *journal.Entry) *journal.Memory {
	t.Helper()
	out := new(journal.Memory)
	for e, err := range store.Read(t.Context(), "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if c := change(e); c != nil {
			if _, err := out.Append(t.Context(), *c); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// Whoever makes the chain anew without a value, or with another one, is found out by
// the entries that refer to it.
func TestDanglingReferences(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	store := new(journal.Memory)
	talk(t, store, "r", false)
	for name, change := range map[string]func(journal.Entry) *journal.Entry{
		"an answer is gone": func(e journal.Entry) *journal.Entry {
			if e.Kind == journal.KindAnswer && bytes.Contains(e.Body, []byte(saidFirst)) {
				return nil
			}
			return &e
		},
		"an answer says something else": func(e journal.Entry) *journal.Entry {
			e.Body = bytes.ReplaceAll(e.Body, []byte(saidLast), []byte("It rains."))
			return &e
		},
		"a result is another": func(e journal.Entry) *journal.Entry {
			e.Body = bytes.ReplaceAll(e.Body, []byte(resultText+" 1"), []byte("rain"))
			return &e
		},
		"arguments are others": func(e journal.Entry) *journal.Entry {
			e.Body = bytes.ReplaceAll(e.Body, []byte(`"text":"Rome"`), []byte(`"text":"Oslo"`))
			return &e
		},
		"a message was another": func(e journal.Entry) *journal.Entry {
			e.Body = bytes.ReplaceAll(e.Body, []byte(`Weather in Rome?`), []byte(`Weather in Oslo?`))
			return &e
		},
	} {
		attacks++
		forged := remade(t, store, change)
		report, err := journal.Verify(forged.Read(t.Context(), "r", 0))
		var broken *journal.BrokenError
		if !errors.As(err, &broken) || report.Faults[0].Kind != "dangling" || report.Faults[0].Seq == 0 {
			t.Errorf("%s: %+v, %v", name, report, err)
			continue
		}
		var missing *journal.ReferenceError
		var last error
		for _, err := range journal.Whole(forged.Read(t.Context(), "r", 0)) {
			if last = err; err != nil {
				break
			}
		}
		if !errors.As(last, &missing) || missing.Seq != report.Faults[0].Seq {
			t.Errorf("%s: a reader gets %v", name, last)
		}
		if _, err := journal.Open(t.Context(), forged, "r"); !errors.As(err, &broken) {
			t.Errorf("%s: it goes on with %v", name, err)
		}
		if _, err := journal.NewReplay(forged.Read(t.Context(), "r", 0)); !errors.As(err, &missing) {
			t.Errorf("%s: it is replayed with %v", name, err)
		}
	}
}

// What looks like a reference, and stands where none can, means itself.
func TestOnlyReferencesAreReferences(t *testing.T) {
	store := new(journal.Memory)
	r := open(t, store, "r")
	h := string(journal.ParamsHash(nil))
	for i, args := range []string{`"` + h + `"`, `{"ids":["a"],"of":"` + h + `"}`, `{"message":"` + h + `"}`, `["` + h + `"]`} {
		call := fmt.Sprintf("c%d", i)
		if _, err := r.Intent(t.Context(), journal.Intent{Call: call, Tool: "f", Args: json.RawMessage(args)}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Receipt(t.Context(), journal.Receipt{Call: call, Tool: "f", Args: json.RawMessage(args), Status: journal.OK,
			Result: &llm.Result{CallID: call, Parts: []llm.Part{llm.Text{Text: h}}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Write(t.Context(), "note", json.RawMessage(`{"message":`+args+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Write(t.Context(), "agent.note", map[string]any{"message": llm.User(h)}); err != nil {
		t.Fatal(err)
	}
	if report, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil {
		t.Errorf("%+v, %v", report, err)
	}
	n := 0
	for e, err := range journal.Whole(store.Read(t.Context(), "r", 0)) {
		var rec journal.Receipt
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == journal.KindReceipt {
			if err := e.Decode(&rec); err != nil || journal.ParamsHash(rec.Args) != rec.ParamsHash || rec.Result.Text() != h {
				t.Errorf("%s, %v", e.Body, err)
			}
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d receipts", n)
	}
}

// A hash that is not that of the arguments, whoever claims it, takes nothing off the
// record.
func TestWrongHashIsDangling(t *testing.T) {
	store := new(journal.Memory)
	r := open(t, store, "r")
	wrong := journal.ParamsHash(json.RawMessage(`{"other":1}`))
	for _, err := range []error{
		second(r.Intent(t.Context(), journal.Intent{Call: "a", Tool: "f", Args: json.RawMessage(`{"x":1}`), ParamsHash: wrong})),
		second(r.Receipt(t.Context(), journal.Receipt{Call: "a", Tool: "f", Args: json.RawMessage(`{"x":1}`), ParamsHash: wrong, Status: journal.OK})),
		second(r.Intent(t.Context(), journal.Intent{Call: "b", Tool: "f", Args: json.RawMessage(`{"y":1}`)})),
		second(r.Receipt(t.Context(), journal.Receipt{Call: "b", Tool: "f", Args: json.RawMessage(`{"y":1}`), ParamsHash: wrong, Status: journal.OK})),
		second(r.Request(t.Context(), &llm.Request{})),
		second(r.Receipt(t.Context(), journal.Receipt{Call: "c", Tool: "f", Args: json.RawMessage(`{"other":1}`), Status: journal.OK})),
		second(r.Receipt(t.Context(), journal.Receipt{Call: "d", Tool: "f", Args: json.RawMessage(`{"z":1}`), ParamsHash: wrong, Status: journal.OK})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for e, err := range journal.Whole(store.Read(t.Context(), "r", 0)) {
		var b struct{ Args json.RawMessage }
		if err != nil || e.Decode(&b) != nil {
			t.Fatal(err)
		}
		got = append(got, string(b.Args))
	}
	if diff := cmp.Diff([]string{`{"x":1}`, `{"x":1}`, `{"y":1}`, `{"y":1}`, ``, `{"other":1}`, `{"z":1}`}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil {
		t.Error(err)
	}
}

// Values that the user wants stripped do not take references with them, not even if
// they are so short that they stand in hashes.
func TestReferencesNotRedacted(t *testing.T) {
	for _, values := range [][]string{{"a"}, {"sha256"}, {"Rome"}} {
		store := &journal.Memory{Secrets: &journal.Secrets{Values: values, Patterns: []*regexp.Regexp{regexp.MustCompile("[0-9a-f]{8,}")}}}
		talk(t, store, "r", true)
		if report, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil {
			t.Errorf("%q: %+v, %v", values, report, err)
		}
		for e, err := range journal.Whole(store.Read(t.Context(), "r", 0)) {
			if err != nil {
				t.Fatal(err)
			}
			var body struct {
				Messages []llm.Message
				Message  llm.Message
				Result   *llm.Result
			}
			if err := e.Decode(&body); err != nil {
				t.Errorf("%q: %v: %s", values, err, e.Body)
			}
		}
	}
}

// newerRun returns the lines of a run in a format of the future, which this version
// must not even try to understand.
func newerRun(run string) string {
	return `{"at":"2030-01-01T00:00:00Z","body":["packed"],"hash":"b3:00","kind":"start","prev":"","run":"` + run + `","seq":1,"v":9}` + "\n" +
		`{"at":77,"body":["packed"],"hash":["b3"],"run":"` + run + `","seq":2,"v":9}` + "\n"
}

func TestNewerFormatRefused(t *testing.T) {
	path := t.TempDir()
	dir := openDir(t, path)
	if err := os.WriteFile(dir.File("r"), []byte(newerRun("r")+"half a li"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := openSQL(t, "sqlite", sqliteDSN(t))
	for i, line := range strings.Split(strings.TrimSpace(newerRun("r")), "\n") {
		if err := db.Put("r", int64(i+1), line); err != nil {
			t.Fatal(err)
		}
	}
	for _, store := range []interface {
		journal.Store
		Lines(context.Context, string) iter.Seq2[[]byte, error]
	}{dir, db} {
		_, opened := journal.Open(t.Context(), store, "r")
		_, appended := store.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: json.RawMessage(`{}`)})
		_, verified := journal.Verify(store.Read(t.Context(), "r", 0))
		_, checked := journal.VerifyLines(store.Lines(t.Context(), "r"))
		_, replayed := journal.NewReplay(store.Read(t.Context(), "r", 0))
		for what, err := range map[string]error{"open": opened, "append": appended, "verify": verified, "verify lines": checked, "replay": replayed} {
			var newer *journal.FormatError
			if !errors.As(err, &newer) || newer.Format != 9 || newer.Run != "r" || err.Error() != newer.Error() || strings.Contains(err.Error(), "\n") {
				t.Errorf("%T, %s: %v", store, what, err)
			}
		}
	}
	if b, err := os.ReadFile(dir.File("r")); err != nil || string(b) != newerRun("r")+"half a li" {
		t.Errorf("the run was changed to %q, %v", b, err)
	}
}

// In one run there is one format.
func TestFormatsDoNotMix(t *testing.T) {
	store := began(t, "r", 1)
	if _, err := store.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: json.RawMessage(`{}`), Format: 2}); err == nil {
		t.Error("an entry in format 2 follows one in format 1")
	}
	talk(t, store, "r", false)
	file := lines(t, store.Read(t.Context(), "r", 0))
	e, err := journal.ParseEntry(bytes.TrimSpace(file[len(file)-1]))
	if err != nil {
		t.Fatal(err)
	}
	e.Format = 2
	other, err := e.Line()
	if err != nil {
		t.Fatal(err)
	}
	file[len(file)-1] = append(other, '\n')
	report, err := check(bytes.Join(file, nil))
	if err == nil || len(report.Faults) != 1 || !strings.Contains(report.Faults[0].Detail, "it is in format 2, the run in format 1") {
		t.Errorf("%+v, %v", report, err)
	}
}
