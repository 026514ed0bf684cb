package invoke

import (
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// roundedRule is the repair of a number that no float64 holds.
const roundedRule = "rounded-number"

// shown gives a call that a person decides about its arguments in their canonical
// form. The record holds that form, every display takes it from there, and ParamsHash
// identifies it. Because the same form also runs, an approval covers exactly what the
// person saw. Arguments without such a form cannot be shown unchanged, so they do not
// run.
func (d *batch) shown(j *job) *tool.Error {
	form, err := journal.Canonical(j.args)
	if err != nil {
		problem := err.Error()
		if bad := (*journal.CanonicalError)(nil); errors.As(err, &bad) {
			problem = fmt.Sprintf("%s at byte %d", bad.Problem, bad.Offset)
		}
		e := tool.Errorf(tool.Validation, "a person has to allow it, and cannot be shown the arguments as they are: %s", problem)
		e.Fix = "Send the call again with numbers up to 1.7e308, whole characters in every text, and every name once."
		return e
	}
	d.rounded(j)
	j.args, j.hash = form, journal.ParamsHash(form)
	return nil
}

// rounded gives a call the numbers that its record has: a number that no float64 holds
// is rounded there. The call is therefore rounded before it is checked and run, and
// the receipt and the model are told. All other changes of the canonical form are only
// spelling: a call that needs no approval runs as written, and arguments without such
// a form are recorded as written. It reports whether a number was rounded.
func (d *batch) rounded(j *job) bool {
	from, to := roundedNumber(j.args)
	if from == "" {
		return false
	}
	form, err := journal.Canonical(j.args)
	if err != nil {
		return false
	}
	detail := fmt.Sprintf("%.40s instead of %.40s, which no float64 holds", to, from)
	j.repairs = append(j.repairs, llm.Repair{Rule: roundedRule, Class: llm.Coercion})
	j.lesson = "a number was rounded, and the call was run with " + detail
	d.emit(llm.Warning{Code: llm.Repaired, Feature: j.call.Name, Detail: roundedRule + ": " + detail})
	j.args, j.hash = form, journal.ParamsHash(form)
	return true
}

// roundedNumber returns the first number of valid JSON that its canonical form changes, and what it becomes; "" if none does.
func roundedNumber(args []byte) (from, to string) {
	for i := 0; i < len(args); {
		switch c := args[i]; {
		case c == '"':
			i = js.EndOfString(args, i)
		case c == '-' || c >= '0' && c <= '9':
			n, integer := js.NumberLength(args[i:])
			literal := args[i : i+max(n, 1)]
			i += len(literal)
			if integer || n == 0 {
				continue
			}
			form, err := journal.Canonical(literal)
			if err == nil && string(js.AppendDecimal(nil, form)) != string(js.AppendDecimal(nil, literal)) {
				return string(literal), string(form)
			}
		default:
			i++
		}
	}
	return "", ""
}
