package smallmodel

import (
	"regexp"
	"sync"
)

// lazy is a regular expression that is compiled when it is first used. Most programs never ask a small model.
type lazy func() *regexp.Regexp

// pattern returns a regular expression, which must be valid.
func pattern(text string) lazy {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
