package admit

import (
	"net/http/httptest"
	"slices"
	"testing"
)

// TestOnlyTheKeyLeavesTheAddress checks that other parameters keep their order and spelling, and that a key is removed
// however it is spelled.
func TestOnlyTheKeyLeavesTheAddress(t *testing.T) {
	for _, test := range []struct {
		query, left string
		keys        []string
	}{
		{"", "", nil},
		{"key=k1", "", []string{"k1"}},
		{"z=1&key=k1&a=2", "z=1&a=2", []string{"k1"}},
		{"b=%7e&key=k%2D1&a=x+y&a=x%20y&flag&empty=&=v", "b=%7e&a=x+y&a=x%20y&flag&empty=&=v", []string{"k-1"}},
		{"%6bey=k1&b=%C3%BC", "b=%C3%BC", []string{"k1"}},
		{"Key=k1&b=1", "b=1", []string{"k1"}},
		{"%e2%84%aaey=k1&b=1", "b=1", []string{"k1"}},
		{"key=k1&key=k2", "", []string{"k1", "k2"}},
		{"b=%2f&a=%3D", "b=%2f&a=%3D", nil},
		{"monkey=1&keys=2&a=key", "monkey=1&keys=2&a=key", nil},
		{"a=1&&b=2&key=k1&", "a=1&&b=2&", []string{"k1"}},
		{"a=100%&key=%zz&b=1", "a=100%&b=1", nil},
		{"a=1;key=k1&b=2", "b=2", nil},
		{"a=1;b=%7e", "a=1;b=%7e", nil},
	} {
		r := httptest.NewRequest("POST", "/v1beta/models/m:generateContent", nil)
		r.URL.RawQuery, r.RequestURI = test.query, "/v1beta/models/m:generateContent?"+test.query
		keys, err := presentedKeys(r, "gemini")
		if err != nil || !slices.Equal(keys, test.keys) || r.URL.RawQuery != test.left {
			t.Errorf("%q: %q is left and %q are the keys (%v), not %q and %q", test.query, r.URL.RawQuery, keys, err, test.left, test.keys)
		}
		if test.left != test.query && r.RequestURI != "" {
			t.Errorf("%q: the key is still in %q", test.query, r.RequestURI)
		}
	}
	for _, query := range []string{"X-Amz-Signature=00", "a=1&X%2DAmz%2DSignature=00", "x-amz-%C5%BFignature=00"} {
		r := httptest.NewRequest("POST", "/model/m/converse?"+query, nil)
		if _, err := presentedKeys(r, "converse"); err != errSigned {
			t.Errorf("%q: %v", query, err)
		}
	}
}
