package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/schema"
)

// chain is a schema in which a reference leads to another, so many times, and then to last.
func chain(n int, last string) schema.Schema {
	b := []byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range n {
		b = fmt.Appendf(b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	return schema.Schema(fmt.Appendf(b, `"d%d":%s}}`, n, last))
}

// TestLongChainsOfReferences checks that a long chain of references, which a few kilobytes are, costs little, that a circle at its end is found,
// and that one which is too long says what to do.
func TestLongChainsOfReferences(t *testing.T) {
	const long = 4000 // took more than a minute when each definition was followed to the end of the chain
	for _, vendor := range schema.Vendors() {
		began := time.Now()
		if _, err := schema.Narrow(chain(long, `{"type":"string"}`), vendor, false); err != nil || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %v after %v", vendor, err, time.Since(began))
		}
		if vendor != schema.OpenAI && vendor != schema.Anthropic {
			continue // a recursion ends at once where there are no references
		}
		if _, err := schema.Narrow(chain(5, `{"$ref":"#/$defs/d3"}`), vendor, false); err == nil || !strings.Contains(err.Error(), "leads only back to itself") {
			t.Errorf("%s: %v", vendor, err)
		}
	}
	twice := []byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 16 {
		twice = fmt.Appendf(twice, `"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	_, err := schema.Narrow(schema.Schema(append(twice, `"d16":{"type":"string"}}}`...)), schema.Gemini, false)
	if err == nil || !strings.Contains(err.Error(), "more than 20000 parts; refer to fewer definitions") {
		t.Error(err)
	}
}
