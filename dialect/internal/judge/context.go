package judge

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// Doubt is the reason why a call is doubtful: what the text around it says. The zero value is no reason.
type Doubt uint8

const (
	NoDoubt Doubt = iota
	InSentence
	AfterQuestion
	AfterRefusal
	AfterCondition
	AfterExample
	BeforeExplanation
)

// Rule returns the repair rule that records the doubt.
func (d Doubt) Rule() string {
	return [...]string{
		"", "call-in-sentence", "call-after-question", "call-after-refusal", "call-after-condition", "call-after-example",
		"call-before-explanation",
	}[d]
}

// Why returns a sentence about the doubt with the given repair rule, and an empty string for any other rule.
func Why(rule string) string {
	for d := InSentence; d <= BeforeExplanation; d++ {
		if d.Rule() == rule {
			return [...]string{
				"", "the words around it may only talk about it", "a question stands before it", "the sentence before it refuses or forbids something",
				"the sentence before it waits for a condition or an approval", "the sentence before it announces an example", "a paragraph after it explains it",
			}[d]
		}
	}
	return ""
}

// surroundings is what the text before the current calls says about them.
type surroundings struct {
	begin      int   // offset of the candidate
	since      int   // offset of the text before it
	byLine     bool  // its marker is a word that begins a line
	noted      bool  // the other fields are set
	Above      Doubt // what the text says against the calls
	Introduced bool  // it ends in a label
}

// Approach records that a candidate may begin at the current position, with the marker t if there is one.
func (e *Evidence) Approach(t *lexicon.Token) {
	around := surroundings{begin: e.Offset(), since: e.Since, byLine: t != nil && t.Line}
	if e.Calls > 0 && len(bytes.TrimSpace(e.Lately())) == 0 { // it follows another call
		around.noted, around.Above, around.Introduced = true, e.Above, e.Introduced
	}
	e.surroundings = around
}

// Revisit makes the text from an offset up to here the candidate.
func (e *Evidence) Revisit(at int) {
	e.surroundings = surroundings{begin: at, since: e.Since}
	e.NoteAbove()
}

// NoteAbove finds out what the text before the candidate says about it. It is called once the candidate is a call.
func (e *Evidence) NoteAbove() {
	if e.noted {
		return
	}
	e.noted = true
	before := e.Buf[max(0, max(e.since, e.begin-scan.MaxAbove)-e.Base):max(0, e.begin-e.Base)]
	e.Introduced = EndsLabel(LabelAbove(paragraph(before)))
	if line := lastSentence(before); len(line) > 0 {
		if e.Above = doubtIn(line); e.Above == AfterQuestion && (e.byLine || isBlockQuote(before)) { // the model asks itself, or repeats a question
			e.Above = NoDoubt
		}
	}
}

// isBlockQuote reports whether the last line of the text before is a quotation of Markdown.
func isBlockQuote(before []byte) bool {
	line := bytes.TrimSpace(chars.LastLine(bytes.TrimRight(before, " \t\r\n")))
	return len(line) > 0 && line[0] == '>'
}

// paragraph returns text without the white space and the opening lines of fences and blocks at its end. One newline
// stays if there was one.
func paragraph(before []byte) []byte {
	for {
		text := bytes.TrimRight(before, " \t\r\n")
		line := chars.LastLine(text)
		if bare := bytes.TrimSpace(line); len(bare) > 0 && (bytes.HasPrefix(bare, []byte("```")) || isTildes(bare) || isRule(bare)) {
			before = before[:len(text)-len(line)]
			continue
		}
		if i := bytes.IndexByte(before[len(text):], '\n'); i >= 0 {
			return before[:len(text)+i+1]
		}
		return before
	}
}

// isRule reports whether a line is four or more of the same sign, which begins or ends a block of AsciiDoc.
func isRule(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) >= 4 && strings.IndexByte("-.=_+*/", line[0]) >= 0 && len(bytes.Trim(line, string(line[:1]))) == 0
}

// lastSentence returns the last sentence of the text before a call, with its end.
func lastSentence(before []byte) []byte {
	text := bytes.TrimRight(paragraph(before), " \t\r\n*_\"'”’»」`")
	if i := bytes.LastIndex(text, []byte("\n\n")); i >= 0 {
		text = text[i+2:]
	}
	end := len(text)
	if end == 0 {
		return nil
	}
	_, size := utf8.DecodeLastRune(text)
	for i := end - size; i > 0; {
		r, n := utf8.DecodeLastRune(text[:i])
		if endsClause(r) && (r >= utf8.RuneSelf || i < end && chars.IsSpace(text[i])) && !abbreviates(text[:i]) {
			return bytes.TrimSpace(text[i:])
		}
		i -= n
	}
	return bytes.TrimSpace(text)
}

// endsClause reports whether r ends a sentence or a label.
func endsClause(r rune) bool { return strings.ContainsRune(".!?:。！？：؟।…", r) }

// isQuestion reports whether r is a question mark of any script.
func isQuestion(r rune) bool { return strings.ContainsRune("?？؟;՞፧⁇", r) && r != ';' }

// doubtIn returns what the last sentence before a call says against it. A refusal in an earlier clause than the
// one that announces the call, as in "I don't know, let me look:", may not be about the call.
func doubtIn(sentence []byte) Doubt {
	doubt := doubtInClauses(sentence)
	if doubt != AfterRefusal || !EndsLabel(sentence) {
		return doubt
	}
	comma := bytes.LastIndexFunc(sentence, func(r rune) bool { return strings.ContainsRune(",،，、", r) })
	if comma < 0 {
		return doubt
	}
	_, size := utf8.DecodeRune(sentence[comma:])
	if last := bytes.TrimSpace(sentence[comma+size:]); len(last) > 0 && doubtInClauses(last) == NoDoubt {
		return InSentence
	}
	return doubt
}

// doubtInClauses is doubtIn for a whole sentence. Its structure decides first, words after it.
func doubtInClauses(sentence []byte) Doubt {
	last, _ := utf8.DecodeLastRune(sentence)
	if isQuestion(last) {
		return AfterQuestion
	}
	low := strings.ToLower(string(sentence))
	for _, turn := range turns {
		if i := strings.LastIndex(low, turn); i > 0 {
			low = low[i+len(turn):] // only the last clause is about the call
		}
	}
	for i, word := range strings.FieldsFunc(low, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) && r != '\'' && r != '’'
	}) {
		word = strings.ReplaceAll(word, "’", "'")
		switch {
		case word == "no" && isEnglish(low): // it denies a noun there, not the call
		case refusals[word] || strings.HasSuffix(word, "n't") || strings.HasPrefix(word, "n'"):
			return AfterRefusal
		case i == 0 && conditions[word]:
			return AfterCondition
		}
	}
	for _, list := range [...]struct {
		words []string
		doubt Doubt
	}{{refusing, AfterRefusal}, {conditional, AfterCondition}, {approvals, AfterCondition}, {exampleWords, AfterExample}} {
		for _, s := range list.words {
			if strings.Contains(low, s) {
				return list.doubt
			}
		}
	}
	return NoDoubt
}

// isEnglish reports whether a sentence has a word that only English has.
func isEnglish(low string) bool {
	return slices.ContainsFunc(strings.Fields(low), func(w string) bool { return english[strings.Trim(w, ".,;:!?\"'()")] })
}

// english are frequent words of English that the other languages with the word "no" do not have.
var english = words(`the and there is are was you it of with this that have has problem worries need yet more any result results`)

// turns begin a clause in which the model does something else than what it said before.
var turns = []string{
	" but ", ", so ", " therefore ", " instead ", " aber ", " sondern ", " deshalb ", " daher ", " mais ", " donc ", " pero ", " así que ", " sino ", " ma ", " quindi ", " mas ", " então ", " portanto ",
	" maar ", " dus ", " ale ", " więc ", " но ", " а ", " поэтому ", "しかし", "ですが", "ますが", "ので", "そこで", "지만", "그래서", "但", "所以", "因此", "لكن", "لذلك", "लेकिन", "परंतु", "इसलिए", " ama ", " ancak ", " bu yüzden ",
}

// words makes a set of the words in a string.
func words(s string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// refusals are words that deny, forbid or refuse.
var refusals = words(`not never cannot refuse decline wrong incorrect invalid
nicht nie niemals kein keine keinen keinem keiner weigere verweigere falsch
pas jamais refuse aucun aucune
no nunca jamás
non mai rifiuto
não
niet nooit geen weiger
nie nigdy odmawiam
не нет никогда нельзя ни ні не
لا لن لم ليس أرفض
नहीं मत न
değil asla hayır reddediyorum
inte aldrig ikke aldri ingen ej
niciodată nem soha ei älä δεν μην ποτέ לא אל نه نمی không đừng tidak jangan ne nikdy`)

// refusing are parts of words that do the same in languages that join or do not separate words.
var refusing = []string{
	"ません", "ないで", "しない", "禁止", "않", "마세요", "말아", "말고", "금지", "못하", "不会", "不要", "不能", "不执行", "不得", "不应", "不再", "不可", "不想", "别发", "不調用", "不调用", "绝不", "勿", "禁用",
	"mayaca", "meyece", "mayın", "meyin", "mıyor", "miyor", "muyor", "müyor", "ไม่", "อย่า",
}

// conditions are words that begin a sentence about a later or a possible call.
var conditions = words(`if once unless suppose imagine
falls sobald wenn
si lorsque quand dès
cuando
se quando
zodra
als indien
jeśli jeżeli gdy gdyby gdybyś gdybyście
если когда
إذا لو
यदि अगर
eğer
när hvis når dacă ha kun jos εάν αν אם اگر nếu jika kalau když pokud`)

// conditional are parts of words that make a condition in languages that join or do not separate words.
var conditional = []string{
	"なら", "たら、", "れば、", "다면", "려면", "으면 ", "시면 ", "如果", "要是", "假如", "倘若", "seydi", "saydı", "rseniz", "rsanız", "isters",
}

// approvals are parts of words about the consent that a call waits for.
var approvals = []string{
	"confirm", "approv", "permission", "your consent", "bestätig", "erlaubnis", "freigabe", "zustimm", "autoris", "permis", "autoriz", "conferm", "permess", "permissão",
	"bevestig", "akkoord", "toestemming", "potwierdz", "zgod", "подтверд", "разреш", "соглас", "承認", "許可", "승인", "허락", "批准", "同意", "确认之后", "确认后", "موافق", "وافق", "تأكيد", "पुष्टि", "अनुमति", "onay", "izin",
}

// explainedBelow reports whether the prose after the call that ends i bytes from here is about the call: a label
// introduced the call, the prose asks a question or is the next item of a list, or it uses the words for parts of a call.
// Prose directly on the next line counts only after a label.
func (e *Evidence) explainedBelow(i int) bool {
	lines := 0
	for n := 0; n < 4*scan.MaxGap; n++ {
		if !e.At(i) {
			return false
		}
		switch c := e.Buf[e.Pos+i]; {
		case c == '\n':
			lines++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case lines < 2 && (lines == 0 || !e.Introduced) && (chars.IsLetter(c) || c >= utf8.RuneSelf && unicode.IsLetter(e.Letter(i))):
			return false
		case lines == 0 && strings.IndexByte(`])}"';`, c) >= 0:
			i++
		case e.HasAt(i, "```"):
			if lines > 1 {
				return false
			}
			i, lines = i+e.fenceMarks(i), 0
		default:
			if t, k := e.Match(i); k > 0 {
				if t.Line || t.Is(lexicon.Opens) && !t.Is(lexicon.Closes) || t.Is(lexicon.TagCall) || t.Is(lexicon.Thinks) || t.Is(lexicon.Heads) {
					return false
				}
				i, lines = i+k, 0
				continue
			}
			if word, end := e.ClosingWord(i); word != "" && e.HasAt(i, "</") {
				i, lines = end, 0
				continue
			}
			return lines > 0 && e.proseBegins(i) && (e.Introduced || lines > 1 && e.speaksOfCall(i))
		}
	}
	return false
}

// fenceMarks returns the number of backticks at i.
func (e *Evidence) fenceMarks(i int) (n int) {
	for e.Peek(i+n) == '`' {
		n++
	}
	return n
}

// proseBegins reports whether a paragraph of words begins at i: letters, or the number or sign of an item before them.
func (e *Evidence) proseBegins(i int) bool {
	i = e.pastSigns(i)
	for _, s := range e.Lex.Results {
		if e.HasAt(i, s) {
			return false
		}
	}
	return e.At(i) && unicode.IsLetter(e.Letter(i)) && !e.NameAt(i) && !e.AssignsAt(i) && !e.CallAt(i) && e.twoWords(i)
}

// pastSigns returns the index after the signs before a word at i: the number of an item, a bracket or a quote.
func (e *Evidence) pastSigns(i int) int {
	for n := 0; n < 8 && e.At(i); n++ {
		r := e.Letter(i)
		if !unicode.IsDigit(r) && !unicode.IsPunct(r) && r != ' ' && r != '+' {
			break
		}
		i += utf8.RuneLen(r)
	}
	return i
}

// speaksOfCall reports whether the paragraph at i asks something, is an item of a list, or explains a call. It looks at
// most maxBelow bytes ahead.
func (e *Evidence) speaksOfCall(i int) bool {
	end := i
	for end < i+maxBelow && e.At(end) && !(e.Buf[e.Pos+end] == '\n' && e.Peek(end+1) == '\n') {
		end++
	}
	text := bytes.TrimSpace(e.Buf[e.Pos+i : e.Pos+end])
	last, _ := utf8.DecodeLastRune(bytes.TrimRight(text, "*_\"'”’»」"))
	if isQuestion(last) || isListed(text) {
		return true
	}
	low := strings.ToLower(string(text))
	for _, s := range aboutCalls {
		if strings.Contains(low, s) {
			return true
		}
	}
	return false
}

// isListed reports whether a line begins with the number of an item.
func isListed(line []byte) bool {
	digits := 0
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	return digits > 0 && digits+1 < len(line) && (line[digits] == '.' || line[digits] == ')') && line[digits+1] == ' '
}

// maxBelow bounds how much of the paragraph after a call is read.
const maxBelow = 256

// aboutCalls are words that explain a call and its parts.
var aboutCalls = []string{
	"argument", "parameter", "function call", "tool call", "this call", "the call", "syntax", "placeholder", "aufruf", "argument", "paramètre", "appel ", "llamada", "parámetro", "chiamata", "argomento", "parametro",
	"chamada", "parâmetro", "aanroep", "wywołan", "argumentem", "вызов", "аргумент", "параметр", "引数", "呼び出し", "인수", "호출", "매개변수", "参数", "调用", "參數", "الوسيط", "المعامل", "استدعاء", "तर्क", "पैरामीटर", "कॉल", "çağrı", "bağımsız değişken", "parametre",
}

// twoWords reports whether two words, or a word of a script without spaces, follow at i on a line.
func (e *Evidence) twoWords(i int) bool {
	letters, gap := 0, false
	for n := 0; n < 2*scan.MaxGap && e.At(i) && e.Buf[e.Pos+i] != '\n'; n++ {
		c := e.Buf[e.Pos+i]
		switch {
		case c == ' ':
			gap = letters > 0
		case c >= utf8.RuneSelf || chars.IsLetter(c):
			if gap {
				return true
			}
			letters++
		case c == '=' || c == '{' || c == '<' || c == '[':
			return false
		}
		i++
	}
	return letters >= 6
}
