package offered

import (
	"slices"

	"github.com/toolpost/toolpost/schema"
)

// OnlyParam returns the parameter that a text without a key gives: the only parameter of the tool, or the only string
// if the other parameters are optional and cannot be strings. It returns an empty string if there is none.
func OnlyParam(shape *schema.Shape) (key string) {
	keys := shape.Properties()
	if len(keys) == 1 {
		return keys[0]
	}
	for _, k := range keys {
		switch types := shape.Property(k).Types(); {
		case types&schema.String == 0 && !shape.Required(k):
		case types&^schema.Null != schema.String || key != "":
			return ""
		default:
			key = k
		}
	}
	return key
}

// RequiresNothing reports whether a tool can be called without arguments.
func RequiresNothing(shape *schema.Shape) bool {
	return !slices.ContainsFunc(shape.Properties(), shape.Required)
}
