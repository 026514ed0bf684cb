package wire

import (
	"strings"
	"testing"
)

// TestConverseFieldsOfNobody checks that fields of makers which are not as those want them, or say one thing twice, go back as they came.
func TestConverseFieldsOfNobody(t *testing.T) {
	for _, fields := range []string{
		`{"reasoning_effort":3}`, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":5}}`,
		`{"thinking":{"type":"enabled","budget_tokens":"x"}}`, `{"top_k":2.5}`,
		`{"top_k":5,"inferenceConfig":{"topK":9}}`, `{"thinking":{"type":"enabled","budget_tokens":2000},"reasoning_effort":"high"}`,
		`{"reasoning_effort":"high","thinking":{"type":"disabled"},"top_k":1}`,
	} {
		c := Codec{Format: Converse}
		req, _, err := c.DecodeRequest([]byte(`{"modelId":"m","messages":[{"role":"user","content":[{"text":"q"}]}],"additionalModelRequestFields":` + fields + `}`))
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		req.Model = "m"
		out, warnings, err := c.EncodeRequest(req, false)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", fields, err, warnings)
		}
		for member := range strings.SplitSeq(strings.Trim(fields, "{}"), `,"`) {
			if !strings.Contains(string(out), strings.Trim(member, `"{}`)) {
				t.Errorf("%s became %s", fields, out)
			}
		}
	}
}
