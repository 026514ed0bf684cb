package pairs_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/toolpost/toolpost/observe/internal/pairs"
)

func TestPairs(t *testing.T) {
	list := pairs.Text([]string{"first"}, func(name, value string) string { return name + "=" + value }, "a", "1", "b", "", "c", "3", "odd")
	list = pairs.Number(list, func(name string, n int) string { return name + "=" + strconv.Itoa(n) }, "d", 0, "e", -1, "f", 2)
	if got := fmt.Sprint(list); got != "[first a=1 c=3 e=-1 f=2]" {
		t.Error(got)
	}
}
