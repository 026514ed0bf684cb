package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// windowWords are the messages with which vendors refuse a request that is longer than the window, with placeholders
// for its tokens and for the maximum. Where a vendor has a code for that, the kind of the error gives it.
var windowWords = []struct {
	format string
	kind   llm.Kind
	words  string
}{
	{wire.Chat, llm.TooLong, "This model's maximum context length is {most} tokens. However, your messages resulted in {n} tokens. Please reduce the length of the messages."},
	{wire.Responses, llm.TooLong, "Your input exceeds the context window of this model. Please adjust your input and try again."},
	{wire.Messages, llm.Invalid, "prompt is too long: {n} tokens > {most} maximum"},
	{wire.Gemini, llm.Invalid, "The input token count ({n}) exceeds the maximum number of tokens allowed ({most})."},
	{wire.Ollama, llm.Invalid, "the input length exceeds the context length"},
	{wire.Converse, llm.Invalid, "Input is too long for requested model."},
}

// tooLong is the error about a request of n tokens where there may be fewer.
func tooLong(codec wire.Codec, n, most int) error {
	e := &llm.Error{Op: "sim", Kind: llm.TooLong, Status: http.StatusBadRequest, Err: fmt.Errorf("%d tokens are more than %d", n, most)}
	fill := strings.NewReplacer("{n}", strconv.Itoa(n), "{most}", strconv.Itoa(most))
	for _, row := range windowWords {
		if row.format == codec.Format {
			e.Kind, e.Err = row.kind, errors.New(fill.Replace(row.words))
		}
	}
	return e
}
