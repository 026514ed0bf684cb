package provider

import (
	"iter"

	"github.com/toolpost/toolpost/llm"
)

type promise struct{}

func (m *Model) promise(j *job, req *llm.Request) promise { return promise{} }

func (p promise) keep(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] { return raw }
