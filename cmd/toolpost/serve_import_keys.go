package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/secret"
)

// keyForm is what keys of many vendors begin with, whatever comes then.
var keyForm = regexp.MustCompile(`(?i)(^|[^0-9a-z])sk-[0-9a-z_-]{12,}`)

// holdsKey reports whether a text has a secret of a form that is known.
func holdsKey(text string) bool {
	return secret.HasForm(text) || keyForm.MatchString(text)
}

// keyInName is a word for a key in the name of a model, and what is set to it.
var keyInName = regexp.MustCompile(`(?i)(^|[^a-z])(api[-_]?key|key|token|secret|password)=[^\s]*`)

// nameHoldsKey reports whether the name of a model holds a key: one of a known form, or what is called so.
func nameHoldsKey(name string) bool { return holdsKey(name) || keyInName.MatchString(name) }

// In a path of an address: words before a key, and pieces that nobody thought up. Version numbers and names of models have neither.
var (
	keyWord    = regexp.MustCompile(`(?i)(^|[^a-z])(api[-_]?key|key|token|secret|password)[=:/]`)
	drawnPiece = regexp.MustCompile(`[0-9A-Za-z]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
)

// longWord is how many letters a word may have that somebody thought up.
const longWord = 23

// mayHoldKey reports whether a path holds what may be a key: something after a word for one, or letters and digits that look drawn at random. It
// says so too often rather than too seldom: nothing is lost by it but a variable that has to be set.
func mayHoldKey(path string) bool {
	if holdsKey(path) || keyWord.MatchString(path) {
		return true
	}
	return slices.ContainsFunc(drawnPiece.FindAllString(path, -1), func(piece string) bool {
		return len(piece) > longWord || strings.ContainsAny(piece, "0123456789")
	})
}
