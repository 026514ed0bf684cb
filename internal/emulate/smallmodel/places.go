package smallmodel

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/emulate/internal/wording"
	"github.com/toolpost/toolpost/internal/rank"
)

// regions are the states of the USA and of Canada by their letters, and the cities
// of about a hundred thousand people and more, and capitals, that are meant when
// nothing else is said.
var regions = []struct{ code, name, cities string }{
	{"AL", "Alabama", "Birmingham,Huntsville,Montgomery"},
	{"AK", "Alaska", "Anchorage,Juneau,Fairbanks"},
	{"AZ", "Arizona", "Phoenix,Tucson,Mesa,Scottsdale,Tempe,Chandler,Gilbert"},
	{"AR", "Arkansas", "Little Rock,Fayetteville"},
	{"CA", "California", "Los Angeles,San Diego,San Jose,San Francisco,Fresno,Sacramento,Long Beach,Oakland,Bakersfield,Anaheim,Stockton,Riverside,Irvine,Santa Ana,Chula Vista,Fremont,Santa Clarita,San Bernardino,Modesto,Fontana,Moreno Valley,Oxnard,Huntington Beach,Glendale,Elk Grove,Santa Rosa,Rancho Cucamonga,Oceanside,Garden Grove,Lancaster,Palmdale,Salinas,Hayward,Sunnyvale,Escondido,Visalia,Pomona,Fullerton,Torrance,Pasadena,Santa Clara,Simi Valley,Thousand Oaks,Vallejo,Concord,Berkeley,Fairfield,Richmond,Antioch,Carlsbad,Costa Mesa,Temecula,Ventura,West Covina,Burbank,Inglewood,San Mateo,Daly City,Vacaville"},
	{"CO", "Colorado", "Denver,Colorado Springs,Boulder,Aurora,Fort Collins"},
	{"CT", "Connecticut", "Hartford,New Haven,Stamford,Bridgeport"},
	{"DE", "Delaware", "Wilmington,Dover"},
	{"FL", "Florida", "Miami,Orlando,Tampa,Jacksonville,Fort Lauderdale,Tallahassee,St. Petersburg,Gainesville"},
	{"GA", "Georgia", "Atlanta,Savannah,Augusta,Macon"},
	{"HI", "Hawaii", "Honolulu"},
	{"ID", "Idaho", "Boise,Idaho Falls"},
	{"IL", "Illinois", "Chicago,Springfield,Naperville,Peoria"},
	{"IN", "Indiana", "Indianapolis,Fort Wayne,Bloomington"},
	{"IA", "Iowa", "Des Moines,Cedar Rapids,Iowa City"},
	{"KS", "Kansas", "Wichita,Topeka,Overland Park"},
	{"KY", "Kentucky", "Louisville,Lexington"},
	{"LA", "Louisiana", "New Orleans,Baton Rouge,Lafayette,Shreveport"},
	{"ME", "Maine", "Lewiston"},
	{"MD", "Maryland", "Baltimore,Annapolis"},
	{"MA", "Massachusetts", "Boston,Cambridge,Worcester,Somerville"},
	{"MI", "Michigan", "Detroit,Ann Arbor,Grand Rapids,Lansing"},
	{"MN", "Minnesota", "Minneapolis,St. Paul,Saint Paul,Duluth,Rochester"},
	{"MS", "Mississippi", "Jackson,Biloxi"},
	{"MO", "Missouri", "St. Louis,Kansas City"},
	{"MT", "Montana", "Billings,Missoula,Bozeman"},
	{"NE", "Nebraska", "Omaha,Lincoln"},
	{"NV", "Nevada", "Las Vegas,Reno,Henderson,Carson City"},
	{"NH", "New Hampshire", "Nashua"},
	{"NJ", "New Jersey", "Newark,Jersey City"},
	{"NM", "New Mexico", "Albuquerque,Santa Fe,Las Cruces"},
	{"NY", "New York", "New York,New York City,NYC,Brooklyn,Manhattan,Queens,Buffalo,Albany,Syracuse,Yonkers"},
	{"NC", "North Carolina", "Charlotte,Raleigh,Durham,Greensboro,Asheville,Chapel Hill"},
	{"ND", "North Dakota", "Fargo,Bismarck"},
	{"OH", "Ohio", "Columbus,Cleveland,Cincinnati,Toledo,Akron,Dayton"},
	{"OK", "Oklahoma", "Oklahoma City,Tulsa"},
	{"OR", "Oregon", "Portland,Eugene,Bend"},
	{"PA", "Pennsylvania", "Philadelphia,Pittsburgh,Harrisburg,Allentown"},
	{"RI", "Rhode Island", "Providence"},
	{"SC", "South Carolina", "Charleston,Columbia,Greenville"},
	{"SD", "South Dakota", "Sioux Falls,Rapid City"},
	{"TN", "Tennessee", "Nashville,Memphis,Knoxville,Chattanooga"},
	{"TX", "Texas", "Houston,San Antonio,Dallas,Austin,Fort Worth,El Paso,Arlington,Plano,Corpus Christi,Lubbock"},
	{"UT", "Utah", "Salt Lake City,Provo,Ogden"},
	{"VT", "Vermont", "Burlington,Montpelier"},
	{"VA", "Virginia", "Virginia Beach,Norfolk,Alexandria,Roanoke"},
	{"WA", "Washington", "Seattle,Spokane,Tacoma,Bellevue,Redmond,Olympia"},
	{"DC", "District of Columbia", "Washington"},
	{"WV", "West Virginia", "Charleston"},
	{"WI", "Wisconsin", "Milwaukee,Madison,Green Bay"},
	{"WY", "Wyoming", "Cheyenne"},
	{"BC", "British Columbia", "Victoria"},
}

// countries are countries, as they are written after a city, with the cities that
// usually mean them.
var countries = []struct{ name, cities string }{
	{"UK", "London,Manchester,Liverpool,Edinburgh,Glasgow,Oxford,Bristol,Leeds"}, {"France", "Paris,Lyon,Marseille,Nice,Bordeaux"},
	{"Germany", "Berlin,Munich,Hamburg,Frankfurt,Cologne,Stuttgart"}, {"Italy", "Rome,Milan,Venice,Florence,Turin"},
	{"Spain", "Madrid,Barcelona,Seville,Valencia"}, {"Portugal", "Lisbon,Porto"}, {"Netherlands", "Amsterdam,Rotterdam"},
	{"Belgium", "Brussels"}, {"Austria", "Vienna,Salzburg"}, {"Switzerland", "Zurich,Geneva,Bern"}, {"Ireland", "Dublin,Cork"},
	{"Sweden", "Stockholm,Gothenburg"}, {"Norway", "Oslo,Bergen"}, {"Denmark", "Copenhagen"}, {"Finland", "Helsinki"}, {"Poland", "Warsaw,Krakow"},
	{"Czech Republic", "Prague"}, {"Hungary", "Budapest"}, {"Greece", "Athens"}, {"Turkey", "Istanbul,Ankara"}, {"Russia", "Moscow,Saint Petersburg"},
	{"Israel", "Tel Aviv,Jerusalem,Haifa"}, {"UAE", "Dubai,Abu Dhabi"}, {"Egypt", "Cairo,Alexandria"}, {"Kenya", "Nairobi"}, {"Nigeria", "Lagos,Abuja"},
	{"South Africa", "Cape Town,Johannesburg"}, {"India", "Delhi,New Delhi,Mumbai,Bangalore,Hyderabad,Chennai,Kolkata,Pune,Jaipur"},
	{"Pakistan", "Karachi,Lahore,Islamabad"}, {"China", "Beijing,Shanghai,Guangzhou,Shenzhen,Chengdu,Hangzhou,Wuhan"}, {"Japan", "Tokyo,Osaka,Kyoto,Nagoya,Sapporo"},
	{"South Korea", "Seoul,Busan"}, {"Taiwan", "Taipei"}, {"Thailand", "Bangkok,Chiang Mai,Phuket"}, {"Vietnam", "Hanoi,Ho Chi Minh City,Da Nang"},
	{"Indonesia", "Jakarta,Bali"}, {"Malaysia", "Kuala Lumpur"}, {"Philippines", "Manila,Cebu"}, {"Singapore", "Singapore"},
	{"Australia", "Sydney,Melbourne,Brisbane,Perth,Adelaide,Canberra"}, {"New Zealand", "Auckland,Wellington"}, {"Canada", "Toronto,Montreal,Vancouver,Ottawa,Calgary,Edmonton,Quebec City"},
	{"Mexico", "Mexico City,Cancun,Guadalajara"}, {"Brazil", "Rio de Janeiro,Sao Paulo,Brasilia"}, {"Argentina", "Buenos Aires"}, {"Chile", "Santiago"},
	{"Peru", "Lima"}, {"Colombia", "Bogota"}, {"Cuba", "Havana"},
}

// gazetteer maps the name of a city in lower case to its state or country, and the
// names of states and countries to their spelling.
var gazetteer = sync.OnceValue(func() (g struct{ of, written map[string]string }) {
	g.of, g.written = map[string]string{}, map[string]string{}
	for _, c := range countries {
		g.written[strings.ToLower(c.name)] = c.name
		for city := range strings.SplitSeq(c.cities, ",") {
			g.of[strings.ToLower(city)] = c.name
		}
	}
	for _, r := range slices.Backward(regions) { // the first that has a city keeps it
		g.written[strings.ToLower(r.name)], g.written[strings.ToLower(r.code)] = r.code, r.code
		for city := range strings.SplitSeq(r.cities, ",") {
			g.of[strings.ToLower(city)] = r.code
		}
	}
	return g
})

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
	for _, r := range regions {
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
	return weekday(lower) >= 0 || dayForms[3].MatchString(lower+" 1")
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
		for _, r := range regions {
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
