package format

import (
	"github.com/toolpost/toolpost/llm"
)

// RequestBounds are what the maker of a format refuses requests for although the format can say it. The zero value
// refuses nothing.
type RequestBounds struct {
	// MakerOnly says that many copy the format, and take what its maker refuses: whoever asks such a server for 6 tokens
	// must not get 16.
	MakerOnly bool
	// MaxTemperature is the highest temperature, MaxStops how many stop sequences there may be, and MinTokens the least
	// limit of an answer. 0 is no bound.
	MaxTemperature float64
	MaxStops       int
	MinTokens      int
	// SeenStops says that a stop sequence has to hold more than white space, and SeenText that every text has to.
	SeenStops, SeenText bool
	// SeenResults says that this holds for the texts of results, too, of which a result need not have any.
	SeenResults bool
	// TrimmedEnd says that a conversation whose last turn is the model's must not end in white space.
	TrimmedEnd bool
	// Describes reports whether a medium is a document beside which a turn of the user has to hold text. Nil means that none is.
	Describes func(llm.Media) bool
	// Media are the types of media that a request may hold.
	Media MediaTypes
	// SaysJSON says that an answer that may be any JSON is given only where a message has the word. SystemApart says
	// that the instructions of a request are no message there.
	SaysJSON, SystemApart bool
	// ClosedOutput says that an answer is held to schemas only whose objects are all closed.
	ClosedOutput bool
}

// BoundsOf returns the bounds of a family of models.
func (p *Properties) BoundsOf(family string) RequestBounds {
	if b, ok := p.Bounds[family]; ok {
		return b
	}
	return p.Bounds[""]
}
