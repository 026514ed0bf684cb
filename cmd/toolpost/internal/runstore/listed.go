package runstore

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/journal"
)

// Listed is a run in a list.
type Listed struct {
	Run     string `json:"run"`
	State   string `json:"state"`
	Entries int64  `json:"entries"`
	Calls   int    `json:"calls"`
	Started string `json:"started,omitempty"`
	Model   string `json:"model,omitempty"`
	Task    string `json:"task,omitempty"`
	Team    string `json:"team,omitempty"`  // for a request to a gateway
	Route   string `json:"route,omitempty"` // for a request to a gateway
}

// TaskOf describes the task of a run with its team and route, as far as they are known.
func TaskOf(task, team, route string) string {
	var of []string
	for _, row := range []struct{ name, value string }{{"team", team}, {"route", route}} {
		if row.value != "" {
			of = append(of, row.name+" "+row.value)
		}
	}
	if len(of) == 0 {
		return task
	}
	return strings.Join(of, ", ") + ": " + task
}

// List reads a complete run and verifies it. Otherwise the list would report a broken run as sealed.
func List(cmd *cobra.Command, store Store, run string) Listed {
	l := Listed{Run: run}
	report, err := journal.VerifyLines(func(yield func([]byte, error) bool) {
		for line, err := range store.Lines(cmd.Context(), run) {
			if err == nil {
				l.add(line)
			}
			if !yield(line, err) {
				return
			}
		}
	})
	l.State, l.Entries = report.State(), report.Entries
	broken, newer := new(journal.BrokenError), new(journal.FormatError)
	switch {
	case errors.As(err, &newer):
		l.State = "newer"
	case err != nil && !errors.As(err, &broken):
		l.State = "unread"
	case report.Run != "" && report.Run != run:
		l.State = "broken" // the file holds another run
	}
	return l
}

func (l *Listed) add(line []byte) {
	e, err := journal.ParseEntry(cli.TrimNewline(line))
	if err != nil {
		return
	}
	if l.Started == "" {
		l.Started = e.At.Format("2006-01-02 15:04:05")
	}
	switch e.Kind {
	case journal.KindStart:
		var s journal.Start
		if e.Decode(&s) == nil {
			l.Task, l.Model, l.Team, l.Route = s.Task, s.Model, s.Team, s.Route
		}
	case journal.KindReceipt, journal.KindRefusal:
		l.Calls++
	}
}
