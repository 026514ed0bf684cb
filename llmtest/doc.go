// Package llmtest holds shared helpers for tests of models, tools and stores.
// Its suites are for all implementers of an interface of this module.
package llmtest
