package sim

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// For every model of the server, this file applies the settings of a request
// for the length, the end, the number and the tokens of answers.

// honour changes an answer as the request demands. It reports whether the answer
// was cut off.
func honour(codec wire.Codec, req *llm.Request, r *llm.Response, limited bool) (cut bool) {
	stopAt(r, req.Stop)
	if limited && req.MaxTokens > 0 {
		cut = limitTokens(r, req.MaxTokens)
	}
	if r.Finish.Usage.Input == 0 {
		r.Finish.Usage.Input = inputTokens(req)
	}
	r.Finish.Usage.Output = outputTokens(r.Message.Parts)
	if top, asked := logProbs(codec, req); asked {
		addProbs(codec.Properties().LogProbs, r, top)
	}
	if codec.Properties().Has(format.SeveralAnswers) {
		again(r, req.N)
	}
	return cut
}

// stopAt ends an answer before the first of the given sequences in its text.
func stopAt(r *llm.Response, stops []string) {
	for i, p := range r.Message.Parts {
		t, ok := p.(llm.Text)
		if !ok {
			continue
		}
		at, found := len(t.Text), ""
		for _, stop := range stops {
			if k := strings.Index(t.Text, stop); stop != "" && k >= 0 && k < at {
				at, found = k, stop
			}
		}
		if found == "" {
			continue
		}
		t.Text = t.Text[:at]
		r.Message.Parts = append(slices.Clip(r.Message.Parts[:i]), t)
		r.Finish.Reason, r.Finish.StopSequence = llm.Stop, found
		return
	}
}

// limitTokens ends an answer where its tokens are used up, and reports whether
// it had to.
func limitTokens(r *llm.Response, most int) bool {
	for i, p := range r.Message.Parts {
		n := outputTokens([]llm.Part{p})
		if n <= most {
			most -= n
			continue
		}
		r.Message.Parts = slices.Clone(r.Message.Parts[:i])
		if short := shortened(p, most*bytesPerToken); short != nil {
			r.Message.Parts = append(r.Message.Parts, short)
		}
		r.Finish.Reason = llm.Length
		return true
	}
	return false
}

// shortened is the beginning of a part, and nil if that is empty.
func shortened(p llm.Part, most int) llm.Part {
	switch p := p.(type) {
	case llm.Text:
		if p.Text = p.Text[:clip.Rune(p.Text, most)]; p.Text != "" {
			return p
		}
	case llm.Thinking: // truncated thinking is not signed
		if p.Text, p.State = p.Text[:clip.Rune(p.Text, most)], (llm.State{}); p.Text != "" {
			return p
		}
	case llm.Call:
		if most -= len(p.Name); most > 0 && len(p.Args) > 1 {
			p.Args = p.Args[:min(most, len(p.Args)-1)]
			return p
		}
	}
	return nil
}

// again repeats the answer as often as the request demands.
func again(r *llm.Response, n int) {
	if n < 2 {
		return
	}
	one := &llm.Response{Message: r.Message, Finish: r.Finish}
	one.Finish.Usage = llm.Usage{}
	for range n - 1 {
		r.Alternatives = append(r.Alternatives, one)
	}
	r.Finish.Usage.Output *= n
}

// Tokens.

// bytesPerToken is the length of a simulated token.
const bytesPerToken = 4

func tokens(s string) int { return (len(s) + bytesPerToken - 1) / bytesPerToken }

// inputTokens counts the tokens of a request.
func inputTokens(req *llm.Request) int {
	n := tokens(req.System)
	for _, m := range req.Messages {
		m.Parts = withoutOrigins(m.Parts)
		b, _ := json.Marshal(m)
		n += tokens(string(b))
	}
	return n
}

// withoutOrigins returns parts as a vendor gets them, without the origins of their texts.
func withoutOrigins(parts []llm.Part) []llm.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			p.Origin = ""
			parts[i] = p
		case llm.Result:
			p.Parts = withoutOrigins(p.Parts)
			parts[i] = p
		}
	}
	return parts
}

// outputTokens counts the tokens of an answer.
func outputTokens(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			n += tokens(p.Text)
		case llm.Thinking:
			n += tokens(p.Text)
		case llm.Call:
			n += tokens(p.Name) + tokens(string(p.Args))
		}
	}
	return n
}

// Log probabilities.

// logProbs reports whether a request asks for log probabilities, and for how
// many alternative tokens each.
func logProbs(codec wire.Codec, req *llm.Request) (top int, asked bool) {
	own := req.Extra[codec.Format]
	switch codec.Properties().LogProbs {
	case "openai":
		asked = bytes.Equal(own["logprobs"], []byte("true")) || bytes.Contains(own["include"], []byte("message.output_text.logprobs"))
		top = asInt(own["top_logprobs"])
	case "gemini":
		config := own["generationConfig"]
		asked = bytes.Equal(js.Get(config, "responseLogprobs"), []byte("true"))
		top = asInt(js.Get(config, "logprobs"))
	}
	return min(top, 20), asked
}

func asInt(v []byte) (n int) {
	_ = json.Unmarshal(v, &n) // n stays 0 for a value that is not a number
	return n
}

// addProbs gives the text of an answer log probabilities in a vendor's form.
func addProbs(form string, r *llm.Response, top int) {
	for i, p := range r.Message.Parts {
		t, ok := p.(llm.Text)
		if !ok || t.Text == "" {
			continue
		}
		t.LogProbs = &llm.LogProbs{Form: form}
		for _, token := range tokenTexts(t.Text) {
			t.LogProbs.Tokens = append(t.LogProbs.Tokens, probOf(form, token, top))
		}
		r.Message.Parts[i] = t
	}
}

// tokenTexts cuts a text into its tokens.
func tokenTexts(text string) []string {
	var out []string
	for text != "" {
		n := bytesPerToken
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++
		}
		n = min(n, len(text))
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// probOf describes one token, which is nearly certain, and less probable alternatives.
func probOf(form, token string, top int) json.RawMessage {
	type candidate struct {
		Token string  `json:"token"`
		Prob  float64 `json:"logProbability"`
	}
	type openai struct {
		Token string   `json:"token"`
		Prob  float64  `json:"logprob"`
		Bytes []int    `json:"bytes"`
		Top   []openai `json:"top_logprobs,omitempty"`
	}
	prob := func(i int) float64 { return -0.01 - 3*float64(i) }
	words := []string{token}
	for i := 1; i < top; i++ {
		words = append(words, strings.Repeat("~", i))
	}
	var v any
	if form == "gemini" {
		var others []candidate
		for i, w := range words {
			others = append(others, candidate{w, prob(i)})
		}
		v = map[string]any{"chosen": others[0], "top": map[string]any{"candidates": others}}
	} else {
		var others []openai
		for i, w := range words {
			others = append(others, openai{Token: w, Prob: prob(i), Bytes: bytesOf(w)})
		}
		one := others[0]
		if top > 0 {
			one.Top = others
		}
		v = one
	}
	b, _ := json.Marshal(v) // numbers and strings
	return b
}

func bytesOf(s string) []int {
	out := make([]int, len(s))
	for i := range len(s) {
		out[i] = int(s[i])
	}
	return out
}
