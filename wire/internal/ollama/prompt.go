package ollama

import (
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// Ollama has a second endpoint, generate, whose requests are a prompt and whose answers are a
// text. Models that are asked for chats can answer it, as long as it does not go past their
// template.

// OnGenerate returns how Ollama serves its format at the endpoint generate. It is for servers: no
// request is encoded so.
func OnGenerate() format.Quirks { return format.Quirks{Path: "generate", Prompt: true} }

// notInPrompts are the fields that cannot be kept: those with which a client goes past the template
// of a model, and those of a chat. To leave one out would give another answer without a word.
var notInPrompts = map[string]bool{"suffix": true, "template": true, "context": true, "raw": true, "messages": true, "tools": true}

// chatOfPrompt returns the chat request that corresponds to a request with a prompt. Without a prompt it has no
// messages.
func chatOfPrompt(d *codec.Decoder, body []byte) []byte {
	var w js.Writer
	var prompt, system, images []byte
	w.Object()
	for key, v := range d.Members(body) {
		switch name := strings.ToLower(string(key)); { // Ollama reads names in any case
		case name == "prompt":
			prompt = v
			d.Is(v, '"', "a string")
		case name == "system":
			system = v
			d.Is(v, '"', "a string")
		case name == "images":
			images = v
			d.Is(v, '[', "a list of images")
		case notInPrompts[name]:
			if !emptyValue(v) && d.Err == nil {
				d.Err = fmt.Errorf("%s is not supported here: a prompt is put into the model's own template", name)
			}
		default:
			w.AnyKey(string(key))
			w.Raw(v)
		}
	}
	w.ArrayField("messages")
	if !emptyValue(prompt) || !emptyValue(images) {
		message(&w, "system", system, nil)
		message(&w, "user", prompt, images)
	}
	w.EndArray()
	w.End()
	d.Body = w.Buf // which errors are about from now on
	return w.Buf
}

// message writes a message, unless it says nothing.
func message(w *js.Writer, role string, text, images []byte) {
	if emptyValue(text) && emptyValue(images) {
		return
	}
	w.Object()
	w.StringField("role", role)
	if text != nil {
		w.Key("content")
		w.Raw(text)
	}
	if images != nil {
		w.Key("images")
		w.Raw(images)
	}
	w.End()
}

// emptyValue reports whether a value means the same as a missing one.
func emptyValue(v []byte) bool {
	switch string(js.Trim(v)) {
	case "", "null", "false", `""`:
		return true
	}
	if js.Kind(v) == '[' {
		for range js.Elements(v) {
			return false
		}
		return true
	}
	return false
}

// encodeText writes the parts of an answer that is one text.
func encodeText(e *codec.Encoder, parts []llm.Part) {
	var text, thought strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			e.Opaque(p)
			e.Unsupported(len(p.Citations) > 0, "citations")
			e.Unsupported(p.Refusal, "refusal")
			text.WriteString(p.Text)
		case llm.Thinking:
			codec.JoinThinking(&thought, p)
		default:
			e.Lost(llm.Ignored, "parts", "answers to a prompt are text")
		}
	}
	e.StringField("response", text.String())
	e.OptString("thinking", thought.String())
}
