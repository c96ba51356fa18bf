"""Words that papers in English, Portuguese, Spanish and Chinese use for their own parts. Used to tell parts, never to label sections."""

from __future__ import annotations

import re
import unicodedata
from typing import Final


def plain(text: str) -> str:
    """Lower case, no accents, no numbering, no outer punctuation, letter-spaced words closed up."""
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c)).lower().replace("’", "'")
    text = re.sub(r"\b(?:\w ){3,}\w\b", lambda m: m.group().replace(" ", ""), text)
    text = NUMBERING.sub("", text)
    return re.sub(r"\s+", " ", re.sub(r"[^\w\s'&/-]", " ", text)).strip(" -'")


NUMBERING: Final = re.compile(
    r"^\s*(?:(?:section|appendix|chapter)\s+)?(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?(?=\s|$|[^\W\d_])|[ivx]{1,5}\.\s|[a-h]\.(?:\d{1,2}\.?)*\s"
    r"|\(?[a-h1-9]\)\s|[一二三四五六七八九十]{1,3}[、.．])\s*",
    re.I,
)
DEPTH: Final = re.compile(r"^\s*(\d{1,2}(?:\.\d{1,2}){0,4})\.?(?:\s+|(?=[^\W\d_]))")

ABSTRACT: Final = frozenset(
    ["abstract", "summary", "resumo", "resumen", "摘要", "executive summary", "abstract and figures", "synopsis"]
)
OTHER_ABSTRACTS: Final = frozenset(
    [
        "plain language summary",
        "key points",
        "highlights",
        "graphical abstract",
        "significance",
        "significance statement",
        "short summary",
        "lay summary",
        "resume",
        "zusammenfassung",
        "riassunto",
        "capsule",
    ]
)
ABSTRACT_LANGUAGE: Final = {"abstract": "en", "summary": "en", "resumo": "pt", "resumen": "es", "摘要": "zh"}
KEYWORDS: Final = re.compile(
    r"^(?:key\s*-?\s*words?|keywords? and phrases|index terms|palavras?[- ]chaves?|palabras?[- ]claves?|descriptores"
    r"|关键词|jel codes?|jel classification|abbreviations)\b",
    re.I,
)
REFERENCES: Final = frozenset(
    [
        "references",
        "reference",
        "bibliography",
        "literature cited",
        "works cited",
        "cited literature",
        "references cited",
        "literature",
        "references and notes",
        "notes and references",
        "referencias",
        "referencias bibliograficas",
        "literatura citada",
        "bibliografia",
        "参考文献",
    ]
)
MAIN: Final = frozenset(
    [
        "introduction",
        "background",
        "related work",
        "related works",
        "literature review",
        "materials and methods",
        "material and methods",
        "methods and materials",
        "methods",
        "method",
        "methodology",
        "data and methods",
        "data",
        "experimental",
        "experiments",
        "study area",
        "theory",
        "results",
        "results and discussion",
        "discussion",
        "discussions",
        "discussion and conclusions",
        "discussion and conclusion",
        "conclusion",
        "conclusions",
        "concluding remarks",
        "conclusions and outlook",
        "summary and conclusions",
        "summary and discussion",
        "limitations",
        "introducao",
        "material e metodos",
        "materiais e metodos",
        "metodologia",
        "metodos",
        "metodo",
        "resultados",
        "resultados e discussao",
        "discussao",
        "conclusao",
        "conclusoes",
        "consideracoes finais",
        "introduccion",
        "materiales y metodos",
        "material y metodos",
        "procedimientos metodologicos",
        "resultados y discusion",
        "discusion",
        "conclusion",
        "conclusiones",
        "marco teorico",
        "引言",
        "前言",
        "绪论",
        "材料与方法",
        "方法",
        "结果",
        "结果与讨论",
        "讨论",
        "结论",
        "结语",
        "online methods",
        "methods summary",
        "statement of need",
    ]
)
BACK: Final = frozenset(
    [
        "acknowledgements",
        "acknowledgments",
        "acknowledgement",
        "acknowledgment",
        "author contributions",
        "authors' contributions",
        "author contribution",
        "authors contributions",
        "contributions",
        "credit authorship contribution statement",
        "competing interests",
        "competing interest",
        "conflict of interest",
        "conflicts of interest",
        "conflict of interest statement",
        "declaration of competing interest",
        "declaration of interests",
        "disclosure statement",
        "disclosure",
        "funding",
        "funding information",
        "funding statement",
        "financial support",
        "data availability",
        "data availability statement",
        "availability of data and materials",
        "data and code availability",
        "code availability",
        "code and data availability",
        "data accessibility",
        "open research",
        "software availability",
        "supplementary material",
        "supplementary materials",
        "supplementary information",
        "supplementary data",
        "supplement",
        "supporting information",
        "additional information",
        "ethics statement",
        "ethics approval",
        "ethical approval",
        "institutional review board statement",
        "informed consent statement",
        "publisher's note",
        "generative ai statement",
        "orcid",
        "peer review",
        "peer review information",
        "reprints and permissions",
        "author information",
        "authors' information",
        "how to cite",
        "consent for publication",
        "declarations",
        "appendix",
        "appendices",
        "review statement",
        "agradecimentos",
        "agradecimientos",
        "contribuicao dos autores",
        "conflito de interesses",
        "conflicto de intereses",
        "disponibilidade de dados",
        "financiamento",
        "financiamiento",
        "致谢",
        "附录",
        "notes",
        "abbreviations",
        "associated data",
        "colaboradores",
        "contribuciones",
        "inclusion and ethics",
    ]
)
CAPTION: Final = re.compile(
    r"^(?:(?:supplementary|extended data|supporting|appendix)\s+)?(?:fig(?:ure|ura|\.)?s?|tab(?:le|ela|la|\.)?|quadro|cuadro|gr[aá]fico"
    r"|scheme|plate|box|chart|algorithm|listing|map|photo|video|movie|图|表)\s*\.?\s*"
    r"(?P<label>[A-Z]{0,2}\.?\d{1,3}(?:\.\d{1,2})?[a-z]?|[IVX]{1,5})(?![\w])(?P<after>.{0,3})",
    re.I,
)


def kind_of_heading(text: str) -> str:
    """``abstract``, ``other_abstract``, ``keywords``, ``references``, ``main``, ``back`` or "" for a heading's text."""
    name = plain(text)
    if name in ABSTRACT:
        return "abstract"
    if name in OTHER_ABSTRACTS:
        return "other_abstract"
    if KEYWORDS.match(name) and len(name) < 30:
        return "keywords"
    if name in REFERENCES:
        return "references"
    if name in MAIN:
        return "main"
    return "back" if name in BACK else ""
