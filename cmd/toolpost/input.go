package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// standardInput returns the command's input. Waiting for more of it ends with
// the command's context: a terminal or a pipe may say nothing for ever.
func standardInput(cmd *cobra.Command) io.Reader {
	in := cmd.InOrStdin()
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return in
		}
	}
	return interruptible{cmd.Context(), in}
}

// interruptible is a reader whose Read returns when the context ends. The read
// that goes on then is left alone: nothing can stop it, and the program ends.
type interruptible struct {
	ctx  context.Context
	from io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	own := make([]byte, len(p)) // p is the caller's again when Read returns
	done := make(chan result, 1)
	go func() {
		n, err := r.from.Read(own)
		done <- result{n, err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case res := <-done:
		return copy(p, own[:res.n]), res.err
	}
}
