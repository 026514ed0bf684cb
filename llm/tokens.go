package llm

import (
	"unicode"
	"unicode/utf8"
)

// The number of tokens for each kind of piece of a text, fitted to counts of
// o200k_base over English, code, JSON, Chinese and definitions of tools.
const (
	upperWord, upperMore           = 0.45, 0.295         // a word in capitals, and each letter after the second
	spacedWord, spacedMore         = 0.933, 0.091        // a word after a blank, each letter from the 7th to the 11th, and after the 16th as below
	tightWord, tightMore, tightEnd = 0.671, 0.066, 0.219 // another word, each letter from the 5th to the 9th, and after that
	threeDigits                    = 1.353
	lineEnd                        = 1.32         // with the blank lines and the indentation after it
	blanks                         = 1.627        // more than one
	signs, signsMore               = 0.963, 0.253 // signs in a row, and each after the second
	hanSign                        = 0.711
	otherLetter                    = 0.6
	otherSign                      = 1.047

	perMessage = 4
	perTool    = 8
	imageSize  = 1600
	fileSize   = 4000 // of a file given by reference
	perByte    = 0.1  // of an inline file
)

// EstimateText estimates the tokens of a text. The sum is within a tenth of
// o200k_base for English, code, JSON and Chinese. Each vendor counts
// differently; once there is an answer, the vendor's count in [Usage] is
// better.
func EstimateText(s string) int { return int(estimate(s) + 0.5) }

func estimate(s string) float64 {
	n := 0.0
	for i := 0; i < len(s); {
		j := i + 1
		switch c := s[i]; {
		case isUpper(c) || isLower(c):
			j = wordEnd(s, i)
			n += word(s, i, j)
		case isDigit(c):
			for j < len(s) && isDigit(s[j]) {
				j++
			}
			n += float64((j-i+2)/3) * threeDigits
		case c == '\n' || c == '\r':
			for j < len(s) && isBlank(s[j]) {
				j++
			}
			n += lineEnd
		case c == ' ' || c == '\t':
			for j < len(s) && (s[j] == ' ' || s[j] == '\t') {
				j++
			}
			if j-i > 1 {
				n += blanks
			}
		case c < utf8.RuneSelf:
			for j < len(s) && isSign(s[j]) {
				j++
			}
			n += signs + float64(max(0, j-i-2))*signsMore
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			j = i + size
			n += foreign(r)
		}
		i = j
	}
	return n
}

// wordEnd returns where a word ends: capitals, then small letters.
func wordEnd(s string, i int) int {
	for i < len(s) && isUpper(s[i]) {
		i++
	}
	for i < len(s) && isLower(s[i]) {
		i++
	}
	return i
}

func word(s string, i, j int) float64 {
	length := j - i
	switch {
	case length > 1 && isUpper(s[j-1]):
		return upperWord + float64(length-2)*upperMore
	case i == 0 || s[i-1] == ' ':
		return spacedWord + float64(max(0, min(length, 11)-6))*spacedMore + float64(max(0, length-16))*tightEnd
	}
	return tightWord + float64(max(0, min(length, 9)-4))*tightMore + float64(max(0, length-9))*tightEnd
}

// foreign returns the tokens of a character outside of ASCII.
func foreign(r rune) float64 {
	switch {
	case r >= 0x3400 && r <= 0x9fff, r >= 0x20000 && r <= 0x3ffff:
		return hanSign
	case unicode.IsLetter(r):
		return otherLetter
	}
	return otherSign
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isSign(c byte) bool {
	return c < utf8.RuneSelf && !isUpper(c) && !isLower(c) && !isDigit(c) && !isBlank(c)
}

// EstimateTool estimates the tokens of the definition of a tool.
func EstimateTool(d ToolDef) int {
	return int(estimate(d.Name)+estimate(d.Description)+estimate(string(d.Schema))+0.5) + perTool
}

// EstimateMessages estimates the tokens of messages. The estimates of images and files are guesses.
func EstimateMessages(msgs ...Message) int {
	n := 0.0
	for _, m := range msgs {
		n += perMessage + estimateParts(m.Parts)
	}
	return int(n + 0.5)
}

func estimateParts(parts []Part) float64 {
	n := 0.0
	for _, p := range parts {
		switch p := p.(type) {
		case Text:
			n += estimate(p.Text)
		case Thinking:
			n += max(estimate(p.Text), float64(len(p.State.Data))/4)
		case Call:
			n += perMessage + estimate(p.Name) + estimate(string(p.Args))
		case Result:
			n += perMessage + estimateParts(p.Parts)
		case Media:
			switch {
			case p.Kind == Image:
				n += imageSize
			case len(p.Data) == 0:
				n += fileSize
			default:
				n += float64(len(p.Data)) * perByte
			}
		}
	}
	return n
}

// EstimateRequest estimates the tokens of a request: its system prompt,
// messages, tools and schema.
func EstimateRequest(r *Request) int {
	n := EstimateText(r.System) + EstimateMessages(r.Messages...)
	for _, t := range r.Tools {
		n += EstimateTool(t)
	}
	if r.Output != nil {
		n += EstimateText(string(r.Output.Schema))
	}
	return n
}
