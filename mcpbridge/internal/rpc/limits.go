package rpc

import (
	"github.com/toolpost/toolpost/internal/child"
)

// MaxQuestion bounds the text of a server's question.
const MaxQuestion = 4 << 10

// The text of a server is shown without what a terminal would obey, and bounded.
func PlainText(text string) string { return child.PlainText(text) }

// MaxFrame bounds one message of a server.
const MaxFrame = 16 << 20

// MaxStream bounds the events that answer one request.
const MaxStream = 4 * MaxFrame

// MaxClientFrame bounds one message of a client.
const MaxClientFrame = 4 << 20

// MaxState bounds the state that a client sends back.
const MaxState = 256 << 10

// QuestionKeyPrefix begins the keys of questions of ours; see questionKey.
const QuestionKeyPrefix = "q-toolpost-"

// MaxBatch bounds a batch of a client.
const MaxBatch = 64

// Patience is how long a program may take to end by itself.
const Patience = child.Patience

// IsControl reports whether a terminal might obey r.
func IsControl(r rune) bool { return child.IsControl(r) }
