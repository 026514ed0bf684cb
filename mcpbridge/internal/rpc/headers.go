package rpc

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
)

// MaxHeader bounds the value of a header.
const MaxHeader = 1024

// codedHeader begins a value that is not plain, in Base64; ?= ends it.
const codedHeader = "=?base64?"

// PlainHeader takes out of a value what a header cannot hold.
func PlainHeader(v string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, []byte(clip.Bytes(v, MaxHeader))))
}

// HeaderText returns a value as a header has it.
func HeaderText(v string) string {
	if PlainHeader(v) == v {
		return v
	}
	return codedHeader + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
}

// HeaderMeans reports whether a header has a value.
func HeaderMeans(sent, v string) bool {
	if sent == v {
		return true
	}
	coded, ok := strings.CutPrefix(sent, codedHeader)
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, "?="))
	return ok && err == nil && string(text) == v
}
