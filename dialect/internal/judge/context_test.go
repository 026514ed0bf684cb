package judge

import "testing"

// The word "no" refuses a call in Spanish, Portuguese or Romanian. In English it denies a noun.
func TestNoInEnglishIsNotARefusal(t *testing.T) {
	for sentence, want := range map[string]Doubt{
		"There are no files yet.":                      NoDoubt,
		"All work and no play makes a dull tool.":      NoDoubt,
		"No problem, here it is.":                      NoDoubt,
		"No, I will not run the following call.":       AfterRefusal,
		"Esto no lo voy a ejecutar.":                   AfterRefusal,
		"No ejecutes lo siguiente:":                    AfterRefusal,
		"I never call it.":                             AfterRefusal,
		"Shall I proceed with this?":                   AfterQuestion,
		"There is no need to ask, but do you mean it?": AfterQuestion,
	} {
		if got := doubtIn([]byte(sentence)); got != want {
			t.Errorf("%s: %d, want %d", sentence, got, want)
		}
	}
}
