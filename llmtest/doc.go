// Package llmtest holds what tests of models, tools and stores share. Its
// suites are for everybody who implements an interface of this module.
package llmtest
