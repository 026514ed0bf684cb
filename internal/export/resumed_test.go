package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/toolpost/toolpost/internal/export"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// resumed is a run whose first call was interrupted twice before it began, and was then made.
func resumed(t *testing.T, last journal.Status) *journal.Memory {
	t.Helper()
	store := new(journal.Memory)
	result := func(status journal.Status, code string) {
		t.Helper()
		r, err := journal.Open(t.Context(), store, "run-1")
		if err != nil {
			t.Fatal(err)
		}
		rec := journal.Receipt{Call: "call_1", Tool: "write_file", Args: json.RawMessage(`{"path":"a"}`), Status: status}
		text := "interrupted"
		if code == "" {
			text = "written"
			if _, err := r.Intent(t.Context(), journal.Intent{Call: rec.Call, Tool: rec.Tool, Args: rec.Args}); err != nil {
				t.Fatal(err)
			}
		} else {
			rec.Error = &journal.Failure{Code: code, Message: text}
		}
		if rec.OutputHash, err = journal.OutputHash([]llm.Part{llm.Text{Text: text}}, code); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Receipt(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		if code == "cancelled" {
			err = r.Close(t.Context())
		} else {
			_, err = r.Seal(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	result(journal.Refused, "cancelled")
	result(journal.Refused, "cancelled")
	if last == journal.OK {
		result(last, "")
	} else {
		result(last, "permission")
	}
	return store
}

// A resumed run makes an interrupted call again under the same id. Its export has every result and verifies, and no
// result can be changed, moved or removed unnoticed, even where the hashes of the files are not there or are made anew.
func TestExportOfResumedCall(t *testing.T) {
	for name, opts := range variants {
		for _, last := range []journal.Status{journal.OK, journal.Refused} {
			t.Run(fmt.Sprint(name, " ", last), func(t *testing.T) {
				opts.Producer = "another@1"
				b, err := export.Run(resumed(t, last).Read(t.Context(), "run-1", 0), opts)
				if err != nil {
					t.Fatal(err)
				}
				if r := export.Verify(b.Replay, b.Receipt); r.Err() != nil || r.Calls != 3 || len(r.Unknown) != 0 {
					t.Fatalf("%+v\n%s%s", r, b.Replay, b.Receipt)
				}
				changedResults(t, b)
			})
		}
	}
}

// changedResults changes each result in each file of an export, without its hashes of whole files.
func changedResults(t *testing.T, b *export.Bundle) {
	var receipt map[string]any
	if err := json.Unmarshal(b.Receipt, &receipt); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"replay_hash", "canonical_json_sha256", "trajectory_hash"} {
		delete(receipt, k)
	}
	check := func(replay []byte, problem bool, what string) {
		t.Helper()
		file, err := json.Marshal(receipt)
		if err != nil {
			t.Fatal(err)
		}
		if r := export.Verify(replay, file); (r.Err() != nil) != problem {
			t.Errorf("%s: %v", what, errors.Join(errors.New("problems"), r.Err()))
		}
	}
	check(b.Replay, false, "nothing changed")
	other := string(journal.ParamsHash(json.RawMessage(`{"other":1}`)))
	calls := receipt["tool_calls"].([]any)
	for i := range calls {
		call := calls[i].(map[string]any)
		for _, k := range []string{"params_hash", "output_hash", "tool"} {
			was := call[k]
			call[k] = other
			check(b.Replay, true, fmt.Sprintf("%s of call %d in the receipt", k, i+1))
			call[k] = was
		}
		replay := nthResult(b.Replay, i, other)
		check(replay, true, fmt.Sprintf("the result of call %d in the replay", i+1))
		receipt["tool_calls"] = append(append([]any{}, calls[:i]...), calls[i+1:]...)
		check(b.Replay, true, fmt.Sprintf("call %d removed from the receipt", i+1))
		receipt["tool_calls"] = calls
	}
	calls[1], calls[2] = calls[2], calls[1]
	check(b.Replay, true, "two calls exchanged in the receipt")
}

// nthResult returns a replay with another output hash in its n-th result.
func nthResult(replay []byte, n int, hash string) []byte {
	var out []byte
	for raw := range bytes.Lines(replay) {
		if bytes.Contains(raw, []byte(`"ToolResult"`)) {
			if n == 0 {
				at := bytes.Index(raw, []byte(`"output_hash":"`)) + len(`"output_hash":"`)
				raw = append(append(bytes.Clone(raw[:at]), hash...), raw[at+len(hash):]...)
			}
			n--
		}
		out = append(out, raw...)
	}
	return out
}
