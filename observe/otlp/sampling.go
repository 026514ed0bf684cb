package otlp

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/observe/observing"
)

// Sampling selects the traces that are recorded.
type Sampling struct {
	// Share of the traces is recorded, from 0 to 1, chosen by their ids.
	Share float64
	// Alone applies Share to the traces of clients too. Otherwise the client's decision holds.
	Alone bool
}

// flags returns the flags of a trace, which is known if a client began it.
func (s *Sampling) flags(t observing.Trace, known bool) byte {
	switch {
	case known && (s == nil || !s.Alone):
		return t.Flags
	case s == nil, s.Share >= 1, float64(binary.BigEndian.Uint64(t.ID[8:])>>1) < s.Share*(1<<63):
		return t.Flags | observing.Sampled
	}
	return t.Flags &^ observing.Sampled
}

// samplers are those of OpenTelemetry. A share below 0 is that of the argument.
var samplers = map[string]Sampling{
	"always_on": {1, true}, "always_off": {0, true}, "traceidratio": {-1, true},
	"parentbased_always_on": {1, false}, "parentbased_always_off": {0, false}, "parentbased_traceidratio": {-1, false},
}

// sample takes over a sampler and its argument.
func (o *Options) sample(name, arg string) error {
	if name == "" {
		return nil
	}
	s, ok := samplers[name]
	if !ok {
		return fmt.Errorf("OTEL_TRACES_SAMPLER is %.40q, and no such sampler is known; write one of %s", name, strings.Join(slices.Sorted(maps.Keys(samplers)), ", "))
	}
	if s.Share < 0 {
		share, err := strconv.ParseFloat(cmp.Or(strings.TrimSpace(arg), "1"), 64)
		if err != nil || !(share >= 0 && share <= 1) {
			return fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %.40q, and %s wants the share of traces that are recorded: write a number from 0 to 1, such as 0.25", arg, name)
		}
		s.Share = share
	}
	o.Sampling = &s
	return nil
}

// describe takes over the attributes of the program.
func (o *Options) describe(list string) error {
	o.Resource = map[string]string{}
	for _, pair := range strings.Split(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, text, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(text))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return errors.New("OTEL_RESOURCE_ATTRIBUTES is not a list like name=value,other=value")
		}
		o.Resource[name] = value
	}
	return nil
}

// resource returns the attributes of the program. Service overrides the name in Resource.
func (o *Options) resource() []attribute {
	list := []attribute{{serviceName, value{Text: cmp.Or(o.Service, o.Resource[serviceName], "toolpost")}}}
	for _, name := range slices.Sorted(maps.Keys(o.Resource)) {
		if name != serviceName {
			list = append(list, attribute{name, value{Text: o.Resource[name]}})
		}
	}
	return list
}

const serviceName = "service.name"
