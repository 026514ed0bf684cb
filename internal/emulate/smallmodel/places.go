package smallmodel

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/rank"
)

//go:embed places.txt
var placesText string

// area is a state with its letters, or a country without, and the cities that usually mean it.
type area struct {
	code, name string
	cities     []string
}

// areas are the areas of places.txt. The states come first.
var areas = sync.OnceValue(func() (list []area) {
	for line := range strings.Lines(placesText) {
		if fields := strings.Split(strings.TrimSpace(line), "|"); len(fields) == 3 {
			list = append(list, area{fields[0], fields[1], strings.Split(fields[2], ",")})
		}
	}
	return list
})

// gazetteer maps the name of a city in lower case to its state or country, and the
// names of states and countries to their spelling.
var gazetteer = sync.OnceValue(func() (g struct{ of, written map[string]string }) {
	g.of, g.written = map[string]string{}, map[string]string{}
	add := func(a area) {
		spelled := cmp.Or(a.code, a.name)
		g.written[strings.ToLower(a.name)], g.written[strings.ToLower(spelled)] = spelled, spelled
		for _, city := range a.cities {
			g.of[strings.ToLower(city)] = spelled
		}
	}
	for _, a := range slices.Backward(areas()) { // the first that has a city keeps it
		add(a)
	}
	return g
})

// states yields the areas that are states.
func states(yield func(area) bool) {
	for _, a := range areas() {
		if a.code != "" && !yield(a) {
			return
		}
	}
}

// shortCities are what people call some cities.
var shortCities = map[string]string{"LA": "Los Angeles", "SF": "San Francisco", "NYC": "New York", "NY": "New York", "San Fran": "San Francisco", "Philly": "Philadelphia", "Vegas": "Las Vegas", "New York City": "New York", "D.C.": "Washington", "DC": "Washington"}

// wantsRegion reports whether a description asks for a city together with its
// state.
func wantsRegion(about string) bool {
	lower := strings.ToLower(about)
	return strings.Contains(lower, "city, state") || strings.Contains(lower, "city and state") || strings.Contains(lower, "(city, ") || strings.Contains(about, ", CA'") || strings.Contains(about, ", NY'") || strings.Contains(about, ", CA)")
}

// states returns the letters of the states that the request names, for a parameter
// that takes a state by its letters.
func (e *evidence) states(name, about string) []string {
	lower := strings.ToLower(about)
	if !slices.Contains(rank.Stems(name), "state") || !strings.Contains(lower, "abbreviat") && !strings.Contains(lower, "two-letter") && !strings.Contains(lower, "2-letter") && !strings.Contains(about, "'CA'") {
		return nil
	}
	var out []string
	for r := range states {
		if wording.Mentions(e.lower, strings.ToLower(r.name)) || wording.Mentions(e.request, r.code) {
			out = append(out, r.code)
		}
	}
	return out
}

// place is a place that a request names and the word before it.
type place struct{ name, before string }

// beforePlaces are the words that precede a place.
var beforePlaces = strings.Fields("in to from at near for around of visit leaving departing")

// placesIn returns the places that a request names: words with capitals behind one
// of beforePlaces, and cities that are known wherever they stand.
func placesIn(text string) []place {
	var out []place
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		before := ""
		if i > 0 {
			before = strings.ToLower(strings.Trim(words[i-1], wording.Edge))
			if before == "the" && i > 1 {
				before = strings.ToLower(strings.Trim(words[i-2], wording.Edge))
			}
		}
		n, name := cityAt(words[i:])
		if n == 0 && slices.Contains(beforePlaces, before) {
			n, name = capitalsAt(words[i:])
		}
		if n == 0 {
			continue
		}
		rest := words[i+n:]
		region := regionAt(rest)
		if region == "" {
			region = gazetteer().of[strings.ToLower(name)]
		}
		if !slices.ContainsFunc(out, func(p place) bool { return strings.HasPrefix(p.name, name) }) {
			out = append(out, place{strings.TrimSuffix(name+", "+region, ", "), before})
		}
		i += n - 1
	}
	return out
}

// cityAt returns the longest known city that the words begin with, and how many
// words it has.
func cityAt(words []string) (int, string) {
	for n := min(len(words), 4); n > 0; n-- {
		text := strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(strings.Join(words[:n], " "), wording.Edge), "'s"), "’s")
		text = strings.TrimLeft(text, wording.Edge)
		if full, ok := shortCities[text]; ok {
			return n, full
		}
		if strings.ContainsAny(strings.Join(words[:n-1], " "), ",;?!") {
			continue
		}
		if _, ok := gazetteer().of[strings.ToLower(text)]; ok && (n > 1 || len(text) > 4) {
			return n, titled(text)
		}
	}
	return 0, ""
}

// titled writes a name that is all in small letters with capitals.
func titled(name string) string {
	if strings.ToLower(name) != name {
		return name
	}
	words := strings.Fields(name)
	for i, w := range words {
		first, n := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToUpper(first)) + w[n:]
	}
	return strings.Join(words, " ")
}

// capitalsAt returns the words with capitals that a text begins with.
func capitalsAt(words []string) (int, string) {
	n := 0
	for n < len(words) && n < longestName {
		core := strings.TrimLeft(words[n], wording.Edge)
		first, _ := utf8.DecodeRuneInString(core)
		if !unicode.IsUpper(first) || core == "I" || monthOrDay(core) || n > 0 && gazetteer().written[strings.ToLower(strings.Trim(core, wording.Edge))] != "" {
			break
		}
		n++
		if strings.TrimRight(core, wording.Edge) != core && !(len(core) <= 3 && strings.HasSuffix(core, ".")) {
			break
		}
	}
	name := strings.TrimSuffix(strings.Trim(strings.Join(words[:n], " "), wording.Edge), "'s")
	if len(name) < 3 {
		return 0, ""
	}
	return n, name
}

func monthOrDay(word string) bool {
	lower := strings.ToLower(strings.Trim(word, wording.Edge))
	return weekday(lower) >= 0 || dayForms[3]().MatchString(lower+" 1")
}

// regionAt returns the state or country that the words begin with.
func regionAt(words []string) string {
	for n := min(len(words), 3); n > 0; n-- {
		text := strings.Trim(strings.Join(words[:n], " "), wording.Edge)
		if written := gazetteer().written[strings.ToLower(text)]; written != "" && (len(text) > 2 || strings.ToUpper(text) == text) {
			return written
		}
	}
	return ""
}

// located returns what a parameter that wants a city with its state can be: the
// places of the request, each with its state, or with every state if none is
// known.
func (e *evidence) located(name string) []string {
	if e.long() {
		return nil
	}
	places := placesIn(e.request)
	known := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !strings.Contains(p.name, ", ") })
	if len(known) > 0 {
		places = known
	}
	places = towards(name, places)
	var out []string
	for _, p := range places {
		if strings.Contains(p.name, ", ") {
			out = append(out, p.name)
			continue
		}
		for r := range states {
			out = append(out, p.name+", "+r.code)
		}
	}
	return out
}

// towards returns the places after "from" for a parameter that is a beginning, and the
// places after "to" for a parameter that is an end, if there are any.
func towards(name string, places []place) []place {
	pick := func(words ...string) []place {
		return slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !slices.Contains(words, p.before) })
	}
	var out []place
	lower := strings.ToLower(name)
	switch {
	case is(name, beginnings) || strings.HasPrefix(lower, "from"):
		out = pick("from", "leaving", "departing")
	case is(name, endings) || strings.HasPrefix(lower, "to_") || lower == "to":
		out = pick("to", "visit")
	}
	if len(out) == 0 {
		return places
	}
	return out
}
