package config

import (
	"encoding/json"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// ServerTool is a tool as its server describes it.
type ServerTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	// The hints are what the server says of the tool's effects; see [Trust].
	ReadOnlyHint    bool  `json:"read_only_hint,omitempty"`
	IdempotentHint  bool  `json:"idempotent_hint,omitempty"`
	DestructiveHint *bool `json:"destructive_hint,omitempty"`
	OpenWorldHint   *bool `json:"open_world_hint,omitempty"`
	// TaskOnly means that the tool can only be called as a task.
	TaskOnly bool `json:"task_only,omitempty"`
}

// Fingerprint is the hash of all that a model or a person is told of the tool.
func (d ServerTool) Fingerprint() journal.Hash {
	d.TaskOnly = false
	h, err := journal.HashValue(d)
	if err != nil {
		panic(err) // definitions are made of strings, booleans and JSON that was read
	}
	return h
}

// Effects is what the hints promise. What they leave open is the worst case.
func (d ServerTool) Effects() tool.Effects {
	var e tool.Effects
	switch {
	case d.ReadOnlyHint:
		e = tool.ReadOnly
	case d.IdempotentHint:
		e = tool.Idempotent
	}
	if d.OpenWorldHint != nil && !*d.OpenWorldHint {
		e |= tool.Local
	}
	return e
}

// ToolChange is a tool that its server describes otherwise than when it was accepted.
type ToolChange struct {
	Was, Is ServerTool
}
