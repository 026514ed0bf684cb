// Package relay holds what a relay does with an event of the stream that it passes on.
package relay

// Action is the kind of a decision.
type Action uint8

// The actions.
const (
	Pass Action = iota
	Hold
	Replace
	GiveUp
)
