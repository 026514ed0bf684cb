package dialect_test

import (
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// Some dialects call a tool that runs code with the code unchanged. Only such a
// tool is called so, and a call in the dialect's other form stays one.
func TestCode(t *testing.T) {
	tools := append([]llm.ToolDef{{Name: "python", Schema: []byte(`{"type":"object","properties":{"code":{"type":"string"},"timeout":{"type":"integer"}}}`)}}, caseTools...)
	p := dialect.Parser{Tools: tools}
	const code = `{"code":"import math\nif 1 < 2:\n  print(\"π\")"}`
	const body = "import math\nif 1 < 2:\n  print(\"π\")"
	for _, c := range []struct{ text, want string }{
		{"<|python_tag|>" + body + "<|eom_id|>", "call python " + code + " in llama3_builtin\n"},
		{"Look.\n<|python_tag|>\n" + body + "\n", "text \"Look.\\n\"\ncall python " + code + " in llama3_builtin\n"},
		{">>>python\n" + body, "call python " + code + " in functionary_v32\n"},
		{">>>python\n" + body + ">>>ping\n{}", "call python " + code + " in functionary_v32\ncall ping {} in functionary_v32\n"},
		{"<|action_start|><|interpreter|>\n```python\n" + body + "\n```<|action_end|>", "call python " + code + " in internlm\n"},
		{"✿FUNCTION✿: python\n✿ARGS✿:\n```py\n" + body + "\n```\n", "call python " + code + " in qwen_agent\ntext \"\\n\"\n"},
		{"<|python_tag|>ping.call()<|eom_id|>", "call ping {} in llama3_builtin\n"},
		{`<|python_tag|>{"name": "ping", "parameters": {}}`, "call ping {} in llama3_json\n"},
		{">>>python\n{\"code\": \"1\"}", "call python {\"code\":\"1\"} in functionary_v32\n"},
		{"python\nis a language.", "text \"python\\nis a language.\"\n"},
	} {
		got := transcript(t, p, c.text, len(c.text))
		if got != c.want {
			t.Errorf("%q means\n%swant\n%s", c.text, got, c.want)
		}
		if cut := transcript(t, p, c.text, 1); cut != got {
			t.Errorf("%q means byte by byte\n%swhole\n%s", c.text, cut, got)
		}
	}
	p.Finish = func() llm.Reason { return llm.Length }
	if got, want := transcript(t, p, "<|python_tag|>import ma", 4), "invalid truncated python: the answer was cut off in the middle of this call\n"; got != want {
		t.Errorf("cut off: %swant %s", got, want)
	}
}
