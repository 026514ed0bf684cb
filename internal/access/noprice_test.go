package access_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/access"
)

// TestNoPriceNamesTheLimit checks that the refusal of a model without a price names the key or team with the budget,
// and the model id of the price lookup.
func TestNoPriceNamesTheLimit(t *testing.T) {
	b := &access.Book{Store: new(access.Memory)}
	if err := b.SetTeam(t.Context(), access.Team{Name: "blue", Limits: limit(t, "money/month=5")}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		key  access.Key
		says string
	}{
		{access.Key{Team: "blue"}, "what the team blue may spend"},
		{access.Key{Team: "red", Limits: limit(t, "money/month=5")}, "what the key tp-"},
	} {
		g, _ := create(t, b, row.key)
		_, err := b.Admit(t.Context(), g, access.Claim{ID: "r", Model: "fast", Upstream: "acme/m-1", Unpriced: true})
		if err == nil || !strings.Contains(err.Error(), row.says) || !strings.Contains(err.Error(), `"fast" (acme/m-1)`) {
			t.Errorf("%v", err)
		}
	}
}
