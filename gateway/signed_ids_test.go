package gateway

import "testing"

func TestDrawnIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"toolu_01A09q90qw90lq917835lq9":             true,
		"call_YHLNBHNMFURZGB7U_1":                   true,
		"call_YHLNBHNMFURZGBVU_1":                   true, // no digit was drawn
		"tooluse_kZJMlvQmRJ6eAyJE5GIl7Q":            true,
		"call_550e8400-e29b-41d4-a716-446655440000": true,
		"chatcmpl-tool-3ab4c0dfbc7d4b8f8d1f7f8d2c2": true,
		"functions.get_weather:0":                   false,
		"functions.getweatherforecasts:12":          false,
		"getWeatherForCity":                         false,
		"toolu_1":                                   false,
		"call_12":                                   false,
		"":                                          false,
	} {
		if got := drawn(id); got != want {
			t.Errorf("drawn(%q) = %t", id, got)
		}
	}
}
