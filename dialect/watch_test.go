package dialect_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// waysOfWriting are ways of writing a call of the tool $f with the property $k.
var waysOfWriting = []string{
	`$f($k="v")`, `[$f($k="v")]`, `$e($k='v')`, `[$e($k="v")]`, `'$f'($k="v")`, `"$f"("$k": "v")`, "`$f`($k=1)", `functions.$f($k="v")`,
	`tools.$f($k=1)`, `x.$f($k=1)`, `print($f($k="v"))`, `$f({"$k": "v"})`, `$f {"$k": "v"}`, "$f\n{\"$k\": \"v\"}", "$f:\n{\"$k\": \"v\"}",
	`$f: {"$k": "v"}`, `{"name": "$f", "arguments": {"$k": "v"}}`, `{"tool": "$f", "input": {"$k": "v"}}`, `{"func": "$f", "$k": "v"}`,
	`{"$f": {"$k": "v"}}`, `['$f', {'$k': 'v'}]`, `("$f", {"$k": "v"})`, `['$f($k=1)']`, `[{'$f($k=1)}]`, `<$f><$k>v</$k></$f>`,
	"<$f>\n$k: v\n</$f>", `<$f $k="v"/>`, `<function=$f><parameter=$k>v</parameter></function>`, `<call name="$f"><parameter name="$k">v</parameter></call>`,
	`<function=$f><parameter=$k>v`, `<tool_call>{"name": "$f", "arguments": {"$k": "v"}}</tool_call>`, `<tool_call>$f<arg_key>$k</arg_key><arg_value>v</arg_value>`,
	"$f\n$k: v", "**$f**\n$k: v", "Calling tool: $f\nArguments: {\"$k\": \"v\"}", `[$f, $k=1)]`, `[$f({'$k': 1})}]`, `$f()`, `{"name": "$f", "arguments": {}}`,
	`{"name": “$f”, “arguments”: {“$k”: 1}}`, `{name: $f, arguments: {$k: 1}}`, `$f[$k=1]`, `$f <$k>v</$k>`, `{"name": "$f", "parameters": {"$k": `,
	`<tool\_call>{"name": "$e", "arguments": {"$k": "v"}}</tool\_call>`, `$e($k=\'v\')`, `\[$e($k="v")\]`, `{"name": "$e", "arguments": {"$k": "a\_b"}}`, `<function=$e><parameter=$k>v</parameter></function>`,
	`**Tool call:** $f($k="v")`, "**Calling tool:** `$f`\n**Arguments:** {\"$k\": \"v\"}", "Tool: $f\nParameters: {\"$k\": \"v\"}", "Calling: $f {\"$k\": 1}",
	"Let me see.$f\n{\"$k\": 1}", "I use $f:\n{\"$k\": 1}", `Here it is: $f($k="v")`, `Sure! $f({"$k": 1})`, `$f({"$k": 1}, {"$k": 2})`, `[$f({"$k": 1}, {"x": 2})]`,
	`{"$k": "v", "name": "$f"}`, `{"api": "$f", "$k": 1}`, `[other(a=1), $f($k="v")]`, `[{"name": "other", "arguments": {}}, {"name": "$f", "arguments": {"$k": 1}}]`, `[('other', {}), ('$f', {'$k': 1})]`,
	`$f($k="say "hi", "no"")`, `$f($k="C:\new\x")`, `$f($k=“v”)`, `$f($k=NaN)`, `$f({'$k': 1}})`, `[$f($k='v', $f($k='w')]`, `{"name": "$f", // it's
"arguments": {"$k": 1}}`,
	`<tool_call>{"name": "$f", "arguments": {"$k": "v"}}</think></tool_call>`, `<|channel|>commentary to=functions.$f<|message|><|message|>{"$k": 1}<|call|>`, `$f: {"$k": 1}`,
	`{name:$f,arguments:{$k:1}}`, `{name:$f,arguments:{$k:v}}`, `$f -> {"$k": "v"}`, `$f => {"$k": "v"}`, `$f → {"$k": "v"}`, `[tool:$f] {"$k": "v"}`, "[$f]\n$k = \"v\"",
	`$f.invoke({"$k": "v"})`, `$f.run($k="v")`, `<call tool="$f" $k="v"/>`, `$f（$k="v"）`, `$w($k="v")`, `$z($k="v")`, `$f` + "\u200b" + `($k="v")`, `$c($k="v")`, `$c({"$k": "v"})`,
	`<$c><$k>v</$k></$c>`, "$f:\n- $k: v", "$f:\n  $k: v", `curl -d '{"$k": "v"}' http://h/$f`, `curl http://h/$f -d '{"$k": "v"}'`, `http://h/$f?$k=v`, `($f $k: "v")`, "\n-$f($k=1)\n",
	"return $f($k=1)", `tools.call($f, $k=1)`, `"$f"($k=1)`, `$f($k=1, $k=2)`, `{"name": "$f", "arguments": {"$k": 1}, "arguments": {"$k": 2}}`, `{"name": "$f", "arguments": "{\"$k\": 1} and so on"}`,
}

// wordsBefore and wordsBehind are what stands around it.
var wordsBefore = []string{
	"", "", "I look. ", "I look.\n", "I look.\n\n", "Do not send ", "> ", "`", "```json\n", "```\n", "Look:\n```python\n", "```xml\n", "- ", "1. ", "\"", "'",
	"(", "[", "{", "{\"a\": ", "{\"a\": [", "<p>", "<div>\n", "x = ", "| ", "    ", "// ", "#", "$ ", "Äh, ", "好的。", "<think>", "<tool_response>", "[TOOL_CALLS]",
	"<tool_call>", "<tool_call>\n", "Action: ", "So: **", "@", "it's ", "a < b ", "f(", "data = {\"list\": [1, 2, ",
}

var wordsBehind = []string{
	"", "", "\n", " to the API.", ", but no.", "\nThen more.", "\n\nThen more.", "`", "\n```", "\n```\nThen more.", "\"", ")", "]", "}", "]}", "</p>", "</div>", "</think>", "</think>Fine.",
	"</tool_call>", "\n</tool_call>", "</tool_response>", ";", " -- ", " |", "**", "\x00", "<", "\n\n\n{", " and `x`",
}

// Whatever stands around a call and however it is written: it is read, or it is
// invalid, or a warning says where it is.
func TestNoCallIsLostInSilence(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	tools := append([]llm.ToolDef(nil), caseTools...)
	answers := 5_000
	if *long {
		answers = 100_000
	}
	r := rand.New(rand.NewPCG(1, 15))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	for range answers {
		attacks++
		name, key := "find_room", pick([]string{"town", "beds", "notes", "tags"})
		if r.IntN(3) == 0 {
			name, key = "write_file", pick([]string{"path", "content"})
		}
		first, second, _ := strings.Cut(name, "_")
		call := strings.NewReplacer("$f", name, "$e", strings.ReplaceAll(name, "_", `\_`), "$k", key, "$c", first+strings.ToUpper(second[:1])+second[1:],
			"$z", first+"\u200b_"+second, "$w", fullWidth(name)).Replace(pick(waysOfWriting))
		text := pick(wordsBefore) + call + pick(wordsBehind)
		if r.IntN(3) == 0 {
			text = pick(wordsBefore) + text + pick(wordsBehind)
		}
		if r.IntN(8) == 0 {
			text = strings.Repeat("Some words before it. ", r.IntN(400)) + text + strings.Repeat(" And words behind it.", r.IntN(400))
		}
		if got := parse(t, dialect.Parser{Tools: tools}, dialect.Cut(text, 1+r.IntN(40))); silent(got) {
			t.Errorf("not a word about %.300q", strings.NewReplacer("Some words before it. ", "…", " And words behind it.", "…").Replace(text))
		}
	}
}

// fullWidth returns s with full-width letters.
func fullWidth(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r + 0xFEE0
		}
		return r
	}, s)
}

// silent reports whether nothing came of an answer.
func silent(a answer) bool { return len(a.Calls)+len(a.Invalid)+len(a.Warnings) == 0 }
