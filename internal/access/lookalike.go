package access

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// alike are letters of other scripts and the ASCII letter that each looks like.
var alike = pairs("аaеeоoрpсcуyхxѕsіiјjһhԁdԛqԝwүyіiαaοoνvυuρpιiκkγyօoսuցgոnհh" +
	"АaВbЕeКkМmНhОoРpСcТtУyХxЅsІiЈjԚqԜwΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧxᎪaᏴbᏟcᎠdᎬeᎻhᎫjᏦkᏞlᎷmᏢpᏒrᏚsᎢtᏙvᎳwᏃzıiȷjɑaɡgɩi")

func pairs(text string) map[rune]rune {
	out := make(map[rune]rune)
	list := []rune(text)
	for i := 0; i < len(list); i += 2 {
		out[list[i]] = list[i+1]
	}
	return out
}

// skeleton returns what is left of a name for the eye: without case, marks and joiners, and with ASCII letters in place of
// letters that look like them. Names with the same skeleton look alike.
func skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Cf):
			return -1
		case unicode.IsSpace(r):
			return ' '
		case 0xff01 <= r && r <= 0xff5e: // wide
			r -= 0xff01 - '!'
		case 0x1d400 <= r && r <= 0x1d6a3: // letters in mathematical styles
			r = 'a' + (r-0x1d400)%26
		case alike[r] != 0:
			return alike[r]
		case alike[unicode.ToUpper(r)] != 0:
			return alike[unicode.ToUpper(r)]
		}
		return unicode.ToLower(r)
	}, name)
}

// checkNewTeam returns an error if there is no such team yet, but one whose name looks alike. One of the two would be taken
// for the other in lists of keys and spend.
func (b *Book) checkNewTeam(ctx context.Context, name string) error {
	teams, err := b.Teams(ctx)
	if err != nil {
		return err
	}
	var like string
	for _, t := range teams {
		if t.Name == name {
			return nil
		}
		if skeleton(t.Name) == skeleton(name) {
			like = t.Name
		}
	}
	if like == "" {
		return nil
	}
	return fmt.Errorf("access: %w", &InvalidError{fmt.Errorf("the team %+q looks like the team %+q; use that one, or another name", name, like)})
}
