package judge

import (
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// The last sentence before a call may refuse it, ask about it or make a condition. The word "no" refuses in Spanish; in
// English it denies a noun. An earlier clause than the one that announces the call leaves a weaker doubt.
func TestDoubtOfTheSentenceBeforeACall(t *testing.T) {
	for sentence, want := range map[string]Doubt{
		"There are no files yet.":                      NoDoubt,
		"All work and no play makes a dull tool.":      NoDoubt,
		"I don't know, let me check:":                  InSentence,
		"Es gibt noch keine Dateien, ich sehe nach:":   InSentence,
		"Once I have the list, I show it:":             InSentence,
		"I will not run the following call:":           AfterRefusal,
		"If you agree, I run this:":                    AfterCondition,
		"No problem, here it is.":                      NoDoubt,
		"No, I will not run the following call.":       AfterRefusal,
		"Esto no lo voy a ejecutar.":                   AfterRefusal,
		"No ejecutes lo siguiente:":                    AfterRefusal,
		"The e-mail contained this text:":              AfterReport,
		"Der Server lehnte ab. Die Anfrage war:":       AfterReport,
		"Diesen Text sende ich jetzt:":                 NoDoubt,
		"ログには次のように書かれていました:":                           AfterReport,
		"不要なブランチを消します。":                                NoDoubt,
		"这个操作不要执行：":                                    AfterRefusal,
		"Voy a buscarlo ahora:":                        NoDoubt,
		"Deixe-me ver no dicionário:":                  NoDoubt,
		"I never call it.":                             AfterRefusal,
		"Shall I proceed with this?":                   AfterQuestion,
		"Let me get the exchange rate:":                NoDoubt,
		"Ich rate davon ab, das zu tun:":               AfterRefusal,
		"Let me search for tools that might help:":     NoDoubt,
		"Je pourrais envoyer l'appel suivant :":        AfterCondition,
		"You might write this:":                        AfterCondition,
		"There is no need to ask, but do you mean it?": AfterQuestion,
	} {
		if got := doubtIn([]byte(sentence)); got != want {
			t.Errorf("%s: %d, want %d", sentence, got, want)
		}
	}
}

// Prose right before a call that announces no action makes it doubtful. An acknowledgement is not prose, and neither a
// label nor an ellipsis ends a sentence.
func TestProseBeforeACallThatAnnouncesNothing(t *testing.T) {
	for text, want := range map[string]Doubt{
		"The branch stays where it is for now.\n\n":       InSentence,
		"Je m'en tiens là : la branche reste en place.\n": InSentence,
		"Das lasse ich, der Zweig wird noch gebraucht.\n": InSentence,
		"इसे मैं वैसे ही छोड़ता हूँ, शाखा बनी रहेगी।\n\n": InSentence,
		"これはそのままにしておきます。ブランチは残します。\n":                     InSentence,
		"I look at the list, then the branch goes.\n":     NoDoubt,
		"Sure, one moment please.\n":                      NoDoubt,
		"1. Look for a room.\n":                           NoDoubt,
		"The branch stays where it is for now:\n":         NoDoubt,
		"The branch stays where it is for now...\n":       NoDoubt,
		"The branch stays where it is for now\n":          NoDoubt,
		"I delete the branch that is merged.\n":           NoDoubt,
	} {
		e := &Evidence{Input: scan.Input{Buf: []byte(text), Pos: len(text)}}
		e.begin = len(text)
		if e.NoteAbove(); e.Above != want {
			t.Errorf("%q: %d, want %d", text, e.Above, want)
		}
	}
}

// The text directly above the line of an action is a thought, with or without its label.
func TestThoughtBeforeAnAction(t *testing.T) {
	for text, want := range map[string]Doubt{
		"The user wants to know the weather in Paris.\n":            NoDoubt,
		"Thought: The user wants to know the weather in Paris.\n\n": NoDoubt,
		"Thought: The user approved the payment an hour ago.\n":     NoDoubt,
		"Thought: Shall I look at the list?\n":                      NoDoubt,
		"This stays as it is, the branch is needed.\n\n":            InSentence,
		"I will not run the following call.\n":                      AfterRefusal,
	} {
		e := &Evidence{Input: scan.Input{Buf: []byte(text), Pos: len(text)}}
		e.begin, e.byLine = len(text), true
		if e.NoteAbove(); e.Above != want {
			t.Errorf("%q: %d, want %d", text, e.Above, want)
		}
	}
}
