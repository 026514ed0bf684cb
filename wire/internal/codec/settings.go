package codec

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// A Setting is one number or list of a request that is a single member in the formats that have it.
type Setting struct {
	Feature format.Feature
	// Member is its name in the format. A format that lacks the setting has no name for it, and a request that sets it
	// causes a warning.
	Member string
}

// Settings are the settings of a format, in the order in which they are written.
type Settings []Setting

// Settings writes the settings of a request.
func (e *Encoder) Settings(all Settings, req *llm.Request) {
	for _, s := range all {
		if s.Member == "" {
			e.Unsupported(s.Feature.AskedBy(req), string(s.Feature))
			continue
		}
		switch s.Feature {
		case format.MaxTokens:
			e.OptInt(s.Member, req.MaxTokens)
		case format.SeveralAnswers:
			e.OptInt(s.Member, req.N)
		case format.StopSequences:
			e.OptStrings(s.Member, req.Stop)
		case format.TopK:
			optInteger(e, s.Member, req.TopK)
		case format.Seed:
			optInteger(e, s.Member, req.Seed)
		default:
			e.OptFloat(s.Member, *number(req, s.Feature))
		}
	}
}

// Setting reads a setting of a request. It reports whether the format has a setting of that name.
func (d *Decoder) Setting(all Settings, key, v []byte, req *llm.Request) bool {
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Member == string(key) && s.Member != "" })
	if i < 0 {
		return false
	}
	switch feature := all[i].Feature; feature {
	case format.MaxTokens:
		req.MaxTokens = d.Integer(v)
	case format.SeveralAnswers:
		req.N = d.Integer(v)
	case format.StopSequences:
		req.Stop = d.Strings(v)
	case format.TopK:
		req.TopK = optional[int](d, v)
	case format.Seed:
		req.Seed = optional[int64](d, v)
	default:
		*number(req, feature) = d.Float(v)
	}
	return true
}

// number returns where a request has a setting that may have a fraction.
func number(req *llm.Request, f format.Feature) **float64 {
	switch f {
	case format.Temperature:
		return &req.Temperature
	case format.TopP:
		return &req.TopP
	case format.FrequencyPenalty:
		return &req.FrequencyPenalty
	case format.PresencePenalty:
		return &req.PresencePenalty
	}
	panic("no setting is called " + string(f))
}

func optInteger[T int | int64](e *Encoder, key string, n *T) {
	if n != nil {
		e.Key(key)
		e.Int(int64(*n))
	}
}

// optional reads an integer that may be null.
func optional[T int | int64](d *Decoder, v []byte) *T {
	if !d.Is(v, '0', "an integer") {
		return nil
	}
	n := T(d.Integer(v))
	return &n
}
