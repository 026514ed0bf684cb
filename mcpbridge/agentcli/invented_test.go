package agentcli_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// What a program says that it did counts only if the bridge ran it.
func TestCallsThatAProgramInvents(t *testing.T) {
	for scene, c := range map[string]struct {
		says string
		ran  []string
	}{
		"invents a result":           {says: "did not call it with these arguments"},
		"calls another city":         {says: "did not call it with these arguments", ran: []string{"Bonn"}},
		"calls another city:toolu_1": {says: "made another one under its id"},
		"result of nothing":          {says: "a call that it did not report"},
		"no introduction":            {says: "did not say which tools it has"},
		"large number":               {}, // which the tool refuses, but it is the same call
	} {
		t.Run(scene, func(t *testing.T) {
			store := new(journal.Memory)
			_, cities, done, err := run(t, scene, store)
			if !slices.Equal(cities, c.ran) {
				t.Errorf("it ran for %v", cities)
			}
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *llm.Error
			if !errors.As(err, &e) || e.Code != "outside-the-bridge" || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v", err)
			}
			for _, r := range receiptsOf(t, store, done.Run) {
				if r.ExecutedBy == journal.ByProvider && r.Status == journal.OK {
					t.Errorf("on record is %+v", r)
				}
			}
		})
	}
}

// A program without the tools that it was given says so at its start, and so does the run.
func TestAProgramThatLacksItsTools(t *testing.T) {
	got, err := words(t, model(t, "no tools"), ask("Weather?", weatherDef))
	if err != nil || !slices.Contains(got, "warning compatibility tools") {
		t.Errorf("%v %q", err, got)
	}
}
