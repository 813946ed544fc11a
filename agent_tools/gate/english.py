"""Whether prose is English, which is all that the gates can judge.

A sentence that blames hardware or states a cause is known by its words. In another language the same claim would pass
unseen, so what is not plainly English is refused.
LIMIT: by function words, so three words or fewer pass in any language.
"""

from __future__ import annotations

from agent_tools.gate.blame import own_words
from store import lazy

_WORD = lazy.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SENTENCE = lazy.compile(r"(?<=[.;!?:])\s+|\n+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = _words(
    """a about above after again against all also although always an and any anything are as at away back be because been
    before began behind being below beside besides between both but by came can cannot could did do does done down during
    each either else end ended enough even ever every few first for from gave get give given go had has have having he
    held her here his how however if in into is it its itself just kept last later least less like made make many may
    might more most much must near need neither never next no nobody none nor not nothing now of off often on once one
    only onto or other others our out over own per perhaps rather run said same saw seen several shall she should show
    shown shows since so some something soon still stopped such take than that the their them then there these they this
    those though through to together too took toward under unless until up upon us use used very via was we well went were
    what when where whether which while who whole whom whose why will with within without would yet you your"""
)
# Words that English has too, in another sense (die, war, come), are not in it, and those of the list above are taken out.
_FOREIGN = (
    _words(
        """der das ist nicht und ein eine einer eines dem den des auf mit von vom zum zur durch wegen wurde wird hat sind waren
    defekt kaputt fehler ursache weil oder auch nach bei sich
    le la les un une des du est sont et pas par pour dans avec sur cette ce ces qui que il elle ont fut
    el los las es son fue por para con del al lo una uno esta este porque fallo
    il di della del dei gli che non per una sono era stato con nella nel
    o os um uma foi em da na ao pelo pela e em com
    het een niet van voor met zijn werd door naar aan omdat
    och att det som av inte ett har var til ikke er og af
    nie jest na przez jako oraz byl byla
    ve bir bu icin ile degil
    yang dan di dari karena tidak adalah dengan rusak
    on ja ei oli sekä että
    si sau nu este pentru din"""
    )
    - _ENGLISH
)
_FEW, _FOREIGN_ENOUGH = 4, 2
_TELLING = 6
"""English prose of this many words has at least one of the words above."""


def english(text: str) -> bool:
    """Whether each sentence may be English; references and what stands in quotation marks are not looked at."""
    return all(_may_be(sentence) for sentence in _SENTENCE.split(own_words(text)))


def _may_be(sentence: str) -> bool:
    words = [word.lower() for word in _WORD.findall(sentence)]
    if len(words) < _FEW:
        return True
    known = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN or not word.isascii() for word in words)
    if not known:
        return not foreign and len(words) < _TELLING
    return foreign < _FOREIGN_ENOUGH or foreign < known
