package journal

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The formats of runs. Every line of a run contains the number as "v".
const (
	// formatWhole repeats: every entry holds whole values.
	formatWhole = 1
	// formatRefs writes messages, results and arguments once. Later entries
	// refer to them by hash; see [Whole].
	formatRefs = 2

	// CurrentFormat is the format of runs that begin now.
	CurrentFormat = formatRefs
)

// FormatError says that a run was recorded by a newer version, in a format that
// this one cannot read.
type FormatError struct {
	Run    string
	Format int
}

// Error names the formats that can be read, and the remedy.
func (e *FormatError) Error() string {
	return fmt.Sprintf("journal: run %s is recorded in format %d, and this version of toolpost reads formats up to %d; read it with a newer version", e.Run, e.Format, CurrentFormat)
}

// newerLine returns a *[FormatError] if line is of a newer format, whatever else
// that may change.
func newerLine(line []byte) error {
	var j struct {
		Run string `json:"run"`
		V   int    `json:"v"`
	}
	if json.Unmarshal(line, &j) == nil && j.V > CurrentFormat && ValidRun(j.Run) == nil {
		return &FormatError{j.Run, j.V}
	}
	return nil
}

// formatAfter returns the format of an entry that follows last: that of the run.
// The first entry decides, and all others have its format.
func formatAfter(last, e *Entry) (int, error) {
	switch {
	case e.Format < 0 || e.Format > CurrentFormat:
		return 0, &FormatError{e.Run, e.Format}
	case last.Seq == 0 && e.Format == 0:
		return CurrentFormat, nil
	case last.Seq == 0:
		return e.Format, nil
	case last.Format == 0:
		return 0, fmt.Errorf("journal: run %s: the store did not keep the format of entry %d", e.Run, last.Seq)
	case e.Format != 0 && e.Format != last.Format:
		return 0, fmt.Errorf("journal: run %s is recorded in format %d; an entry in format %d cannot follow", e.Run, last.Format, e.Format)
	}
	return last.Format, nil
}

// inRun adds the run to an error that does not name it.
func inRun(run string, err error) error {
	if newer := new(FormatError); errors.As(err, &newer) {
		return newer
	}
	return fmt.Errorf("run %s: %w", run, err)
}

// lastBroken is why nothing can be appended: the end of a run cannot be read.
func lastBroken(what string, err error) error {
	if newer := new(FormatError); errors.As(err, &newer) {
		return newer
	}
	return fmt.Errorf("journal: the last %s is broken, nothing can follow it: %w", what, err)
}
