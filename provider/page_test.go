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

// providersPage is docs/providers.md: the tables of this package as text.
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
	b.WriteString(pagePromotion)
	b.WriteString(pageClouds)
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
	b.WriteString(pageTail)
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

const pagePromotion = `
*Text calls* says which text of an answer may become a call although the vendor takes tools natively: ` + "`off`" + ` none,
` + "`marked`" + ` calls in the model's own dialect, or with the markers of any dialect if the model is unknown, ` + "`all`" + `
calls without markers, too. Where tools are emulated it is ` + "`all`" + `. A model's entry in models.yaml overrides it
(` + "`text_calls: off`" + `), and a request overrides both. At another address than the vendor's own it is ` + "`marked`" + `. What
is decided, and why, is among the reasons of the route. See [What may become a call](text-calls.md).
`

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

This page is made of the tables in package provider.

A model is opened by an id: ` + "`vendor/model`" + `, ` + "`http://host/v1#model`" + ` for any server that copies OpenAI's chat
API, ` + "`vendor+http://host/v1#model`" + ` for a vendor's format at another address, or the bare name of a model whose
family has a vendor of its own (` + "`claude-sonnet-4-5`" + `).

A key comes from the vendor's environment variable and goes to the vendor's own host. At any other address no key is
sent unless a row of your own binds one to it. Redirects are not followed. Requests to Amazon are signed with an access key
(` + "`AWS_SESSION_TOKEN`" + ` too, if there is one), which itself is never sent, or carry a bearer token.

## Vendors

`

const pageClouds = `
Clouds serve the formats of others:

- ` + "`vertex/claude-…`" + ` is asked as the row ` + "`vertex-claude/`" + ` says. ` + "`GOOGLE_CLOUD_LOCATION`" + ` is a region, ` + "`us`, `eu` or `global`" + `.
  The token comes from ` + "`gcloud auth print-access-token`" + ` and expires after an hour; a program gives fresh ones with ` + "`Client.Key`" + `.
- ` + "`bedrock/`" + ` asks every model with Converse, ` + "`bedrock-claude/`" + ` asks Claude with InvokeModel in Anthropic's own format, which
  carries more of it.
- Another region, project or endpoint than the environment's is a row of [` + "`providers`" + `](gateway/configuration.md#servers-accounts-regions-and-endpoints)
  (` + "`{like: bedrock, region: eu-west-1}`" + `), or of ` + "`Client.Vendors`" + ` with ` + "`Like`" + ` and ` + "`Vars`" + `.
- On Azure the name of the model is the name of the deployment. A resource that wants an ` + "`api-version`" + ` takes a row of your own
  with ` + "`Quirks{Path: \"responses?api-version=preview\"}`" + `.
`

const pageRefused = `
Some models cannot be reached with a plain request and a key. They are refused with the reason; open them at their maker,
at OpenRouter, or through a gateway that speaks OpenAI's format:

`

const pageOptions = `
## Options

What becomes of each option of a request, by the format a vendor speaks. *Mapped*: the vendor has it. *Degraded*: done
in a weaker way, or by us, with a warning. *Ignored*: not done, with a warning. *Refused*: an error. Nothing is ignored
in silence.

`

const pageDifferences = `
Vendors that differ from the format they speak:

`

var pageTail = `
Thinking has conditions: while it is on, Anthropic and OpenAI allow only the default temperature, Anthropic's limit of
the answer must exceed the budget for thinking, and older models count an effort in tokens; Claude since 4.7 counts no tokens, and
gets an effort, as do models that are known to take one in formats without a number of tokens (chat, Responses, Ollama): the
nearest of low (2048), medium (8192) and high (24576). Each change is a warning.

## Conversations that change their model

A conversation may go on with any other model. What one vendor signed stays with it: a signature goes back to the vendor who made it, at any
address of his (Claude's also to Vertex and Bedrock), and to nobody else. What a vendor demands of the turn under way is kept:

- Claude refuses a turn with calls that does not begin with its own thinking, if it is to think for a number of tokens. Such a request is
  answered without thinking, with a warning; the next turn thinks again.
- Gemini since version 3 refuses calls that it did not sign. Those of others get the value that Google documents for this, with a warning.
- GPT since version 5, and models that answer nowhere else (o1-pro, o3-pro, deep research), are asked in the Responses format, and
  for encrypted reasoning that goes back in the next request; nothing is stored there unless the request says so (` + "`store`" + `,
  ` + "`previous_response_id`" + `). At another address than the vendor's own GPT-5 is asked in the chat format: set ` + "`wire: responses`" + ` for it.
- Temperature and its like are left out where a model refuses them (Claude since 4.7, o-series, GPT-5); Claude 4.1 to 4.6 takes one of
  temperature and top_p. A failure that says nothing gets words, and blank text between calls stays out.
- Anthropic demands a limit for each answer. Without one in the request it is all that the model gives, or what its window leaves; that is
  said once.

` + pageBounds + pageLimits + `## What a server really does

The catalogue knows models, not servers: the same weights take tools on one host and ignore them on another. A probe asks
at most 20 cheap questions, writes what it finds into your models.yaml with the date, and from then on that decides how the
model is asked:

` + "```text" + `
$ toolpost models probe http://127.0.0.1:8080/v1 smollm2
http://127.0.0.1:8080/v1#smollm2
  answers                     yes  it said "How can I help?"
  tools                       no   tools are taken without a word, and nothing is called
  says when cut off           yes  the reason was "length"
  answer by schema            yes  it answered "{\"colour_name\":\"blue\",\"letter_count\":2}"
` + "```" + `

A server that refuses tools outright needs no probe: the refusal is understood, the same request is asked again by prompt,
and a warning has the line for models.yaml.

` + "```console" + `
$ toolpost models show ollama/qwen3:8b
…
` + "```" + `
`

// pageBounds is written with ~ for `.
var pageBounds = strings.ReplaceAll(`## Requests that vendors refuse

What a vendor refuses although its format can say it is changed in requests that are written for it (~wire.RequestBounds~); a client who speaks the vendor's own format, and
whose request passes as it is, gets the vendor's own answer. Each change but that of blank instructions is a warning:

| vendor | refuses | is sent |
|---|---|---|
| Claude, also on Bedrock and Vertex | a temperature above 1 | 1 |
| | a stop sequence that is only white space | the others |
| | a last turn of the model's own that ends in white space | the turn without it |
| OpenAI, Azure | more than 4 stop sequences (chat) | the first 4 |
| | a limit below 16 tokens (Responses) | 16 |
| | any JSON (~json_object~) where no message has the word; ~instructions~ are none in Responses | "Answer in JSON." before all messages |
| Groq, DeepSeek | any JSON where no message has the word | "Answer in JSON." before all messages |
| | more than 4 stop sequences, DeepSeek 16 | the first |
| | images but JPEG, PNG, GIF and WebP; videos; in chat also sounds but WAV and MP3, and files but PDF | text files as text; the others are left out |
| Gemini | more than 5 stop sequences | the first 5 |
| Messages, Converse, Gemini | blank instructions, a blank turn of the user | nothing; "(This message is empty.)" where the turns before and after it are the model's |
| Messages | images but JPEG, PNG, GIF and WebP; documents but PDF and plain text; sounds and videos | documents that are text (CSV, JSON, …) as plain text, and of one by its address that is no PDF the address; the others are left out |
| Converse | a temperature above 1 | 1 |
| | a document without text | "See the document." beside it |
| | documents but PDF, Word, Excel, HTML, CSV, Markdown and text; results that are only white space | documents that are text (JSON, …) as text; the others are left out; an empty result |
| | a name of a document that stands twice in the request | the later ones numbered: "a", "a 2" |
| | a schema of the answer with open objects | the schema closed, as for Anthropic; one that has to stay open is the arguments of a tool |

`, "~", "`")

// pageLimits is written with ' for `.
var pageLimits = strings.ReplaceAll(`## Answers without end

A model that does not stop, and a server that only pretends to be at work, must not fill the memory or hold a request for ever.
'Client.Limits', or 'Request.Limits' for one request, say where an answer is given up; 0 is the default, less than 0 is no
limit. They hold for every format, streamed or whole. The configuration file has them under 'limits'.

| limit | default | error kind | what counts |
|---|---|---|---|
| 'Bytes' | 256 MiB; 64 MiB of an answer that is one document | 'byte_limit' | the body of the response as it is unpacked, images and all |
| 'Text' | 4 MiB | 'text_limit' | text and the arguments of calls |
| 'Thinking' | 4 MiB | 'thinking_limit' | thinking |
| 'Events' | 5,000,000 | 'event_limit' | events, keep-alives too |
| 'Time' | 6 h | 'time_limit' | the time the vendor takes; not what the caller does between two events |
| 'Idle' | 30 min | 'stalled' | the time without a piece of the answer; keep-alives, blanks and empty pieces are none |

'Client.Timeouts' come before: 10 s for a connection, 5 minutes for the first byte, 2 minutes without any byte. None of the
limits is retried: the same question would run into it again. An event of more than 32 MiB or 262,144 JSON values, and a whole
answer of more than 1,048,576 values, is 'malformed'. 'run' and 'chat' end within a second of SIGTERM whatever the
server does.

`, "'", "`")
