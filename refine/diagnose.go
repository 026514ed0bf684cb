package refine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// failure is why an answer is not the value that was asked for.
type failure struct {
	cause  RecoveryCause
	why    string // one or more sentences for the model
	faults []schema.Fault
	value  json.RawMessage // the JSON of the wrong shape, or that was refused
	err    error           // of a check
}

// unwelcome describes why a check refused a value of the right shape. Without a cause the check
// itself failed.
func unwelcome(value json.RawMessage, err error) *failure {
	var own *llm.Error
	if errors.As(err, &own) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &failure{err: err}
	}
	why := clip.Bytes(strings.TrimSpace(err.Error()), maxWhy)
	if why != "" && !strings.ContainsAny(why[len(why)-1:], ".!?") {
		why += "."
	}
	return &failure{cause: causeValue, why: why, value: value, err: err}
}

// diagnose describes the problem of a text without usable JSON. A model that gets the wrong
// description repeats its answer.
func diagnose(text string) failure {
	f := failure{cause: causeSyntax}
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		f.cause, f.why = causeEmpty, "Response was empty."
	case strings.Contains(trimmed, "```json"):
		f.why = "Found JSON code block but it contains syntax errors."
	case strings.Contains(trimmed, "```"):
		f.why = "Found code block but not marked as JSON."
	case strings.Count(trimmed, "{") > strings.Count(trimmed, "}"):
		f.why = "Found incomplete JSON (opening brace without closing)."
	case strings.Count(trimmed, "[") > strings.Count(trimmed, "]"):
		f.why = "Found incomplete JSON (opening bracket without closing)."
	case strings.ContainsAny(trimmed, "{["):
		f.why = "Found malformed JSON (syntax error in structure)."
	default:
		f.why = "No JSON content found in response text."
	}
	return f
}

// misshapen describes how JSON differs from the schema.
func misshapen(value json.RawMessage, faults []schema.Fault) failure {
	var b strings.Builder
	for i, fault := range faults {
		if i == maxFaults {
			fmt.Fprintf(&b, " There are %d more faults.", len(faults)-i)
			break
		}
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(fault.Message)
	}
	return failure{cause: causeSchema, why: b.String(), faults: faults, value: value}
}

const (
	maxFaults = 5    // that a model is told about at once
	maxQuote  = 500  // characters of its answer that a model is shown
	maxWhy    = 2000 // bytes of the error of a check that a model is told
)

// message asks the model to mend its answer. What it says depends on the kind
// of the failure: told that valid JSON could not be parsed, a model sends the
// same JSON again.
func (f failure) message(out *llm.OutputFormat, text string, viaTool bool) string {
	var b strings.Builder
	switch f.cause {
	case causeSchema:
		fmt.Fprintf(&b, "Your previous response was valid JSON but did not match the required output schema. %s Please correct the field types and respond again.", f.why)
	case causeValue:
		fmt.Fprintf(&b, "Your previous response was valid JSON of the required form, but its content was refused. %s Please correct the values and respond again.", f.why)
	default:
		fmt.Fprintf(&b, "Your previous response did not contain valid JSON. %s Please provide your response in valid JSON format.", f.why)
	}
	if viaTool {
		b.WriteString("\n\nIMPORTANT: Use the 'emit_output' tool to return your response in the required structured format.")
		if f.cause == causeSchema {
			b.WriteString(" Return scalar values directly rather than wrapping them in an object.")
		}
		return b.String()
	}
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString("\n\n**Your response started with:**\n" + quote(text))
	}
	if len(out.Schema) > 0 {
		b.WriteString("\n\n**The schema:**\n" + ordered(out.Schema))
	}
	b.WriteString("\n\nPlease respond with ONLY a valid JSON value matching the schema above. Do NOT include markdown code blocks, explanatory text, or anything else.")
	if f.cause == causeSchema {
		b.WriteString(" Return scalar values directly rather than wrapping them in an object.")
	}
	return b.String()
}

// ordered returns a schema with its keys in order. A schema is then quoted the same way after it
// was written to the record and read again.
func ordered(s json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(s))
	dec.UseNumber()
	var v any
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if dec.Decode(&v) != nil || enc.Encode(v) != nil {
		return string(s)
	}
	return strings.TrimSpace(b.String())
}

// quote returns the first 500 characters of a text, and three dots if there are more, as requirement 2.2 has it.
func quote(text string) string {
	short := clip.Runes(text, maxQuote+1)
	if short == text {
		return text
	}
	return strings.TrimSuffix(short, "…") + "..."
}
