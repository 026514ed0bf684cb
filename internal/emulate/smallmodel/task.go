package smallmodel

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
)

// task is what a request asks to do with files, folders, addresses or programs, and
// the values that it gives.
type task struct {
	deed deed
	// sure is set if the request has the words for the deed. Otherwise it only names a file.
	sure   bool
	reason string
	text   map[takes]string
	args   []string // of the program; nil if unknown
	lines  map[takes]int
}

// maxTask is how long a request is that is read as a task.
const maxTask = 2000

// taskOf reads a request. A request that names no file, folder, address, program or
// text to look for is not a task.
func taskOf(text string) task {
	text = strings.TrimSpace(text)
	if len(text) > maxTask {
		return task{}
	}
	r := newTaskReader(text)
	for _, read := range []func() (task, bool){r.fetch, r.run, r.rename, r.web, r.edit, r.write, r.search, r.list, r.read} {
		if t, ok := read(); ok {
			return t
		}
	}
	return task{}
}

// taskReader has the parts of a request that its readers look at.
type taskReader struct {
	text, lower string
	words       []string // in lower case, without punctuation around them
	addresses   []string
	domains     []string // names of hosts without more
	files       []string // paths of files, as they are written
	folders     []string // paths of folders
	globs       []string
	first       string // the first word that is not a courtesy
}

func newTaskReader(text string) *taskReader {
	r := &taskReader{text: text, lower: strings.ToLower(text)}
	fields := strings.Fields(text)
	for i, w := range fields {
		bare := unwrapped(w)
		if i+1 < len(fields) && strings.HasPrefix(bare, ".") && strings.HasPrefix(strings.ToLower(fields[i+1]), "file") {
			bare = strings.TrimPrefix(bare, ".") // ".data files" are not a file
		}
		r.words = append(r.words, strings.ToLower(bare))
		switch {
		case bare == "":
		case strings.Contains(bare, "://") || strings.HasPrefix(bare, "www."):
			if !quoted(w) || !strings.HasSuffix(bare, "//") {
				r.addresses = append(r.addresses, bare)
			}
		case strings.ContainsAny(bare, "*?") && strings.ContainsFunc(bare, unicode.IsLetter) && !strings.HasSuffix(bare, "?"):
			r.globs = append(r.globs, bare)
		case isDomain(bare):
			r.domains = append(r.domains, bare)
		case isFolder(bare):
			r.folders = append(r.folders, bare)
		case isFile(bare):
			r.files = append(r.files, bare)
		}
	}
	for _, w := range r.words {
		if !slices.Contains(polite, w) && !slices.Contains(courteous, w) && w != "the" {
			r.first = w
			break
		}
	}
	return r
}

// unwrapped returns a word without the punctuation around it. The dot of ".gitignore"
// and of "./..." stays.
func unwrapped(w string) string {
	w = strings.TrimLeft(w, "\"'`“‘([{<,;:")
	if strings.HasSuffix(w, "/...") || w == "." {
		return w
	}
	return strings.TrimRight(w, "\"'`”’)]}>,;:.!?")
}

func quoted(w string) bool { return w != "" && strings.ContainsRune("\"'`“‘", []rune(w)[0]) }

// fileNames are names of files without an ending.
var fileNames = strings.Fields("makefile dockerfile license readme changelog gemfile rakefile procfile jenkinsfile vagrantfile caddyfile justfile")

// products are names that have the form of a file.
var products = strings.Fields("node.js vue.js next.js react.js d3.js three.js express.js asp.net .net socket.io")

// domains are the ends of addresses that are no ends of files.
var domains = strings.Fields("com org net io dev edu gov app ai info eu de fr uk co")

// isDomain reports whether a word is the name of a host, like example.com.
func isDomain(w string) bool {
	host, _, _ := strings.Cut(w, "/")
	i := strings.LastIndexByte(host, '.')
	return i > 0 && !strings.ContainsAny(host, "@_") && slices.Contains(domains, host[i+1:]) && !slices.Contains(products, strings.ToLower(w)) && strings.ContainsFunc(host, unicode.IsLetter)
}

// isFile reports whether a word is the path of a file. An identifier with a dot, like
// os.Getenv, is not.
func isFile(w string) bool {
	base := w[strings.LastIndexByte(w, '/')+1:]
	if slices.Contains(fileNames, strings.ToLower(base)) && base != strings.ToLower(base) {
		return true
	}
	if hidden().MatchString(w) {
		return true
	}
	if !isPath(w) || slices.Contains(products, strings.ToLower(w)) || strings.ContainsAny(w, "()=#") {
		return false
	}
	end := base[strings.LastIndexByte(base, '.')+1:]
	return end == strings.ToLower(end) || end == strings.ToUpper(end) && len(end) <= 4
}

// hidden is the name of a hidden file.
var hidden = pattern(`^\.[a-z][\w-]{2,30}$`)

// isFolder reports whether a word is the path of a folder: it ends with a slash, or
// has one and no ending.
func isFolder(w string) bool {
	if !isPath(w) || strings.Contains(w, "://") || strings.HasSuffix(w, "...") {
		return false
	}
	base := w[strings.LastIndexByte(w, '/')+1:]
	return strings.Contains(w, "/") && !strings.Contains(base, ".") && !slices.Contains(fileNames, strings.ToLower(base))
}

func (r *taskReader) says(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		if strings.Contains(w, " ") {
			return wording.Mentions(r.lower, w)
		}
		return slices.Contains(r.words, w)
	})
}

func (r *taskReader) starts(words ...string) bool { return slices.Contains(words, r.first) }

// fetching are the words, besides those of reading, with which a request for a page begins.
var fetching = strings.Fields("download fetch get visit load")

// fetch: the request has an address.
func (r *taskReader) fetch() (task, bool) {
	named := len(r.addresses) == 0 && len(r.domains) == 1 && r.starts("open", "fetch", "visit", "download", "read", "load")
	if len(r.addresses) == 0 && !named || len(r.files) > 0 && r.says("in") && r.says(changeVerbs...) {
		return task{}, false
	}
	if r.says("run", "execute") && r.says("curl", "wget", "git") {
		return task{}, false
	}
	url := append(r.addresses, r.domains...)[0]
	if !strings.Contains(url, "://") {
		url = "https://" + url
	}
	sure := r.starts(reading...) || r.starts(fetching...)
	return task{deed: fetches, sure: sure, reason: "the request has an address", text: map[takes]string{takesAddress: url}}, true
}

// programs are programs that people name. Those that are also words of the language
// count only where a program is expected.
var (
	programs = strings.Fields("git npm npx yarn pnpm python python3 pip pip3 pytest cmake cargo rustc docker kubectl gofmt golangci-lint javac mvn gradle dotnet gcc clang tsc eslint prettier mypy ruff flake8 terraform psql sqlite3 systemctl apt-get brew rsync chmod mkdir curl wget unzip grep ls uname whoami")
	wordy    = strings.Fields("go make node java ruby gem rails bundle php composer jest black cat cp mv rm touch tar zip ps df du date echo head tail wc sort diff sed awk find ssh env printenv which uv apt helm sh bash")
)

// tooling are those that are followed by what they shall do: go test.
var tooling = strings.Fields("go make node gem bundle composer php")

// Words around a command in a sentence: those that end it, and those that come before it.
var (
	building = strings.Fields("build compile test install run lint format check start deploy")
	stops    = strings.Fields("and to for then please say says print prints show shows tell so because if when before after return returns output outputs report reports mean means does do in on from into now again here")
	starting = strings.Fields("run execute start launch use invoke")
	via      = strings.Fields("with using via by")
)

// run: the request names a program to run, or says to run something.
func (r *taskReader) run() (task, bool) {
	why := "the request names a program"
	fields := strings.Fields(r.text)
	for _, text := range ticked(r.text) { // `go test ./...`
		line := strings.Fields(text)
		if isProgram(line[0], true) && (len(line) > 1 || r.says(starting...)) {
			return runTask(why, line), true
		}
	}
	at := func(i int) []string { return commandLine(fields[i:]) }
	for i, w := range r.words { // with go test
		if slices.Contains(via, w) && i+1 < len(fields) && (isProgram(r.words[i+1], false) || (i+2 < len(fields) || r.starts(building...)) && slices.Contains(tooling, r.words[i+1])) && r.words[i+1] == unwrapped(fields[i+1]) {
			return runTask(why, at(i+1)), true
		}
	}
	for i, w := range r.words { // run go test
		sure := w == "run" || w == "execute" || i+2 < len(fields) && (slices.Contains(tooling, r.words[min(i+1, len(fields)-1)]) || strings.HasPrefix(fields[i+2], "-"))
		if slices.Contains(starting, w) && i+1 < len(fields) && isProgram(r.words[i+1], sure) {
			return runTask(why, at(i+1)), true
		}
	}
	if r.starts("run", "execute", "launch") && len(r.words) > 1 {
		i := slices.Index(r.words, r.first) + 1
		for i < len(fields) && slices.Contains([]string{"the", "command", "program", "script", "a", "an"}, r.words[i]) {
			i++
		}
		t := task{deed: runs, sure: true, reason: "the request says to run something"}
		if i < len(fields) && i == slices.Index(r.words, r.first)+1 {
			t = runTask(t.reason, at(i))
		} else if i < len(fields) && slices.Contains(r.words[:i], "command") {
			t = runTask(t.reason, at(i))
		}
		return t, true
	}
	if len(r.words) > 1 && r.words[0] == fields[0] && slices.Contains(programs, r.words[0]) && r.words[0] != "ls" && r.words[0] != "grep" {
		return runTask(why, at(0)), true
	}
	for i, w := range r.words { // what does git status say
		if w == fields[i] && slices.Contains(programs, w) && i+1 < len(fields) && !slices.Contains([]string{"ls", "grep"}, w) &&
			(w == "git" && slices.Contains(gitWords, r.words[i+1]) || strings.HasPrefix(r.words[i+1], "-")) {
			return runTask(why, at(i)), true
		}
	}
	return task{}, false
}

var gitWords = strings.Fields("status log diff branch show blame commit push pull fetch stash tag remote add checkout merge rebase init clone")

func isProgram(w string, expected bool) bool {
	w = strings.ToLower(strings.Trim(w, "`'\""))
	return slices.Contains(programs, w) || expected && (slices.Contains(wordy, w) || strings.HasPrefix(w, "./"))
}

func runTask(reason string, line []string) task {
	t := task{deed: runs, sure: true, reason: reason}
	if len(line) > 0 {
		t.text = map[takes]string{takesProgram: line[0]}
		t.args = append([]string{}, line[1:]...)
	}
	return t
}

// commandLine returns the words of a command at the start of a text: up to a word that
// belongs to the sentence.
func commandLine(fields []string) []string {
	var out []string
	for i, w := range fields {
		if i > 0 && slices.Contains(stops, strings.ToLower(unwrapped(w))) && !strings.HasPrefix(w, "-") {
			break
		}
		bare := strings.Trim(w, "`\"“”")
		if bare != "." && !strings.HasSuffix(bare, "...") {
			bare = strings.TrimRight(bare, ".,;:?!")
		}
		if bare == "" {
			break
		}
		out = append(out, bare)
		if bare != strings.Trim(w, "`\"“”") {
			break
		}
	}
	return out
}

// ticked returns the texts between backticks.
func ticked(text string) []string {
	var out []string
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 && strings.TrimSpace(part) != "" {
			out = append(out, part)
		}
	}
	return out
}

// rename: a file is moved or copied to another.
func (r *taskReader) rename() (task, bool) {
	if len(r.files)+len(r.folders) != 2 || !r.says("to", "into") {
		return task{}, false
	}
	places := r.places()
	switch {
	case r.starts("rename", "move"):
		return runTask("the request says to move a file", []string{"mv", places[0], places[1]}), true
	case r.starts("copy"):
		return runTask("the request says to copy a file", []string{"cp", places[0], places[1]}), true
	}
	return task{}, false
}

// places returns files and folders in the order of the text.
func (r *taskReader) places() []string {
	out := slices.Concat(r.files, r.folders)
	slices.SortStableFunc(out, func(a, b string) int { return strings.Index(r.text, a) - strings.Index(r.text, b) })
	return out
}

var webPhrases = []string{"search the web", "search the internet", "web search", "search online", "look up online", "look online", "on the web", "on the internet", "online"}

// recent are words for what a model cannot know from memory.
var recent = strings.Fields("today tonight yesterday tomorrow currently current latest newest recent news")

// web: the request says to search the web, or asks for what changes every day.
func (r *taskReader) web() (task, bool) {
	if len(r.files)+len(r.folders)+len(r.globs) > 0 || r.says("file", "files", "folder", "directory", "code", "repository", "project") || r.says("yesterday", "tomorrow") && r.says("i", "we", "my", "our", "you") {
		return task{}, false
	}
	phrased := r.says(webPhrases...) || r.starts("google")
	if !phrased && !(r.says(recent...) && r.starts(append([]string{"is", "are", "any", "find", "show", "get", "look"}, interrogatives...)...)) && !r.says("what's") {
		return task{}, false
	}
	if !phrased && !r.says(recent...) {
		return task{}, false
	}
	return task{deed: searchesWeb, sure: true, reason: "the request asks for what is on the web", text: map[takes]string{takesQuery: webQuery(r.text)}}, true
}

var webLead = pattern(`(?i)[,.;]?\s*(?:\b(?:please|can you|could you|do an?)\s+)*\b(?:search (?:the )?(?:web|internet|online)|web search|search online|look(?:ing)? up online|look online|look up|on the (?:web|internet)|online)\b(?:\s+for\b)?|^\s*(?:please )?google\b`)

// webQuery is the request without the words that say where to look.
func webQuery(text string) string {
	out := strings.Join(strings.Fields(webLead().ReplaceAllString(text, " ")), " ")
	for _, lead := range []string{"find ", "search ", "show me ", "tell me ", "please ", "for "} {
		if len(out) > len(lead) && strings.EqualFold(out[:len(lead)], lead) {
			out = out[len(lead):]
		}
	}
	if out = strings.Trim(out, " .,?!;:"); out == "" {
		return text
	}
	return out
}

var changeVerbs = strings.Fields("replace substitute swap exchange change correct update rename turn set bump modify edit fix delete remove")

const operand = "(\"[^\"]*\"|“[^”]*”|'[^']*'|`[^`]*`|\\S+(?: \\S+){0,5}?)"

// kinds are words before the text to be changed that say what it is.
const kinds = `(?:(?:the|all|every|each|any|a|word|words|text|string|variable|function|method|class|name|value|line|key|port|version|typo|occurrences?|of|field|number|year|timeout|title|setting) )*`

var changePatterns = []lazy{
	pattern(`(?i)\b(?:replace|substitute|swap|exchange) ` + kinds + operand + ` (?:with|by|for|to) ` + kinds + operand + `$`),
	pattern(`(?i)\bfrom ` + operand + ` to ` + operand + `$`),
	pattern(`(?i)\b(?:change|correct|update|rename|turn|modify|edit|fix|bump) ` + kinds + operand + ` (?:to|into|->|as) ` + operand + `$`),
	pattern(`(?i)\b(?:that|where) ` + operand + ` becomes ` + operand + `$`),
	pattern(`(?i)^` + operand + ` becomes ` + operand + `$`),
	pattern(`(?i)\b(?:typo|mistake|misspelling|word) ` + operand + `,? (?:it |which |that )?(?:should|must) (?:be|read) ` + operand + `$`),
	pattern(`(?i)\b(?:delete|remove|drop|erase) ` + kinds + operand + `()$`),
}

// edit: a text in a file becomes another.
func (r *taskReader) edit() (task, bool) {
	if len(r.files) != 1 || !r.says(changeVerbs...) && !r.says("typo", "becomes") {
		return task{}, false
	}
	text := r.without(r.files[0])
	for _, p := range changePatterns {
		for _, clause := range append(splitClauses(text), text) {
			m := p().FindStringSubmatch(strings.TrimRight(clause, " .!?,"))
			if m == nil {
				continue
			}
			before, after := bareText(m[1]), bareText(m[2])
			if before == "" || strings.EqualFold(before, "the file") {
				continue
			}
			return task{deed: edits, sure: true, reason: "the request says which text of a file becomes another", text: map[takes]string{takesPlace: r.files[0], takesBefore: before, takesAfter: after}}, true
		}
	}
	if r.starts(changeVerbs...) && !r.starts("delete", "remove") {
		return task{deed: edits, reason: "the request says to change a file", text: map[takes]string{takesPlace: r.files[0]}}, true
	}
	return task{}, false
}

func bareText(s string) string {
	s = strings.TrimSpace(s)
	for _, q := range []string{`""`, "“”", "''", "``"} {
		open, close := string([]rune(q)[0]), string([]rune(q)[1])
		if len(s) >= len(open)+len(close) && strings.HasPrefix(s, open) && strings.HasSuffix(s, close) {
			return s[len(open) : len(s)-len(close)]
		}
	}
	return strings.TrimRight(s, ",;:?!")
}

var clauseEnd = pattern(`[,;:] | and |\. `)

// splitClauses splits at the commas and colons of a sentence, but not inside quotes.
func splitClauses(text string) []string {
	var out []string
	start := 0
	for _, m := range clauseEnd().FindAllStringIndex(text, -1) {
		if strings.Count(text[start:m[0]], `"`)%2 == 1 {
			continue
		}
		out, start = append(out, text[start:m[0]]), m[1]
	}
	return append(out, text[start:])
}

// without returns the text without a file and the words that lead to it.
func (r *taskReader) without(file string) string {
	re := regexp.MustCompile(`(?i)(?:,? ?\b(?:in|from|of|inside|within|into|at)\b )?(?:\b(?:the|my|our|file)\b )*["'` + "`" + `]?` + regexp.QuoteMeta(file) + `["'` + "`" + `]?[,:]? ?`)
	out := re.ReplaceAllString(r.text, " ")
	return strings.Join(strings.Fields(out), " ")
}

// write: a text goes into a file that is named as its place.
func (r *taskReader) write() (task, bool) {
	if len(r.files) != 1 || !r.starts(append([]string{"add", "new"}, writes...)...) && !strings.HasPrefix(r.lower, "start a ") {
		return task{}, false
	}
	re := regexp.MustCompile(`(?i)\b(of|about|from|for|in|on)\s+(?:the\s+file\s+)?["'` + "`" + `]?` + regexp.QuoteMeta(r.files[0]))
	if m := re.FindStringSubmatch(r.text); m != nil && !strings.EqualFold(m[1], "in") {
		return task{}, false // a summary of the file
	}
	t := task{deed: writesFile, sure: true, reason: "the request says to write a file", text: map[takes]string{takesPlace: r.files[0]}}
	if content, ok := r.content(); ok {
		t.text[takesContent] = content
	}
	return t, true
}

var contentCues = pattern(`(?i)\b(?:that says|which says|saying|that reads|reading|that contains|containing|with the (?:text|contents?|code|words?|line|message)|with content|with)\b:?\s+(.+)$`)

// content returns the text that is to be written, if the request gives it.
func (r *taskReader) content() (string, bool) {
	if r.says("empty") {
		return "", true
	}
	if texts := quotedIn(r.text); len(texts) == 1 && !strings.Contains(r.text, "("+"'") && !strings.Contains(r.text, "(\"") {
		return texts[0], true
	}
	after := r.text[strings.Index(r.text, r.files[0])+len(r.files[0]):]
	if m := contentCues().FindStringSubmatch(after); m != nil {
		return bareText(strings.TrimRight(m[1], ".")), true
	}
	return "", false
}

// searching are the words of a request to look for a text.
var searching = strings.Fields("search grep find look locate where which who references reference mention mentions contain contains containing calls uses use used defined declared hard-coded anywhere import imports set usages usage occurrences")

var (
	lookFor = pattern(`(?i)\b(?:search|grep|look(?:ing)?|scan)\b(?: (?:in |through )?(?:the |this |our |my )?(?:\S+ )??(?:folder|directory|code|codebase|source|project|repo|repository|files?|logs?|\S+/?)?)? ?\bfor (.+)$`)
	findAll = pattern(`(?i)\b(?:find|grep|search|locate) (?:me )?(?:all |every |any |each )?(?:lines? (?:that )?(?:contain(?:ing)?|with|mention(?:ing)?) |(?:uses?|usages?|references?|occurrences?|calls?|mentions?) (?:of|to) |the (?:text|word|words|string|line|phrase) )?(.+)$`)
	whereIs = pattern(`(?i)\bwhere (?:is|are|do|does|did) (?:the |we |you |i )?(?:function |method |class |variable |constant |type |text |string |print |log |use |call )*(.+?)(?: (?:defined|declared|set|used|called|implemented|configured|is configured|mentioned|printed))?$`)
	whoUses = pattern(`(?i)\b(?:who|which (?:\S+ )?files?|what) (?:calls?|uses?|mentions?|contains?|imports?|has|have|references?|sets?) (?:the (?:word|text|string) )?(.+)$`)
	inWhich = pattern(`(?i)\bin which files? (?:is|are|do we|does) (?:the )?(.+?)(?: (?:set|defined|used|declared|mentioned))?$`)
	anyUses = pattern(`(?i)\b(?:do|does|is|are) (?:any|one|some)(?: of)?(?: the)? (?:\S+ )?files? (?:that )?((?:import|use|mention|contain|call)s?\b.*)$`)
	isThere = pattern(`(?i)\bis (?:the )?(?:string|word|text|value) (.+?) (?:hard-coded|used|mentioned|anywhere|in )`)
)

// grepLine is a command line of grep.
var grepLine = pattern(`^grep (?:-\w+ )*("[^"]+"|'[^']+'|[^\s-]\S*)(?: ([\w./~-]+))?$`)

// search: the request looks for a text in files.
func (r *taskReader) search() (task, bool) {
	if len(r.files) > 0 || !r.says(searching...) || (r.says("folders", "directories") || r.says("files") && r.says("named", "called")) && !r.says("containing", "mention") {
		return task{}, false
	}
	about := r.says("file", "files", "code", "project", "repo", "repository", "folder", "directory", "logs", "log", "lines", "line", "source", "codebase", "grep", "comments", "comment", "function", "class", "method", "variable") || r.says("word", "phrase", "string") && r.starts("search", "find", "look")
	t := task{deed: searchesFiles, reason: "the request looks for a text in files", text: map[takes]string{}}
	rest, folder := r.folderOf(r.text)
	if folder != "" {
		t.text[takesPlace] = folder
	}
	rest, glob := r.globOf(rest)
	if glob != "" {
		t.text[takesGlob] = glob
	}
	rest = strings.TrimRight(strings.TrimSpace(rest), " .?!")
	rest = strings.TrimSuffix(strings.TrimSuffix(rest, " in this project"), " in the code")
	needle := ""
	if m := grepLine().FindStringSubmatch(r.text); m != nil {
		t.sure, t.text[takesQuery] = true, bareText(m[1])
		if m[2] != "" {
			t.text[takesPlace] = m[2]
		}
		return t, true
	}
	if q := anyQuoted(rest); q != "" {
		needle = q
	}
	for _, p := range []lazy{isThere, inWhich, whoUses, anyUses, whereIs, lookFor, findAll} {
		if needle != "" {
			break
		}
		if m := p().FindStringSubmatch(rest); m != nil {
			needle = trimNeedle(m[1])
			about = about || p() == isThere()
		}
	}
	if needle == "" {
		return task{}, false
	}
	if code := codeWords(needle); len(code) == 1 && (!strings.Contains(needle, " ") || !r.starts("search", "grep", "look", "find") || r.says("comments", "comment", "uses", "use", "references", "usages", "place", "places", "called", "defined")) {
		needle = code[0]
		about = true
	}
	if anyQuoted(rest) == "" && folder == "" && glob == "" && !about && len(codeWords(needle)) == 0 {
		return task{}, false
	}
	if strings.HasPrefix(strings.ToLower(needle), "files") || strings.HasPrefix(strings.ToLower(needle), "file ") {
		return task{}, false
	}
	t.sure = true
	t.text[takesQuery] = needle
	return t, true
}

func anyQuoted(text string) string {
	for _, q := range []string{`"`, "`"} {
		if parts := strings.Split(text, q); len(parts) >= 3 && parts[1] != "" {
			return parts[1]
		}
	}
	for _, p := range []lazy{singleQuoted, curlyQuoted} {
		if m := p().FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return ""
}

var (
	singleQuoted = pattern(`(?:^|\s)'([^']+)'(?:\s|[.?!,]|$)`)
	curlyQuoted  = pattern(`“([^”]+)”`)
)

var (
	needleLead = pattern(`(?i)^(?:(?:the|a|an|all|any|every) )*(?:(?:word|words|text|string|phrase|term|function|variable|constant|class|method|name) (?:of |called |named )?)?`)
	needleTail = pattern(`(?i)(?: (?:anywhere|please|for me|in (?:this|the|our|my) (?:project|code|codebase|repo|repository|files?|source|sources)))+$`)
)

func trimNeedle(s string) string {
	s = needleTail().ReplaceAllString(strings.Trim(s, " .?!,;:"), "")
	if strings.HasPrefix(s, "class ") || strings.HasPrefix(s, "import ") || strings.HasPrefix(s, "func ") {
		return s
	}
	return strings.TrimSpace(needleLead().ReplaceAllString(s, ""))
}

// codeWords returns the words that are names of a program: parseConfig, MAX_RETRIES,
// os.Getenv, #123.
func codeWords(text string) []string {
	var out []string
	for _, w := range strings.Fields(text) {
		w = strings.TrimSuffix(unwrapped(w), "()")
		upper, lower, inner := 0, 0, false
		for i, c := range w {
			switch {
			case unicode.IsUpper(c):
				upper++
				inner = inner || i > 0
			case unicode.IsLower(c):
				lower++
			}
		}
		if inner && lower > 0 || upper > 1 && lower == 0 || strings.ContainsAny(w, "_#") && len(w) > 1 || strings.Contains(w, ".") && lower > 0 {
			out = append(out, w)
		}
	}
	return out
}

var (
	folderAfter  = pattern(`(?i),? ?\b(?:in|below|under|inside|within|of|from|at)\s+(?:the\s+|our\s+|my\s+)?(?:(?:folder|directory)\s+(?:called\s+|named\s+)?["'` + "`" + `]?([\w./~-]+)["'` + "`" + `]?|["'` + "`" + `]?([\w./~-]+)["'` + "`" + `]?\s+(?:folder|directory))`)
	folderPlain  = pattern(`(?i),? ?\b(?:in|below|under|inside|within)\s+(?:the\s+)?([a-z][\w.~-]*(?:/[\w.~-]*)*|~?/[\w./~-]+)\s*[.?!]*$`)
	folderObject = pattern(`(?i)\b(?:folder|directory)\s+["'` + "`" + `]?([\w./~-]+/?)`)
	searchIn     = pattern(`(?i)\b(?:search|grep|scan)\s+([a-z][\w./~-]*)\s+for\b`)
	notFolder    = strings.Fields("here there this that it them general detail short total order which what files file folder directory project code repo repository root english german one sentence words it's production memory structure tree listing contents")
)

// folderOf returns the folder that a request names, and the request without it.
func (r *taskReader) folderOf(text string) (rest, folder string) {
	if m := folderAfter().FindStringSubmatchIndex(text); m != nil {
		for _, g := range []int{2, 4} {
			if m[g] >= 0 {
				if name := strings.TrimRight(text[m[g]:m[g+1]], ".?!,"); !slices.Contains(notFolder, strings.ToLower(name)) && !slices.Contains([]string{"current", "working", "same", "root", "whole"}, strings.ToLower(name)) {
					return text[:m[0]] + text[m[1]:], name
				}
			}
		}
	}
	if m := searchIn().FindStringSubmatchIndex(text); m != nil && !slices.Contains([]string{"the", "this", "online", "code", "files"}, strings.ToLower(text[m[2]:m[3]])) {
		return text[:m[2]] + strings.TrimLeft(text[m[3]:], " "), text[m[2]:m[3]]
	}
	if m := folderPlain().FindStringSubmatchIndex(text); m != nil {
		if name := strings.TrimRight(text[m[2]:m[3]], ".?!,"); name != "" && !slices.Contains(notFolder, strings.ToLower(name)) && !isFile(name) && strings.ToLower(name) == name || strings.Contains(name, "/") {
			return text[:m[0]] + text[m[1]:], name
		}
	}
	if len(r.folders) > 0 {
		return strings.Replace(text, r.folders[0], "", 1), r.folders[0]
	}
	if m := folderObject().FindStringSubmatch(text); m != nil && !slices.Contains(notFolder, strings.ToLower(m[1])) {
		return text, m[1]
	}
	return text, ""
}

// kindsOfFiles are words for kinds of files, and the patterns of their names.
var kindsOfFiles = map[string]string{
	"go": "*.go", "golang": "*.go", "python": "*.py", "javascript": "*.js", "typescript": "*.ts", "markdown": "*.md", "yaml": "*.yaml", "json": "*.json", "rust": "*.rs", "java": "*.java", "ruby": "*.rb",
	"c": "*.c", "html": "*.html", "css": "*.css", "text": "*.txt", "csv": "*.csv", "toml": "*.toml", "xml": "*.xml", "sql": "*.sql", "shell": "*.sh", "pdf": "*.pdf", "png": "*.png", "jpeg": "*.jpg", "jpg": "*.jpg", "log": "*.log", "php": "*.php",
}

var kindOfFile = pattern(`(?i)(?:\bin |\bany of |\b)(?:the |all |any |our )*\.?(\w+)["'”]? files?\b`)

// globOf returns the pattern of file names that a request gives, and the request
// without it.
func (r *taskReader) globOf(text string) (rest, glob string) {
	if len(r.globs) > 0 {
		return strings.Replace(text, r.globs[0], "", 1), r.globs[0]
	}
	for _, m := range kindOfFile().FindAllStringSubmatchIndex(text, -1) {
		word := text[m[2]:m[3]]
		if p, ok := kindsOfFiles[strings.ToLower(word)]; ok {
			return text, p
		}
		if m[2] > 0 && text[m[2]-1] == '.' {
			return text, "*." + word
		}
	}
	return text, ""
}

// list: the request asks what files there are.
func (r *taskReader) list() (task, bool) {
	rest, folder := r.folderOf(r.text)
	_, glob := r.globOf(rest)
	asks := r.starts("list", "ls", "show", "which", "what", "what's", "how", "are", "is", "find", "tell", "give", "display", "print", "dir", "tree")
	things := r.says("files", "folders", "directories", "folder", "directory", "subfolders", "tree", "everything", "contents")
	inside := folder != "" && (len(r.folders) > 0 || r.says("folder", "directory")) && r.says("in", "inside", "below", "under")
	if len(r.files) > 0 || !asks || !(things || inside || r.starts("ls", "dir")) || things && !inside && r.says("everything", "contents", "tree") && folder == "" && !r.says("directory", "folder", "here", "project", "files") {
		return task{}, false
	}
	t := task{deed: listsFiles, sure: true, reason: "the request asks which files there are", text: map[takes]string{}}
	if folder == "" && r.starts("ls", "dir") && len(r.words) > 1 && !strings.HasPrefix(r.words[1], "-") {
		folder = unwrapped(strings.Fields(r.text)[1])
	}
	if folder != "" {
		t.text[takesPlace] = folder
	}
	if glob != "" {
		t.text[takesGlob] = glob
	}
	return t, true
}

// reading are the words with which a request about the content of a file begins.
var reading = strings.Fields(`read show cat print display open view see look summarise summarize summary tl;dr explain describe review check proofread translate compare count tell give content contents text
what what's what’s whats how who which when where why is are does do did has have can i list quote analyse analyze examine inspect paraphrase shorten`)

var (
	firstLines = pattern(`(?i)\bfirst (\d+|\w+) lines?\b`)
	lineRange  = pattern(`(?i)\blines? (\d+) ?(?:to|-|–|through|until|and) ?(\d+)\b`)
)

// read: the request names a file.
func (r *taskReader) read() (task, bool) {
	if len(r.files) == 0 {
		return task{}, false
	}
	t := task{deed: reads, sure: r.starts(reading...), reason: "the request names a file", text: map[takes]string{takesPlace: r.files[0]}, lines: map[takes]int{}}
	if m := lineRange().FindStringSubmatch(r.text); m != nil {
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		if from > 0 && to >= from {
			t.lines[takesFirstLine], t.lines[takesLines] = from, to-from+1
		}
	} else if m := firstLines().FindStringSubmatch(r.text); m != nil {
		if n := wording.Numbers(m[1]); len(n) > 0 {
			if lines, err := strconv.Atoi(n[0].Text); err == nil && lines > 0 {
				t.lines[takesLines] = lines
			}
		}
	}
	return t, true
}
