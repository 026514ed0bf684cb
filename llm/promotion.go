package llm

// Promotion selects the text of an answer that may become a call. It is a
// decision about a route. The vendor's row, the model's entry in the catalogue
// and the request can each make it; the later wins over the earlier.
type Promotion string

// The promotions. Text that looks like a call and is not promoted stays text
// and comes with a warning of code SuspectedCall.
const (
	PromoteDefault Promotion = ""       // the route decides
	PromoteOff     Promotion = "off"    // no text is a call
	PromoteMarked  Promotion = "marked" // calls in the model's own dialect, or with the markers of any if that is unknown
	PromoteAll     Promotion = "all"    // calls without markers, too
)

// Source is the place where a call was found.
type Source string

// The sources of calls.
const (
	NativeSource Source = "native"      // the vendor delivered it as a call
	MarkedSource Source = "text:marked" // in text, between the markers of a dialect, or in the form that the request taught
	BareSource   Source = "text:bare"   // in text, without a marker
)

// Source returns where the call was found.
func (p Provenance) Source() Source {
	switch {
	case p.Dialect == "":
		return NativeSource
	case p.Marked:
		return MarkedSource
	}
	return BareSource
}
