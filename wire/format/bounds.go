package format

import (
	"github.com/toolpost/toolpost/llm"
)

// RequestBounds are what the maker of a format refuses requests for although the format can say it. The zero value
// refuses nothing.
type RequestBounds struct {
	// MakerOnly limits the bounds to servers of the maker. Servers that copy the format may accept what the maker
	// refuses: a request for 6 tokens must not become one for 16.
	MakerOnly bool
	// MaxTemperature is the highest temperature, MaxStops the highest number of stop sequences, and MinTokens the
	// lowest limit of an answer. 0 means unlimited.
	MaxTemperature float64
	MaxStops       int
	MinTokens      int
	// SeenStops says that a stop sequence has to hold more than white space, and SeenText that every text has to.
	SeenStops, SeenText bool
	// SeenResults says that this holds for the texts of results, too, of which a result need not have any.
	SeenResults bool
	// TrimmedEnd says that a conversation whose last turn is the model's must not end in white space.
	TrimmedEnd bool
	// Describes reports whether a user turn with this document also needs text. Nil means that it never does.
	Describes func(llm.Media) bool
	// Media are the types of media that a request may hold.
	Media MediaTypes
	// Refuses are members of a request that the format has and the host refuses, and RefusesInMessages those of a
	// message, with spaces between.
	Refuses, RefusesInMessages string
	// Prefix is the member that marks a last message of the model as the beginning of the answer. Without it the host
	// refuses such a message.
	Prefix string
	// SaysJSON means that an answer of any JSON needs the word JSON in a message. SystemApart means that the
	// instructions of a request do not count as a message there.
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
