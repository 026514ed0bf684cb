package provider

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/credential"
	"github.com/toolpost/toolpost/wire"
)

// providersPage is docs/reference/vendors.md: the tables of this package as text.
func providersPage() string {
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString("| vendor | address | formats | key | text calls |\n|---|---|---|---|---|\n")
	for _, v := range builtin {
		if v.Name == compatible {
			continue
		}
		key := "none"
		if v.KeyEnv != "" {
			key = "`" + v.KeyEnv + "`"
		}
		if v.Sign != "" {
			key += " or `" + credential.AWSID + "` and `" + credential.AWSSecret + "`"
		}
		address := v.BaseURL
		if v.BaseEnv != "" {
			address += " or `" + v.BaseEnv + "`"
		}
		fmt.Fprintf(&b, "| `%s/` | %s | %s | %s | %s |\n", v.Name, address, strings.Join(v.Wires, ", "), key, cmp.Or(v.Promotion, llm.PromoteMarked))
	}
	b.WriteString(pageRefused)
	for _, v := range builtin {
		for _, family := range slices.Sorted(maps.Keys(v.Refuse)) {
			fmt.Fprintf(&b, "- %s on %s %s.\n", family, v.Name, v.Refuse[family])
		}
	}
	b.WriteString(pageOptions)
	fmt.Fprintf(&b, "| option | %s | |\n|---|%s---|\n", strings.Join(wire.Formats(), " | "), strings.Repeat("---|", len(wire.Formats())))
	for _, o := range options {
		fmt.Fprintf(&b, "| %s |", o.Name)
		for _, f := range wire.Formats() {
			fmt.Fprintf(&b, " %s |", o.On(propertiesOf(f)))
		}
		fmt.Fprintf(&b, " %s |\n", o.Note)
	}
	b.WriteString(pageDifferences)
	for _, v := range builtin {
		if list := v.differences(); v.Name != compatible && list != "" {
			fmt.Fprintf(&b, "- `%s/`: %s.\n", v.Name, list)
		}
	}
	for _, v := range builtin {
		for _, family := range slices.Sorted(maps.Keys(v.Families)) {
			fmt.Fprintf(&b, "- %s on `%s/`: also %s.\n", family, v.Name, v.additions(family))
		}
	}
	b.WriteString(pageBounds)
	return b.String()
}

// differences are the options a vendor handles in another way than its format.
func (v Vendor) differences() string {
	var out []string
	for _, o := range options {
		if h := v.handling(o, propertiesOf(v.Wires[0])); h != o.On(propertiesOf(v.Wires[0])) {
			out = append(out, o.Name+" "+h.String())
		}
	}
	return strings.Join(out, ", ")
}

// additions are the options that a family has beyond the others of the vendor.
func (v Vendor) additions(family string) string {
	plain, own := propertiesOf(v.Wires[0]), wire.Codec{Format: v.Wires[0], Quirks: v.Families[family]}.Properties()
	var out []string
	for _, o := range options {
		if o.On(own) != o.On(plain) {
			out = append(out, o.Name+" "+o.On(own).String())
		}
	}
	return cmp.Or(strings.Join(out, ", "), "reasoning.effort under a name of its own")
}

const pageHead = `# Vendors and options

Look up vendors and options of requests. [Providers](../providers.md) explains how models are opened. This page is generated.

## Vendors

`

const pageRefused = `
Some models cannot be reached with a plain request and a key. They are refused with the reason. Open them at their maker,
at OpenRouter, or through a gateway that speaks OpenAI's format:

`

const pageOptions = `
## Options

The handling of each option of a request, by the format of the vendor. *Mapped*: the vendor supports it. *Degraded*: done
in a weaker way, or by Toolpost, with a warning. *Ignored*: not done, with a warning. *Refused*: an error.

`

const pageDifferences = `
Vendors that differ from their format:

`

// pageBounds is written with ~ for `.
var pageBounds = strings.ReplaceAll(`
## Requests that vendors refuse

Some requests are valid in a format, but the vendor refuses them. They are changed when Toolpost writes the request (~format.RequestBounds~). A client of the
vendor's own format whose request is relayed gets the vendor's answer. Each change is a warning, except for blank instructions.

| vendor | refuses | is sent |
|---|---|---|
| Claude, also on Bedrock and Vertex | a temperature above 1 | 1 |
| | a stop sequence of white space | the others |
| | a last turn of the model that ends in white space | the turn without it |
| OpenAI, Azure | more than 4 stop sequences (chat) | the first 4 |
| | a limit below 16 tokens (Responses) | 16 |
| | any JSON (~json_object~) if no message contains the word; ~instructions~ do not count in Responses | "Answer in JSON." before all messages |
| Groq, DeepSeek | any JSON if no message contains the word | "Answer in JSON." before all messages |
| | more than 4 stop sequences, DeepSeek 16 | the first |
| | images except JPEG, PNG, GIF and WebP; videos; in chat also sounds except WAV and MP3, and files except PDF | text files as text; the others are left out |
| Gemini | more than 5 stop sequences | the first 5 |
| Messages, Converse, Gemini | blank instructions, a blank user turn | nothing; "(This message is empty.)" between two turns of the model |
| Messages | images except JPEG, PNG, GIF and WebP; documents except PDF and plain text; sounds and videos | text documents (CSV, JSON, …) as plain text; of a document by address that is not a PDF, the address; the others are left out |
| Converse | a temperature above 1 | 1 |
| | a document without text | "See the document." next to it |
| | documents except PDF, Word, Excel, HTML, CSV, Markdown and text; results of white space | text documents (JSON, …) as text; the others are left out; an empty result |
| | a document name that occurs twice in the request | the later ones numbered: "a", "a 2" |
| | a schema of the answer with open objects | the schema closed, as for Anthropic; a schema that must stay open becomes the arguments of a tool |
`, "~", "`")
