"""Licences as short lower-case names ("cc-by-4.0"), and what each allows.

A text has such a name only if all of it is recognised: as an SPDX expression, an address, or a known name with its
version. A word that is left over, a negation, a condition or a second licence leaves the text as it is stated.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

UNKNOWN = "unknown"
_LONGEST = 200
_LONGEST_READ = 4000


class Terms(StrEnum):
    """The terms on which a text may be published, from the most open to the strictest."""

    OPEN = "yes, naming the source"
    SHARE_ALIKE = "yes, under the same licence"
    NON_COMMERCIAL = "not for commercial use"
    NO_DERIVATIVES = "not changed or in parts"
    OTHER = "not recognised: read it"
    NOT_STATED = "not stated: ask the owner"


# -- vocabulary --------------------------------------------------------------------------------------------------------
# Patterns, to be read without case and accents. A blank stands for blanks and hyphens, or for none of them.

_ELEMENTS = {
    "by": "cc by|by|attribution|namensnennung|atribución|atribuição|attribuzione|reconocimiento|reconeixement|paternité"
    "|naamsvermelding|uznanie autorstwa|erkännande|navngivelse|nimeä|uveďte (?:původ|autora)|atribuire|alıntı"
    "|с указанием авторства|атрибуция|із зазначенням авторства|署名|姓名標示|表示|저작자표시",
    "nc": "nc|non commercial|nicht kommerziell|no comercial|não comercial|pas d'utilisation commerciale|非商业性使用"
    "|非営利",
    "nd": "nd|no deriv(?:ative)?s?(?: works)?|keine bearbeitung(?:en)?|sin obra derivada|pas de modification"
    "|禁止演绎|改変禁止",
    "sa": "sa|share alike|weitergabe unter gleichen bedingungen|compartir igual|compartilha igual"
    "|partage dans les mêmes conditions|condividi allo stesso modo|gelijk delen|na tych samych warunkach"
    "|相同方式共享|継承",
}
"""The elements of Creative Commons licences, in the languages in which catalogues print most."""

_FAMILIES = {
    "pddl": "(?:open data commons )?public domain dedication (?:and|&) licen[sc]e|(?:odc )?pddl",
    "cc0": "cc 0|cc zero|creative commons zero|public domain dedication",
    "public-domain": "public domain(?: mark)?|pdm|other pd|gemeinfrei|dominio público|domínio público|domaine public"
    "|dominio pubblico|publiek domein|公有领域",
    "dl-de-by": "dl (?:de ?/? by|by de)|datenlizenz deutschland [:,]? namensnennung",
    "dl-de-zero": "dl (?:de ?/? zero|zero de)|datenlizenz deutschland [:,]? zero",
    "odbl": "(?:open data commons )?open database licen[sc]e|(?:odc )?odbl",
    "odc-by": "open data commons attribution|odc by",
    "ogl-canada": "open government licen[sc]e canada|ogl canada",
    "ogl": "(?:uk )?open government licen[sc]e|(?:uk )?ogl(?: uk)?",
    "etalab": "licence ouverte|etalab",
    "iodl": "italian open data licen[sc]e|iodl",
    "nlod": "norwegian licen[sc]e for open government data|norsk lisens for offentlige data|nlod",
    "cdla-permissive": "community data licen[sc]e agreement permissive|cdla permissive",
    "cdla-sharing": "community data licen[sc]e agreement sharing|cdla sharing",
    "gfdl": "(?:gnu )?free documentation licen[sc]e|(?:gnu )?g?fdl",
    "agpl": "(?:gnu )?affero general public licen[sc]e|(?:gnu )?agpl",
    "lgpl": "(?:gnu )?(?:lesser|library) general public licen[sc]e|(?:gnu )?lgpl",
    "gpl": "(?:gnu )?general public licen[sc]e|(?:gnu )?gpl",
    "mpl": "mozilla public licen[sc]e|mpl",
    "eupl": "european union public licen[sc]e|eupl",
    "apache": "apache(?: software)?",
    "bsd-2-clause": "bsd 2 clause|simplified bsd",
    "bsd-3-clause": 'bsd 3 clause(?: "new" or "revised")?|(?:new|modified|revised) bsd',
    "mit": "mit",
}
"""Short name -> names of a licence in full; more of them follow from the list of SPDX."""

_ONE_VERSION = {"cc0": "1.0", "odbl": "1.0", "odc-by": "1.0", "pddl": "1.0", "public-domain": "", "ogl": "", "mit": ""}

_CC_VERSIONS = {"1.0", "2.0", "2.1", "2.5", "3.0", "4.0"}

_MARKER = "creative commons|cc|知识共享|創用|クリエイティブ ・ コモンズ|크리에이티브 커먼즈"
_FILLERS = (
    "licen[sc]es?|licencia|licença|licenza|lizenz|lizenzvertrag|licentie|licens|lisenssi|lisans|licencja|licence"
    "|lisens|лицензия|许可协议|许可|授權條款|ライセンス|라이선스|international|internacional|internationale?|internazionale"
    "|internationaal|międzynarodowe|mezinárodní|uluslararası|международная|国际|國際|国際|국제|public|unported|generic"
    "|universal|universell|version|versión|versão|versione|v|the|an?|de|der|die|la|le|les|une?|una|uma|unter|sous|bajo|sob"
    "|onder|under|this|is|open access|article|work|paper|dataset|data|of|terms(?: (?:and|&) conditions)? of|licen[sc]ed"
    "|deed|distributed|published|released|(?:made )?available|some rights reserved|or later|open licen[sc]e"
    "|daten|données|datos|dados|dati|diese[rs]?|stehen|steht|mise? à disposition|selon les termes"
)
"""Words that change nothing. None of them denies, limits or adds a condition."""

_PORTED = (
    "igo|at|au|be|br|ca|ch|cl|cn|cz|de|dk|es|eu|fr|gr|hk|ie|il|in|it|jp|kr|lu|mx|nl|nz|pl|pt|ro|se|tw|uk|us|za"
    "|austria|österreich|schweiz|deutschland|germany|australia|united states|france|españa|italia|brasil|new zealand"
)
"""Jurisdictions, after the version of a Creative Commons licence before 4.0."""

_ACTS = r"re-?use|use|copying|sharing|adaptation|adapting|remixing|transforming|(?:re)?distribution|repro-? ?duction"
_LIMITS = r"\b(?:only|not?|non|except|unless|but|for|until|after|commerc|permission|embargo)"
"""Words that a journal's name does not need, and that would limit the licence."""
_CREDITED = (
    r"(?:you give appropriate credit to )?(?:it|the original (?:works?|author\(s\)|authors?))"
    rf"(?:, first published in (?:(?!{_LIMITS})[^,]){{3,100}},)?(?: and (?:the )?(?:source|publication))?"
    r"(?: (?:is|are) (?:properly |appropriately |correctly )?(?:cited|credited|attributed|acknowledged))?"
    r"(?:, provide a link to the creative commons licen[sc]e)?(?:,? and indicate if changes were made)?"
)
_CREDIT = (
    rf",? ?(?:which|that) (?:permits?|allows?) (?:unrestricted |any )?(?:(?:,|, and| and| or)? ?(?:{_ACTS}))+"
    r"(?: in any medium(?: or format)?)?(?:,? (?:and )?for any purpose)?"
    rf"(?:,? (?:provided|so long as|as long as)(?: that)? {_CREDITED})?(?=[ ,.;)(]|$)"
    r"|\.? ?the use, distribution or reproduction in other forums is permitted, provided the original author\(s\) and"
    r" the copyright owner\(s\) (?:or licensor )?are credited and that the original publication in this journal is"
    r" cited, in accordance with accepted academic practice\.(?: no use, distribution or reproduction is permitted"
    r" which does not comply with these terms)?"
    r"|(?:copyright ?)?(?:©|\(c\)) ?(?:\d{4},? )?(?:by )?the (?:author\(s\)|authors)(?:,? \d{4})?\.?(?= |$)"
    r"|authors of (?:joss )?papers retain copyright and release the work under|it is made available under"
    r"|original content from this work may be used under"
    r"|to view a copy of this licen[sc]e, ?(?:please )?(?:visit|see)"
)
"""Clauses of publishers that repeat what CC BY allows: acts, media and the credit that is due."""

_SILENT = frozenset({
    "unknown", "none", "null", "n/a", "na", "nil", "-", "?", "tbd", "not specified", "notspecified", "unspecified",
    "not stated", "other", "not applicable", "license not specified", "licence not specified", "no license specified",
    "open access", "openaccess", "open", "public", "free", "freely available", "see website", "auf anfrage",
    "sur demande", "a peticion", "bajo peticion", "sob consulta", "su richiesta", "op aanvraag",
    "info:eu-repo/semantics/openaccess", "http://purl.org/coar/access_right/c_abf2",
    "http://publications.europa.eu/resource/authority/access-right/public",
})  # fmt: skip
"""Texts about access, or about nothing: no licence is stated."""

_AUTHORS = "(?:the )?(?:corresponding |first |lead )?authors?"
_ASKED = re.compile(
    r"(?:(?:the )?(?:data(?:sets?)?|files?) )?(?:(?:is|are|can be|may be|will be) )?(?:made )?"
    rf"(?:(?:available|accessible|provided|shared|obtained) )?(?:(?:from|by) {_AUTHORS} )?"
    rf"(?:upon|on|by) (?:reasonable |written )?(?:request|demand)(?: (?:from|to) {_AUTHORS})?"
    rf"|(?:please )?(?:contact|ask) {_AUTHORS}"
)
"""Texts that say whom to ask, and nothing else."""

_NOTICE = re.compile(
    r"(?:copyright ?)?(?:©|\(c\)|copyright)? ?(?:\d{4})?,? ?(?:by )?(?:the )?(?:authors?|author\(s\))?\.?"
)
"""A notice of copyright, which is not a licence."""

_OPEN = frozenset({
    "cc0", "cc-by", "public-domain", "cc-pddc", "pddl", "odc-by", "dl-de-by", "dl-de-zero", "ogl", "ogl-canada",
    "etalab", "iodl", "nlod", "cdla-permissive", "mit", "mit-0", "apache", "bsd-2-clause", "bsd-3-clause", "0bsd",
    "isc", "unlicense", "zlib",
})  # fmt: skip
_ALIKE = frozenset({
    "cc-by-sa", "odbl", "gfdl", "gpl", "lgpl", "agpl", "mpl", "eupl", "epl", "cecill", "cdla-sharing",
})  # fmt: skip

# -- addresses ---------------------------------------------------------------------------------------------------------
_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]{};,]+|(?:www\.)?(?:[a-z0-9-]+\.)+[a-z]{2,}/[^\s<>\"'()\[\]{};,]+")
_PAGE = r"(?:/(?:deed|legalcode|rdf)(?:[.-][\w-]+)*)?/?(?:\?ref=[\w-]+)?"
_PLACES = (
    (rf"creativecommons\.org/licen[sc]es/(by(?:-nc)?(?:-nd|-sa)?)/(\d\.\d)(?:/[a-z]{{2,8}})?{_PAGE}", "cc {} {}"),
    (rf"creativecommons\.org/publicdomain/zero/1\.0{_PAGE}", "cc0"),
    (rf"creativecommons\.org/publicdomain/mark/1\.0{_PAGE}", "public domain"),
    (
        r"(?:i\.creativecommons\.org|licensebuttons\.net)"
        r"/l/(by(?:-nc)?(?:-nd|-sa)?)/(\d\.\d)/(?:[a-z]{2}/)?\d+x\d+\.png",
        "cc {} {}",
    ),
    (
        r"(?:spdx\.org/licenses|opensource\.org/licen[sc]es?|opendefinition\.org/licenses|choosealicense\.com/licenses"
        r"|publications\.europa\.eu/resource/authority/licence|dcat-ap\.de/def/licenses|govdata\.de)"
        r"/([\w./-]+?)(?:\.html|\.json)?/?",
        "{}",
    ),
    (r"opendatacommons\.org/licen[sc]es/(odbl|by|pddl)(?:/summary|/1[-.]0)?/?", "odc {}"),
    (r"cdla\.dev/(permissive|sharing)-(\d-\d)/?", "cdla {} {}"),
    (
        r"gnu\.org/(?:licenses|copyleft)/(?:old-licenses/)?([al]?gpl|fdl)(?:-(\d\.\d))?(?:\.en)?(?:\.html|\.txt)?",
        "{} {}",
    ),
    (r"apache\.org/licenses/license-(\d\.\d)(?:\.html|\.txt)?", "apache {}"),
    (r"nationalarchives\.gov\.uk/doc/open-government-licence(?:/version/(\d))?/?", "ogl {}"),
    (r"(?:data\.norge\.no|dati\.gov\.it)/(nlod|iodl)(?:/[a-z]{2})?(?:/(\d\.\d))?/?", "{} {}"),
)
"""(pattern of addresses without scheme and www, the text that one stands for)."""

_TAG = re.compile(
    r"</?(?:a|abbr|b|br|div|em|font|h\d|i|img|li|ol|p|small|span|strong|su[bp]|t[drh]|table|u|ul)\b(?P<more>[^<>]{0,500})>",
    re.I,
)
_SHOWN = re.compile(r"(?:href|src|alt|title)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.I)
_STRUCK = re.compile(r"[\u0335-\u0338\u20d2\u20d3\u20e0\u20e5]")


def _untagged(tag: re.Match[str]) -> str:
    """Return what a reader sees of a tag: its address and the words for a picture; a class may strike the text out."""
    if re.search("through|str[iu]c?k", tag["more"], re.I):
        return " unrecognised "
    return " ; ".join(["", *(next(filter(None, found), "") for found in _SHOWN.findall(tag["more"])), ""])


def _plain(text: str) -> str:
    """Return the text in lower case, without accents, tags, invisible signs and kinds of dashes.

    A tag that does not only format, such as one that strikes text out, stays, and nothing recognises it.
    """
    shown = _TAG.sub(_untagged, _STRUCK.sub(" unrecognised ", html.unescape(text)))
    signs = (("-" if unicodedata.category(c) == "Pd" else c) for c in unicodedata.normalize("NFKD", shown.casefold()))
    kept = "".join(c for c in signs if unicodedata.category(c) not in ("Mn", "Cf"))
    return re.sub(
        r"(creativecommons\.org/) (?=licen|publicdomain)", r"\1", " ".join(kept.replace("\u2019", "'").split())
    )


def _word(pattern: str) -> str:
    # A letter of a script that puts blanks between words must not go on before or after.
    return rf"(?<![a-zа-я])(?:{_plain(pattern).replace(' ', r'[ _-]*')})(?![a-zа-я])"


_TOKEN = re.compile(
    "|".join(
        (
            *(f"(?P<f{number}>{_word(pattern)})" for number, pattern in enumerate(_FAMILIES.values())),
            *(f"(?P<{name}>{_word(pattern)})" for name, pattern in _ELEMENTS.items()),
            rf"(?P<version>(?<![\d.])\d(?:[._-]\d)?(?!\d))(?: *[/-]? *{_word(_PORTED)})?",
            _word(_MARKER),
            _word(_FILLERS),
            r"[ _/.:+&*\"'«»“”-]+",
        )
    )
)
_MARKED = re.compile(_word(f"{_MARKER}|cc by"))
_OWN_TITLE = re.compile(
    "attribution|namensnennung|reconocimiento|atribucion|atribuicao|attribuzione|paternite|naamsverm"
)
"""The beginnings of titles that need no "Creative Commons" before them, if a version or another element follows."""
_SPDX = re.compile(r"[\w.+() -]+")
_DROPPED = re.compile(r"\b(?:the|gnu|licen[sc]e|version|v(?=[ .]?\d))\b[ .]?")


def normalise_licence(stated: str | Iterable[str] | None) -> str:
    """Return the short name of a licence: ``cc-by-4.0``, ``cc0-1.0``, ``mit``; ``unknown`` if no licence is stated.

    Args:
        stated: a text, or several statements about one thing, which must agree.

    Returns:
        The name if the whole text is recognised, also an SPDX expression in lower case ("mit or apache-2.0"); else the
        text in lower case, at most 200 characters of it. A short name is returned unchanged.
    """
    texts = [stated or ""] if isinstance(stated, str) or stated is None else list(stated)
    said = list(dict.fromkeys(name for text in texts if (name := _named(_tidy(text))) != UNKNOWN))
    if len(said) > 1:
        said = [name for name in said if not _NOTICE.fullmatch(_plain(name))] or said[:1]
    return said[0] if len(said) == 1 else _named("; ".join(dict.fromkeys(p for name in said for p in name.split("; "))))


def terms_of(licence: str) -> Terms:
    """Return the terms of a licence; for an expression, those of its strictest part."""
    name = recognised(licence)
    return Terms.OTHER if name is None else strictest(_terms(part) for part in _parts(name))


def may_be_whole(licence: str) -> bool:
    """Return whether a release may hold a paper's whole text under this licence."""
    return terms_of(licence) in (Terms.OPEN, Terms.SHARE_ALIKE)


def strictest(terms: Iterable[Terms]) -> Terms:
    """Return the strictest of several terms; without any, those of a text whose licence is not stated."""
    return max(terms, key=list(Terms).index, default=Terms.NOT_STATED)


def licence_allowed(licence: str, wanted: Iterable[str]) -> bool:
    """Return whether a licence, or each licence of an expression, is among the wanted ones.

    A wanted name without a version includes all versions (``cc-by`` includes ``cc-by-4.0``, but not ``cc-by-nc-4.0``).
    ``unknown`` must be wanted by that name.
    """
    names = {normalise_licence(w) for w in wanted}
    name = recognised(licence)
    if name is None or normalise_licence(licence) in names:
        return normalise_licence(licence) in names
    return all(part in names or _family(part) in names for part in _parts(name))


def not_wanted(licence: str, wanted: Iterable[str]) -> str:
    """Return the reason for leaving out a record or paper under a licence."""
    wanted = list(wanted)
    strange = next((f"; scirgen knows no licence {name!r}" for name in wanted if recognised(name) is None), "")
    return f"licence {licence!r} is not among {', '.join(wanted)}{strange}"


def recognised(text: str) -> str | None:
    """Return the short name of a text that is recognised as a whole, ``unknown`` if it states no licence, else None."""
    return _recognised(_tidy(text))


def _tidy(text: str) -> str:
    """Return the text with single blanks without control characters and invisible signs, which a terminal obeys."""
    shown = (c for c in text.replace("\u200b", " ") if c.isprintable() or c.isspace())
    return " ".join("".join(shown).split())


def _named(text: str) -> str:
    found = _recognised(text)
    if found is not None:
        return found
    lower = text.lower()
    return lower if len(lower) <= _LONGEST else f"{lower[: _LONGEST - 6]} (cut)"  # a word that no licence has


def _parts(name: str) -> list[str]:
    return [part.strip("() ") for part in re.split(r" (?:or|and) ", name)]


def _family(name: str) -> str:
    return re.sub(r"-\d+(\.\d+)*(\+|-only|-or-later)?$", "", name.partition(" with ")[0])


def _terms(name: str) -> Terms:
    family = _family(name)
    elements = family.split("-") if family.startswith("cc-by") else []
    if family == UNKNOWN:
        return Terms.NOT_STATED
    if "nd" in elements:
        return Terms.NO_DERIVATIVES
    if "nc" in elements:
        return Terms.NON_COMMERCIAL
    return Terms.OPEN if family in _OPEN else Terms.SHARE_ALIKE if family in _ALIKE else Terms.OTHER


@lru_cache(maxsize=4096)
def _recognised(text: str) -> str | None:
    if len(text) > _LONGEST_READ:
        return None
    plain = re.sub(r"\bccby(nc)?(nd|sa)?\b", lambda m: f"cc by {m[1] or ''} {m[2] or ''}", _plain(text))
    if not plain or plain.strip(" .") in _SILENT or _ASKED.fullmatch(plain.strip(" .")):
        return UNKNOWN
    if (expression := _expression(plain)) is not None:
        return expression
    placed = re.sub(_CREDIT, " ", _ADDRESS.sub(_placed, plain))
    marked = bool(_MARKED.search(placed))
    found = [_read(part, marked) for part in re.split(r"[()\[\]{},;|]| [/&+] ", placed)]
    if any(read is None for read in found):
        return None
    families = {read[0] for read in found if read and read[0]}
    versions = {read[1] for read in found if read and read[1]}
    if families == {"cc0", "public-domain"}:
        families = {"cc0"}
    if len(families) != 1 or len(versions) > 1:
        return None
    [family] = families
    if family.startswith("cc-by") and not versions <= _CC_VERSIONS:
        return None
    version = _ONE_VERSION[family] if family in _ONE_VERSION else next(iter(versions), "")
    return f"{family}-{version}" if version else family


def _placed(found: re.Match[str]) -> str:
    """Return the text that an address stands for, or the address, which nothing recognises."""
    address = re.sub(r"^(?:https?://)?(?:www\.)?", "", found.group()).rstrip(".:")
    for pattern, text in _PLACES:
        if at := re.fullmatch(pattern, address):
            return f" ; {text.format(*(g or '' for g in at.groups()))} ; "
    return " ; unrecognised ; "


def _expression(plain: str) -> str | None:
    """Return an SPDX expression, also one written with blanks ("Apache License 2.0")."""
    if not _SPDX.fullmatch(plain):
        return None
    for text in (plain, "-".join(_DROPPED.sub(" ", plain).split())):
        try:
            name = str(canonicalize_license_expression(text)).lower()
        except InvalidLicenseExpression:
            continue
        name = re.sub(r"^\(([^()]*)\)$", r"\1", name)
        name = re.sub(r"\b(cc-by[a-z-]*-\d\.\d)-[a-z]+\b", r"\1", name)
        return re.sub(r"\bogl-uk-\d\.\d", "ogl", name)
    return None


def _read(part: str, marked: bool) -> tuple[str, str] | None:
    """Return the family and version that a part of a text names, empty if it names none; None if a word is left over.

    Without ``marked``, the text does not say that its elements are those of Creative Commons.
    """
    families: set[str] = set()
    elements: set[str] = set()
    versions: set[str] = set()
    at = 0
    while at < len(part):
        token = _TOKEN.match(part, at)
        if token is None or token.end() == at:
            return None
        at, kind = token.end(), token.lastgroup
        if kind == "version":
            versions.add(re.sub("[_-]", ".", token["version"]) + ("" if len(token["version"]) > 1 else ".0"))
        elif kind in _ELEMENTS:
            elements.add(kind)
        elif kind:
            families.add(list(_FAMILIES)[int(kind[1:])])
    if elements:
        marked = marked or bool(_OWN_TITLE.match(part.strip()) and (versions or len(elements) > 1))
        if not marked or "by" not in elements or {"sa", "nd"} <= elements:
            return None
        families.add("-".join(["cc", *(e for e in ("by", "nc", "nd", "sa") if e in elements)]))
    if len(families) > 1 or len(versions) > 1:
        return None
    return next(iter(families), ""), next(iter(versions), "")
