// Package compaction makes a conversation fit the window of a model: it cuts results and long texts,
// and replaces the oldest messages by a summary. Package agent decides when, and records the outcome.
package compaction
