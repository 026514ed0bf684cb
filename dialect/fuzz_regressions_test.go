package dialect_test

import "testing"

// regressions are texts that once meant different things at different cuts, lost
// a byte or ended the reader. They came from mutated texts and from fuzzing.
var regressions = []string{
	"[TOOL_,ALLS]get_weather[ARGS]not-json",
	"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"measure\">\n<｜DSML｜param how are you?eter name=\"r\" string=\"false\">3.14</｜DSML\",\"arguments\":{\"b\":\"2\"}}</tool_ca",
	"[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"北京 \"state\": \"TX\"\"}}, {\"name\": \"get_weather\", \"arguments\": {\"city\": \"上海\"}}]",
	"<tool_call>{\"name\": \"get_time\", \"arguments\": \\}}</tool_call><tool_call>{\"name\": \"get_weather\", \"argu",
	"  \n\t   <think>Firsttent",
	"<|tool_call_start|>[]<|tool<|tool_call_start|>[]<|tool_call_end|>",
	"<\xefinvoke name=\"get_weather[>\n",
	"[get_weather(city=\"LA\", metric=\"\"\"), get_time(name=\"Doe\", age)]\"\"\")]",
	" to=self<|message|>Maybe <atem:function_calls>\n<atem:invoke name=\"get_weather\">\n</atem:invoke>\n</atem:function_calls> no.<|eom|><|start|>assistant to=user<|message|>No.",
}

func TestFuzzRegressions(t *testing.T) {
	for _, text := range regressions {
		for flags := range uint8(32) {
			checkAny(t, text, parsers(flags), uint64(flags))
		}
	}
}
