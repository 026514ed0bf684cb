package provider

import (
	"cmp"
	"slices"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// promote decides which text of an answer may become a call. The request comes
// before the model's entry in the catalogue, and that before the vendor's row.
func (m *Model) promote(r *Route, req *llm.Request) {
	if !slices.ContainsFunc(req.Tools, emulate.Callable) {
		return
	}
	entry, vendor := llm.Promotion(m.info.Promotion), cmp.Or(m.vendor.Promotion, llm.PromoteMarked)
	switch {
	case req.Promotion != "":
		r.Promotion, r.promoted = req.Promotion, "the request says so"
	case entry != "":
		r.Promotion, r.promoted = entry, "the catalogue says so"+m.rule("text_calls").String()
	case r.Kind != Native:
		r.Promotion, r.promoted = llm.PromoteAll, "the tools are taught, so calls are text"
	case vendor == llm.PromoteOff:
		r.Promotion, r.promoted = vendor, "the native calls of "+m.vendor.Name+" are reliable"
	case vendor == llm.PromoteMarked:
		r.Promotion, r.promoted = vendor, m.vendor.Name+" may leave calls in the text"
	default:
		r.Promotion, r.promoted = vendor, "the row of "+m.vendor.Name+" says so"
	}
	if r.Kind == Native && r.Promotion == llm.PromoteMarked && m.settled.dialect == "" && m.settled.named {
		r.Promotion = llm.PromoteOff
		r.promoted += ", but the catalogue knows this model, and has no dialect for it"
	}
	if !r.explains {
		return
	}
	r.because("text calls %s: %s, because %s", r.Promotion, promotionWords(r.Promotion, m.settled.dialect), r.promoted)
}

// promotionWords describes which text becomes a call. own is the dialect of the model.
func promotionWords(p llm.Promotion, own string) string {
	switch {
	case p == llm.PromoteOff:
		return "no text becomes a call"
	case p == llm.PromoteAll:
		return "text becomes a call in any form"
	case own == "":
		return "text becomes a call if it is one with the markers of any dialect"
	default:
		return "text becomes a call if it is one of the model's own dialect, " + own
	}
}
