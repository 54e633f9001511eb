"""Words that carry no content in their language: articles, pronouns, prepositions, conjunctions, auxiliary verbs,
question words, and words of polite requests ("please", "explain").

In a collection of product names or abstracts such a word can be rare, so its idf is large although it says nothing
about the subject of a query. The lists have only closed word classes. Published stop lists are longer and include
content words: the English list of scikit-learn has "fire" and "system", the one of stopwordsiso "computer".

To add a language, put its words into `FUNCTION_WORDS`. They are stop words that are not dropped: in queries with other
words they count less (`retrieve.blend.words`). Words that a user wants dropped are in `stop_words`.
"""

from __future__ import annotations

from tacit.features.text.tokenizers import language_code

# fmt: off
FUNCTION_WORDS = {
    "en":
        "a an the this that these those each every either neither some any no all both few many much more most other "
        "another such same own several i me my mine myself we us our ours ourselves you your yours yourself he him his "
        "himself she her hers herself it its itself they them their theirs themselves someone somebody something "
        "anyone anybody anything everyone everybody everything nobody nothing none who whom whose which what whatever "
        "whichever whoever how why when where whether while here there then than so too very just only also again ever "
        "never not now yet still even rather quite perhaps maybe of in on at by for from to with without within into "
        "onto upon about above below under over after before between among through during against across along around "
        "behind beside besides beyond despite except until till since per via as off out up down toward towards and or "
        "but nor if because although though unless whereas however therefore thus hence be am is are was were been "
        "being do does did doing done have has had having can cannot could may might must shall should will would "
        "ought s please explain tell describe thank thanks hello want know give",
    "de":
        "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dies diese "
        "diesen diesem dieser dieses jene jenen jenem jener jenes jede jeden jedem jeder jedes alle allen allem aller "
        "alles manche manchen mancher manches solche solchen solcher solches andere anderen anderer anderes einige "
        "einigen einiger viel viele vielen mehr ich mich mir mein meine meinen meinem meiner meines du dich dir dein "
        "deine deinen er ihn ihm sie ihr ihre ihren ihrem ihrer ihres es sich wir uns unser unsere unseren euch euer "
        "ihnen man sein seine seinen seinem seiner seines wer wen wem wessen was welche welchen welchem welcher "
        "welches wie wo wohin woher wann warum wieso weshalb womit wofür worüber ob in im ins an am auf aus bei beim "
        "mit nach von vom vor zu zum zur durch für gegen ohne um über unter zwischen hinter neben seit während wegen "
        "trotz bis und oder aber denn doch sondern weil wenn als da dass daß damit obwohl auch nur noch schon so sehr "
        "nicht nichts nie nun jetzt hier dort dann also etwa etwas bin bist ist sind seid war waren wäre gewesen habe "
        "haben hast hat hatte hatten werde werden wird wurde wurden worden kann können konnte könnte muss müssen "
        "musste soll sollen sollte will wollen wollte darf dürfen mag möchte kannst könntest können willst würde "
        "würden würdest weißt gibt gib sage sag sagen bitte danke hallo erkläre erklär erklären erzähle erzähl "
        "erzählen beschreibe beschreib",
    "fr":
        "le la les un une des du de d l ce cet cette ces ça cela ceci celui celle ceux celles mon ma mes ton ta tes "
        "son sa ses notre nos votre vos leur leurs je j me m moi tu te t toi il elle on nous vous ils elles lui eux se "
        "s soi y en qui que qu quoi dont où quel quelle quels quelles lequel laquelle lesquels lesquelles comment "
        "pourquoi quand combien si tout tous toute toutes autre autres même mêmes plusieurs quelque quelques "
        "chaque aucun aucune tel telle plus moins très trop peu beaucoup aussi encore déjà jamais toujours ne n pas "
        "non oui rien à au aux avec sans sous sur dans par pour vers chez entre contre depuis pendant avant après "
        "derrière devant et ou mais donc or ni car puisque lorsque parce afin être suis es sommes êtes sont était "
        "étaient été sera serait soit avoir ai as a avons avez ont avait avaient eu aura aurait peut peuvent pouvoir "
        "doit doivent devoir faut peux veux veut voudrais pouvez pourrais pourriez sais plaît svp merci bonjour "
        "expliquer explique expliquez décris dire dis dites raconte racontez",
    "es":
        "el la los las lo un una unos unas al del este esta estos estas esto ese esa esos esas eso aquel aquella "
        "aquellos aquellas mi mis tu tus su sus nuestro nuestra nuestros nuestras vuestro vuestra yo me mí tú te ti "
        "él ella ello ellos ellas nos nosotros vosotros os usted ustedes se sí le les que qué quien quién quienes "
        "cual cuál cuales cuáles cuyo cómo como dónde donde cuándo cuando cuánto cuántos cuánta cuántas por porque "
        "para todo toda todos todas otro otra otros otras mismo misma mismos mismas cada algún alguna algunos algunas "
        "ningún ninguna mucho mucha muchos muchas poco más menos muy tan tanto también ya aún no nada nunca siempre a "
        "ante bajo con contra de desde durante en entre hacia hasta sin sobre tras según y e o u pero sino si aunque "
        "pues ser es soy eres son somos era eran fue fueron sido sea siendo estar está están estoy estaba haber ha "
        "han he hay había hemos puede pueden puedo puedes podría podrías poder debe deben quiero quieres quisiera "
        "sabe sabes algo alguien favor gracias hola explica explicar explique explícame describe dime decir "
        "cuéntame háblame",
    "it":
        "il lo la i gli le un uno una del dello della dei degli delle dell al allo alla ai agli alle all dal dallo "
        "dalla dai dagli dalle nel nello nella nei negli nelle nell sul sullo sulla sui sugli sulle questo questa "
        "questi queste quello quella quelli quelle mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra "
        "vostro vostra loro io me mi tu te ti egli lui lei esso essa noi ci voi vi essi si ne che chi cui quale quali "
        "cosa come dove quando quanto quanti perché perchè tutto tutta tutti tutte altro altra altri altre stesso "
        "stessa ogni qualche alcuni alcune nessuno molto molti poco più meno anche ancora già mai sempre non nulla "
        "niente qualcosa qualcuno a ad con da di in per su tra fra senza sotto sopra verso e ed o ma se però quindi "
        "mentre essere è sono sei siamo era erano stato stata sia avere ha ho hai hanno abbiamo aveva può possono "
        "potere deve devono dovere puoi potresti vorrei voglio sai favore grazie ciao spiega spiegare spiegami "
        "descrivi dimmi dire raccontami parlami dammi",
    "pt":
        "o a os as um uma uns umas do da dos das no na nos nas ao aos à às pelo pela pelos pelas num numa este esta "
        "estes estas isto esse essa esses essas isso aquele aquela aqueles aquelas aquilo meu minha meus minhas teu "
        "tua seu sua seus suas nosso nossa nossos nossas eu me mim tu te ti ele ela eles elas nós vós você vocês se "
        "lhe lhes que quê quem qual quais cujo como onde quando quanto quantos porque por para todo toda todos todas "
        "outro outra outros outras mesmo mesma cada algum alguma alguns algumas nenhum muito muita muitos muitas pouco "
        "mais menos também já ainda não nada nunca sempre ante com contra de desde durante em entre até sem sob sobre "
        "e ou mas nem embora pois ser é sou são somos era eram foi foram sido seja estar está estão estava haver há "
        "ter tem têm tinha pode podem podes poderia posso poder deve devem quero queria sabe algo alguém favor "
        "obrigado obrigada olá explica explique explicar descreva diga dizer fale",
    "nl":
        "de het een dit dat deze die elk elke ieder iedere alle alles geen sommige andere ander zulke ik mij me mijn "
        "jij je jou jouw u uw hij hem zijn zij ze haar wij we ons onze jullie hen hun zich men iemand iets niemand "
        "niets wie wat welk welke waar waarom wanneer hoe of in op aan uit bij met voor van naar na om over onder "
        "tussen tegen door zonder tot tijdens sinds te en maar want dus omdat als dan toen terwijl hoewel ook nog al "
        "niet wel nu er hier daar zo zeer heel meer meest ben bent is was waren geweest heb hebt heeft hebben had "
        "hadden word wordt worden werd werden kan kunnen kon moet moeten mag mogen zal zullen zou zouden wil willen "
        "kun kunt wilt weet alstublieft alsjeblieft bedankt hallo leg uitleggen beschrijf vertel vertellen geef",
    "sv":
        "en ett den det de denna detta dessa varje alla allt ingen inget inga någon något några annan annat andra jag "
        "mig min mitt mina du dig din ditt dina han honom hans hon henne hennes vi oss vår vårt våra ni er ert era dem "
        "deras sig sin sitt sina man vem vems vad vilken vilket vilka hur var vart varför när om i på av från till med "
        "utan för under över mellan mot genom efter före vid hos åt och eller men utan att som därför eftersom medan "
        "så också även bara inte ej aldrig nu här där mycket mer mest vara är var varit blir blev bli har hade haft ha "
        "kan kunde kunna ska skall skulle vill ville måste får fick tack snälla förklara berätta ge",
    "da":
        "en et den det de denne dette disse hver alle alt ingen intet nogen noget nogle anden andet andre jeg mig min "
        "mit mine du dig din dit dine han ham hans hun hende hendes vi os vor vores i jer jeres dem deres sig sin sit "
        "sine man hvem hvad hvilken hvilket hvilke hvordan hvor hvorfor hvornår om på af fra til med uden for under "
        "over mellem mod gennem efter før ved hos ad og eller men at som der fordi mens så også kun ikke aldrig nu her "
        "meget mere mest være er var været bliver blev blive har havde haft have kan kunne skal skulle vil ville må "
        "måtte venligst tak forklar fortæl giv",
    "no":
        "en ei et den det de denne dette disse hver alle alt ingen intet noen noe annen annet andre jeg meg min mitt "
        "mine du deg din ditt dine han ham hans hun henne hennes vi oss vår vårt våre dere deres dem seg sin sitt sine "
        "man hvem hva hvilken hvilket hvilke hvordan hvor hvorfor når om i på av fra til med uten for under over "
        "mellom mot gjennom etter før ved hos og eller men at som fordi mens så også bare ikke aldri nå her der mye "
        "mer mest være er var vært blir ble bli har hadde hatt ha kan kunne skal skulle vil ville må måtte vennligst "
        "takk forklar fortell gi",
    "fi":
        "minä minun minua minut sinä sinun sinua hän hänen häntä me meidän meitä te teidän he heidän heitä se sen sitä "
        "siinä siitä ne niiden niitä tämä tämän tätä tässä tästä nämä näiden tuo tuon nuo kuka kenen ketä mikä minkä "
        "mitä missä mistä mihin mitkä joka jonka jota jossa josta jotka joiden miten kuinka miksi milloin koska onko "
        "kaikki kaikkien jokainen joku jotain jokin muu muut muiden itse sama samat ja tai vai mutta eli sekä että jos "
        "kun vaikka kuin niin myös vain vielä jo ei en et emme ette eivät nyt tässä siellä täällä hyvin olla on ovat "
        "olen olet oli olivat ollut voi voivat voisi pitää täytyy kanssa ilman ennen jälkeen kautta ole hyvä kiitos "
        "selitä kerro anna",
    "ru":
        "я меня мне мной мы нас нам ты тебя тебе вы вас вам он его ему им она её ее ей оно они их ими себя себе мой "
        "моя моё мои твой наш наша ваш свой своя своё свои этот эта это эти этого этой этих тот та то те того той тех "
        "такой такая такие каждый весь вся всё все всех другой другие сам самый кто кого кому что чего чему чем какой "
        "какая какое какие каких который которая которое которые которых чей как где куда откуда когда почему зачем "
        "сколько ли в во на с со к ко о об обо от до из у за под над при по для без через между перед про и а но или "
        "да же бы не ни если чтобы потому так тоже также только ещё уже очень более быть был была было были есть будет "
        "будут может могут можно нужно надо пожалуйста спасибо объясни объясните расскажи скажи",
    "ja":
        "何 誰 何処 どこ 何時 いつ 何故 なぜ 如何 どう どの どれ どちら 何方 幾つ 此れ これ 其れ それ 彼れ あれ 此の "
        "この 其の その 此処 ここ 其処 そこ 私 貴方 為る する 有る ある 居る いる 成る なる 言う 事 こと 物 もの "
        "為 ため 様 よう 教える 下さる くださる 説明 御願い お願い",
}
# fmt: on


def function_words(language: str) -> frozenset[str]:
    """Return the words without content in a language; empty if there is no list.

    >>> sorted(function_words("English") & {"what", "is", "a", "zebra"}), len(function_words("any"))
    (['a', 'is', 'what'], 0)
    """
    return frozenset(FUNCTION_WORDS.get(language_code(language), "").split())
