package judge

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// says is what a sentence next to a call says about it, as a set of bits.
type says uint32

const (
	asks      says = 1 << iota // it is a question
	refuses                    // it denies, forbids or rejects something
	waits                      // it depends on a condition or an approval
	hedges                     // it only imagines the action: "would"
	presents                   // it announces an example
	reports                    // it is about text, a format or another speaker
	points                     // it points at what is above or below
	recounts                   // it is about the past
	intends                    // the speaker is about to do something
	notices                    // the speaker tells what was seen or received
	foresees                   // it is about the future
	reassures                  // it denies a problem, so it denies nothing else
	acts                       // it names what one does with a call: "run", "send"
	labels                     // it ends with a colon
	approves                   // it is about an approval
)

// has reports whether s has one of the bits of t.
func (s says) has(t says) bool { return s&t != 0 }

// doubt returns what a sentence before a call says against it.
func (s says) doubt() Doubt {
	switch {
	case s.has(asks):
		return AfterQuestion
	case s.has(refuses) && s.has(acts|reports|labels):
		return AfterRefusal
	case s.has(refuses): // of something else than the call
		return InSentence
	case s.has(approves) && s.has(intends) && !s.has(waits|hedges): // it may have been given
		return InSentence
	case s.has(waits | hedges | approves):
		return AfterCondition
	case s.has(presents):
		return AfterExample
	case s.has(labels) && s.has(reports|points|recounts) && !s.has(intends):
		return AfterReport
	}
	return NoDoubt
}

// saidIn returns what a sentence says. Its structure decides first, words after it.
func saidIn(sentence []byte) says {
	last, _ := utf8.DecodeLastRune(bytes.TrimRight(sentence, "*_\"'”’»」)"))
	if isQuestion(last) {
		return asks
	}
	v := vocabulary()
	low := strings.ReplaceAll(strings.ToLower(string(sentence)), "’", "'")
	low = low[v.turn(low):] // only the last clause is about the call
	found := v.words(low) | v.partsOf(low)
	if EndsLabel(sentence) {
		found |= labels
	}
	if utf8.RuneCountInString(low) <= shortLabel && found.has(partOfCall) {
		found &^= partOfCall
	} else if found.has(partOfCall) {
		found = found&^partOfCall | reports
	}
	if found.has(foresees) {
		found &^= points | recounts
	}
	if found.has(reassures) {
		found &^= refuses
	}
	if found.has(notices) && found.has(intends) && found.has(labels) {
		found = found&^intends | reports
	}
	return found
}

// Announces reports whether a sentence announces an action of the speaker, and says nothing against it.
func Announces(sentence string) bool {
	found := saidIn([]byte(sentence))
	return found.has(intends) && found.doubt() == NoDoubt && !found.has(refuses|hedges|presents|reports|recounts|notices)
}

// partOfCall is the bit of words for calls and their parts. They count as reports in all but short labels.
const partOfCall says = 1 << 31

// shortLabel is the length of a label such as "Function call:", which may announce a call of its own.
const shortLabel = 40

// clauseSigns are the signs between two clauses of a sentence.
const clauseSigns = ",;،，、；–—"

// lastClause returns the text after the last comma or dash of a sentence.
func lastClause(sentence []byte) []byte {
	i := bytes.LastIndexAny(bytes.TrimRight(sentence, clauseSigns), clauseSigns)
	if i < 0 {
		return sentence
	}
	_, size := utf8.DecodeRune(sentence[i:])
	return bytes.TrimSpace(sentence[i+size:])
}

// speech is the vocabulary of what sentences say about calls, in many languages.
type speech struct {
	whole map[string]says    // words
	first map[string]says    // words at the beginning of a sentence
	ends  map[string]says    // ends of words
	parts map[[2]byte][]part // parts of sentences, by their first two bytes
	begin [1 << 10]uint64    // a bit for each key of parts
}

// at returns the parts that may be at an index of a sentence.
func (v *speech) at(low string, i int) []part {
	if n := uint16(low[i])<<8 | uint16(low[i+1]); v.begin[n>>6]&(1<<(n&63)) == 0 {
		return nil
	}
	return v.parts[[2]byte{low[i], low[i+1]}]
}

// part is a part of a sentence. Han characters have different meanings in Chinese and Japanese.
type part struct {
	text  string
	found says
	in    language
}

type language uint8

const (
	anyLanguage language = iota
	japanese
	chinese
)

// turns is the bit of a word or phrase that begins a clause in which the model does something else than it said before.
const turns says = 1 << 30

// vocabulary returns the tables of words. Most programs never need them.
var vocabulary = sync.OnceValue(func() *speech {
	v := &speech{whole: make(map[string]says), first: make(map[string]says), ends: make(map[string]says), parts: make(map[[2]byte][]part)}
	for _, row := range spoken {
		for w := range strings.FieldsSeq(row.words) {
			v.whole[w] |= row.found
		}
		for w := range strings.FieldsSeq(row.first) {
			v.first[w] |= row.found
		}
		for w := range strings.FieldsSeq(row.ends) {
			v.ends[w] |= row.found
		}
		for i, list := range [...]string{row.parts, row.japanese, row.chinese} {
			for w := range strings.FieldsSeq(list) {
				w = strings.ReplaceAll(w, "_", " ")
				key := [2]byte{w[0], w[1]}
				n := uint16(w[0])<<8 | uint16(w[1])
				v.begin[n>>6] |= 1 << (n & 63)
				v.parts[key] = append(v.parts[key], part{w, row.found, language(i)})
			}
		}
	}
	return v
})

// turn returns the index after the last turn of a sentence in lower case.
func (v *speech) turn(low string) int {
	for i := len(low) - 2; i > 0; i-- {
		for _, p := range v.at(low, i) {
			if p.found == turns && strings.HasPrefix(low[i:], p.text) {
				return i + len(p.text)
			}
		}
	}
	return 0
}

// partsOf returns what the parts of a sentence say.
func (v *speech) partsOf(low string) (found says) {
	is := chinese
	if strings.ContainsFunc(low, func(r rune) bool { return r >= 0x3040 && r < 0x3100 }) {
		is = japanese
	}
	for i := 0; i+1 < len(low); i++ {
		for _, p := range v.at(low, i) {
			if !found.has(p.found) && p.found != turns && (p.in == anyLanguage || p.in == is) && strings.HasPrefix(low[i:], p.text) {
				found |= p.found
			}
		}
	}
	return found
}

// words returns what the words of a sentence in lower case say.
func (v *speech) words(low string) (found says) {
	first, last := true, ""
	for word := range strings.FieldsFuncSeq(low, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) && r != '\''
	}) {
		switch {
		case word == "no" && hasWord(low, notSpanish), word == "je" && hasWord(low, dutch): // another word there
		case (word == "might" || word == "could") && (last == "that" || last == "which" || last == "who"): // not the speaker
		case strings.HasSuffix(word, "n't") || strings.HasPrefix(word, "n'"):
			found |= refuses
		default:
			found |= v.whole[word]
		}
		if first {
			if found |= v.first[word]; isGerund(word) {
				found |= intends
			}
		}
		first, last = false, word
		for i, n := len(word), 0; i > 0 && n < maxEnding; n++ {
			_, size := utf8.DecodeLastRuneInString(word[:i])
			i -= size
			if n > 0 && i > 1 {
				found |= v.ends[word[i:]]
			}
		}
	}
	return found
}

// isGerund reports whether the first word of a sentence is a form such as "checking", "enviando" or "haciendo".
func isGerund(word string) bool {
	return strings.HasSuffix(word, "ing") && !strings.HasSuffix(word, "thing") && len(word) > len("bring") ||
		strings.HasSuffix(word, "ando") || strings.HasSuffix(word, "endo")
}

// maxEnding is the number of letters of the longest ending.
const maxEnding = 5

// hasWord reports whether a sentence in lower case has a word of a set.
func hasWord(low string, set map[string]bool) bool {
	for w := range strings.FieldsFuncSeq(low, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if set[w] {
			return true
		}
	}
	return false
}

// words makes a set of the words in a string.
func words(s string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// notSpanish are frequent words of English and Portuguese. There, "no" denies a noun or means "in the".
var notSpanish = words(`the and there is are was you it of with this that have has problem worries need yet more any result results
um uma do da ao vou deixe não meu minha à às em você são está`)

// dutch are frequent words of Dutch, where "je" means "you".
var dutch = words(`het een dat niet om van voor ik deze dit staat hij zij wil is moest`)

// spoken are the words and parts of sentences that say something about a call. In parts, an underscore is a space.
var spoken = [...]struct {
	found                                        says
	words, first, ends, parts, japanese, chinese string
}{
	{found: refuses, words: `not nothing never cannot refuse refused decline declined wrong incorrect invalid rejected avoid bad denied blocked malformed forbidden
nicht nichts nie niemals kein keine keinen keinem keiner weigere verweigere falsch falsche falscher abgelehnt verworfen verboten blockiert ungültig fehlerhaft verzichte davon
pas jamais refuse aucun aucune rejeté rejetée refusé refusée interdit faux fausse erroné invalide abstiens
no nunca jamás niego rehúso rechazo rechazado rechazada rechazó prohibido incorrecto incorrecta erróneo errónea inválido inválida
non mai rifiuto rifiutato rifiutata respinto respinta rifiutati vietato sbagliato sbagliata errato errata
não recuso recusado recusada recusou rejeitado rejeitada proibido errado errada inválida inválido
niet nooit geen weiger geweigerd afgewezen verboden fout foute verkeerd verkeerde ongeldig ongeldige
nie nigdy odmawiam odrzucone odrzucono odrzucony odrzucona zabronione błędny błędna błędne niepoprawny niepoprawne
не нет никогда нельзя ни ні не отказываюсь отклонено отклонён отклонен отклонил запрещено неверный неверно неправильно неправильный неправильная
لا لن لم ليس أرفض مرفوض رفض ممنوع أعتذر خاطئ خاطئة خطأ
नहीं मत न अस्वीकृत अस्वीकार गलत ग़लत इनकार
değil asla hayır reddediyorum reddedildi reddetti yasak olmaz yapmam yapamam edemem çalıştırmam çalıştıramam yanlış hatalı geçersiz
inte aldrig ikke aldri ingen ej niciodată nem soha ei älä δεν μην ποτέ לא אל نه نمی không đừng tidak jangan ne nikdy`,
		parts:    `rate_ich rate_ab rate_davon 않 마세요 말아 말고 금지 못하 거부 거절 수_없 안_됩 안_돼 잘못 mayaca meyece mayın meyin mıyor miyor muyor müyor madım medim ılmadı ilmedi ไม่ อย่า hors_de_question`,
		japanese: `ません ないで しない 禁止 拒否 却下 控え 断り 遠慮 やめて 間違 誤り 誤った 無効`,
		chinese:  `不会 不要 不能 不执行 不得 不应 不再 不可 不想 不行 不对 别发 不調用 不调用 绝不 勿 禁用 禁止 拒绝 没有执行 没有运行 未执行 无法 错误 无效`},
	{found: waits, first: `if once unless suppose imagine assuming had falls sobald wenn angenommen si lorsque quand dès supposons cuando se quando zodra stel als indien jeśli jeżeli gdy gdyby gdybyś gdybyście załóżmy если когда допустим إذا لو यदि अगर eğer
när hvis når dacă ha kun jos εάν αν אם اگر nếu jika kalau když pokud`,
		parts:    `ंगे_तो 다면 려면 으면_ 시면_ seydi saydı rseniz rsanız isters`,
		japanese: `なら たら、 れば、`, chinese: `如果 要是 假如 倘若 确认之后 确认后`},
	{found: approves, parts: `agree confirm approv permission your_consent bestätig erlaubnis freigabe zustimm autoris permis autoriz conferm permess permissão bevestig akkoord toestemming potwierdz zgodę zgody zgodz zgadza подтверд разреш соглас
승인 허락 موافق وافق تأكيد पुष्टि अनुमति onay izin`,
		japanese: `承認 許可`, chinese: `批准 同意`},
	{found: hedges, words: `would would've i'd we'd you'd could might
würde würden wäre wären hätte hätten könnte serait seraient aurait aurais enverrais ferais pourrait pourrais pourrions
sería serían habría haría podría podríamos sarebbe potrei potremmo poderíamos mógłbym mogłabym skulle kunde sarebbero avrei avrebbe manderei farei potrebbe seria seriam teria enviaria faria poderia zou zouden бы`,
		parts: `łaby_ łby_ łoby_ olurdu erdim ardım 했을 겠지만 كنت_سأ سيكون होता_ होती_`, japanese: `でしょう していたら`, chinese: `本来会 本应 会是这样`},
	{found: presents, parts: `example e.g. for_instance beispiel z.b. exemple ejemplo esempio exemplo voorbeeld przykład пример приклад örnek örneğ 예시 예를_들 예: مثال उदाहरण illustrat ilustra ilustrac`,
		japanese: `例`, chinese: `例： 例: 例如 例子 示例 举例 比如 演示`},
	{found: reports, words: `log logs transcript e-mail email mail page document documentation docs manual readme tutorial script snippet format notation tags tokens model models agent assistant bot attacker answered replied wrote said says reads contained contains produced attachment forum
protokoll log mail seite dokument dokumentation anleitung handbuch skript format modell modelle agent assistent antwortete schrieb lautet lautete enthielt anhang
journal courriel mail page document documentation script format balise modèle modèles agent assistant répondu répondait écrivait écrit contenait contient disait
registro correo página documento documentación script formato etiqueta modelo modelos agente asistente respondió escribió contenía contiene decía dice foro adjunto
log pagina documento documentazione script formato modello modelli agente assistente rispose risposto scrisse conteneva contiene diceva dice allegato
documentação linha formato etiqueta assistente respondeu escreveu continha contém dizia diz anexo trazia
logboek pagina document documentatie handleiding script formaat model modellen agent assistent antwoordde schreef bevatte bevat bijlage
dziennik strona dokument dokumentacja dokumentacji skrypt format model modele agent asystent odpowiedział napisał zawierał zawiera wypisał załączniku
лог логе журнал журнале письмо письме страница странице документ документации скрипт скрипте формат формате модель модели агент ассистент ответила ответил отвечала отвечал написала написал пишет содержал содержит выглядит вложении
günlük günlükte e-posta e-postada sayfa sayfada belge belgede belgedeki betik biçim model modeller ajan asistan yanıtladı yazdı içeriyordu ekteki
السجل الرسالة البريد الصفحة الوثيقة التوثيق السطر الصيغة النموذج النماذج الوكيل المساعد كتب أجاب احتوت احتوى ورد المرفق الإصدار النص
लॉग ईमेल पृष्ठ दस्तावेज़ स्क्रिप्ट प्रारूप मॉडल एजेंट सहायक लिखा लिखता संस्करण`,
		parts:    `로그 메일 페이지 문서 스크립트 형식 구문 모델 에이전트 어시스턴트 썼 적혀 답했 버전 첨부 이전 었습니다 았습니다`,
		japanese: `ログ メール ページ 文書 ドキュメント 形式 構文 モデル エージェント アシスタント と答え 書かれ という行 以前 バージョン 添付 出力し でした ていました ものです`,
		chinese:  `回复 答复 响应 日志 邮件 页面 网页 文档 脚本 格式 语法 模型 代理 助手 写道 写着 返回了 回答了 附件 版本 以前`},
	{found: recounts, ends: `ił ał ył iła ała iło ało ili ali ил ал ел ила ала ило али или mış miş muş müş dı dü tı tü ó ò aba aban ía ían ava avano eva evano chait nait vait lait rait tait dait aient ou`,
		parts: `었 았 였 했 랬 c'era inhalt`, japanese: `ました った いた れた した た: た： 内容です`, chinese: `了这 了一 贴 内容`,
		words: `hat plakte collé went pasted hid showed sent printed logged emitted returned asked displayed luidde luidt comment ticket instruction was were war waren hatte était étaient fue era erano foi eram stond był było była был было была vardı كان كانت था थी थे version versie wersja версия sürüm eski`},
	{found: points, words: `looks this these following below above such like
dies diese dieser dieses diesen folgende folgender folgendes folgenden so das
ceci cela cet cette ces suivant suivante suivants ainsi esto este esta estos siguiente siguientes así semejante questo questa questi seguente seguenti così isto seguinte seguintes assim
dit deze volgende zo ta tę takie tego taki taką takiego taka następujące następująca następujący это этот эта эту такой такая такое такие так вот следующий следующая следующее следующие
bu şu şöyle böyle aşağıdaki هذا هذه هكذا التالي التالية كالتالي يلي الآتي यह ये ऐसा ऐसे इस निम्न निम्नलिखित`,
		parts: `다음 아래 이런 이렇게 같은_ 같이_ 위와`, japanese: `次の 以下 下記 このよう こう書 この形 上記`, chinese: `如下 以下 这样 下面 这段 这行 这条 上面 以上`},
	{found: intends, words: `i i'll i'm i've we we'll let's
ich wir je j'appelle j'enregistre j'envoie j'utilise j'effectue j'exécute j'ajoute j'efface j'ouvre j'écris j'obtiens j'interroge j'essaie nous voyons allons
voy vamos déjame permíteme estoy busco consulto reservo guardo borro elimino creo envío compruebo verifico reviso ejecuto llamo hago abro leo escribo actualizo añado obtengo calculo procedo empiezo lanzo mando
vado fammi lasciami sto cerco controllo prenoto salvo cancello invio eseguo chiamo faccio apro leggo scrivo aggiorno aggiungo ottengo calcolo inizio avvio recupero provo
vou deixe deixa estou procuro apago crio envio executo chamo faço abro leio escrevo atualizo adiciono obtenho prossigo começo
ik we sprawdzę sprawdzam zapiszę utworzę tworzę znajdę wyślę usunę robię zrobię poszukam szukam usuwam dodam pobieram pobiorę wywołam wyszukam wyszukuję zobaczę zajmę kasuję
я ищу пишу вызову запишу закажу найду начну создам хочу давайте сейчас سوف دعني دعنا سنقوم جاري جارٍ جار الآن أقوم أحجز أحذف أبحث أحفظ मैं हूँ हूं मुझे hemen şimdi
espero aguardo attendo aspetto czekam жду أنتظر
digo aviso cuento volto avviso torno melde meld dam veririm söylerim bildiririm сообщу
jag vi jeg minä én tôi saya`, ends: `uję yorum cağım ceğim ayım eyim alım elim яю аю ую рю лю щу жу шу ऊँगा ऊंगा ूँगा ूंगा`,
		parts: `let_me here_goes los_geht laat_me laat_ik się_robi a_caminho जा_रह 겠습니다 게요 기다리 प्रतीक्षा سأ سن`, japanese: `お伝えし お知らせし お待ち 待ちます ましょう ますね てみます これから 今から`, chinese: `我来 我將 我将 我会 我现在 我先 我去 我要 我这就 我把 让我 我們 我们来 正在 马上 这就 等待 告诉你 告诉您 稍后`},
	{found: notices, parts: `_found_ _saw_ _received_ _noticed_ i_read_ gefunden gesehen erhalten bekommen gelesen trouvé ai_vu reçu j'ai_lu encontrado encontré recibí trovato _visto ricevuto encontrei recebi
gevonden gezien gekregen _vond_ znalaz widzę otrzyma нашёл нашел увидел получил вижу 찾았 봤 받았 وجدت رأيت मिला देखा`, chinese: `看到 找到了 收到 发现`},
	{found: acts, words: `run do done doing execute send call make delete refuse refused decline rejected
ausführen tun machen senden schicken aufrufen löschen weigere verweigere abgelehnt exécuter lancer envoyer faire refuse hacerlo hacer ejecutar enviar mandar niego rehúso rechazo
eseguire farlo fare inviare mandare rifiuto executar fazer enviar faço recuso doen uitvoeren versturen weiger wykonam zrobię uruchomię wyślę odmawiam
делать выполнять запускать отправлять выполню сделаю отказываюсь yapmam yapamam edemem çalıştırmam çalıştıramam reddediyorum أنفذ أنفذه أفعل أرسل فعل أرفض`,
		parts: `rate_ich rate_ab rate_davon ausgeführt execut esegu uitgevoerd wykona uruchom выполн запус çalıştır gönder yapmay 실행 보내 호출 거부 거절 चला कर_सक इनकार`, japanese: `実行 送信 呼び出 削除し 拒否 却下 控え 断り 遠慮`, chinese: `执行 运行 发送 调用 拒绝 无法做 不能做 不会做`},
	{found: foresees, words: `will wird werden werde`},
	{found: reassures, words: `worry worries sorge sorgen`, parts: `no_problem kein_problem keine_ursache pas_de_problème pas_de_souci aucun_problème sin_problema hay_problema ningún_problema nessun_problema non_c'è_problema sem_problema há_problema geen_probleem nie_ma_problemu nie_ma_sprawy нет_проблем не_волнуйтесь не_беспокойтесь
sorun_değil problem_değil 문제없 걱정하지 걱정_마 لا_مشكلة لا_بأس कोई_बात_नहीं समस्या_नहीं चिंता_न`, japanese: `問題ありません 心配`, chinese: `没问题 没有问题 不用担心 别担心`},
	{found: partOfCall, parts: `argument parameter function_call tool_call this_call the_call syntax placeholder aufruf paramètre appel_ llamada parámetro chiamata argomento parametro chamada parâmetro aanroep wywołan вызов аргумент параметр
인수 호출 매개변수 الوسيط المعامل استدعاء तर्क पैरामीटर कॉल çağrı bağımsız_değişken parametre`, japanese: `引数 呼び出し`, chinese: `参数 调用 參數`},
	{found: turns, parts: `_but_ ,_so_ _therefore_ _instead_ _aber_ _sondern_ _deshalb_ _daher_ _mais_ _donc_ _pero_ _así_que_ _sino_ _ma_ _quindi_ _mas_ _então_ _portanto_ _maar_ _dus_ _ale_ _więc_ _но_ _а_ _поэтому_
지만 그래서 لكن لذلك लेकिन परंतु इसलिए _ama_ _ancak_ _bu_yüzden_`, japanese: `しかし ですが ますが ので そこで`, chinese: `但 所以 因此`},
}

// saysExample reports whether a label announces an example.
func saysExample(label []byte) bool {
	if len(label) == 0 || len(label) > maxLabel {
		return false
	}
	return vocabulary().partsOf(strings.ToLower(string(label))).has(presents)
}

// maxLabel bounds the length of a label that announces an example.
const maxLabel = 80
