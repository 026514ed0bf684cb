package wire_test

import (
	"testing"

	"github.com/toolpost/toolpost/llmtest"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// The formats of this package keep the promises that strangers are held to.
func TestCodecs(t *testing.T) {
	for _, format := range wire.Formats() {
		t.Run(format, func(t *testing.T) { llmtest.TestCodec(t, wire.Codec{Format: format}) })
	}
	for name, quirks := range map[string]format.Quirks{"vertex": wire.OnVertex(), "bedrock": wire.OnBedrock()} {
		t.Run("messages on "+name, func(t *testing.T) { llmtest.TestCodec(t, wire.Codec{Format: wire.Messages, Quirks: quirks}) })
	}
}
