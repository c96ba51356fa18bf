"""Names that papers in several languages give their own parts ("abstract", "references"). All parsers recognise parts
by them; stage section labels sections by rules of its own."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final


@lru_cache(maxsize=8192)
def plain(text: str) -> str:
    """Lower case, no accents, no numbering, no outer punctuation, letter-spaced words closed up."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    text = text.lower().replace("’", "'")
    text = re.sub(r"\b(?:\w ){3,}\w\b", lambda m: m.group().replace(" ", ""), text)
    text = re.sub(r"(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])", "", text)
    text = NUMBERING.sub("", text)
    return re.sub(r"\s+", " ", re.sub(r"[^\w\s'&/-]", " ", text)).strip(" -'")


NUMBERING: Final = re.compile(
    r"^\s*(?:(?:section|appendix|chapter)\s+|§\s?)?(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?(?=\s|$|[^\W\d_])|[ivx]{1,5}-[a-z]\d?\.?\s|[ivx]{1,5}\.\s|[a-h]\.(?:\d{1,2}\.?)*\s"
    r"|\(?[a-h1-9]\)\s|[一二三四五六七八九十]{1,3}[、.．])\s*",
    re.I,
)
DEPTH: Final = re.compile(r"^\s*(\d{1,2}(?:\.\d{1,2}){0,4})\.?(?:\s+|(?=[^\W\d_]))")

ABSTRACT: Final = frozenset([
    "abstract", "summary", "resumo", "resumen", "resume", "sommaire", "zusammenfassung", "kurzfassung", "riassunto",
    "abstrakt", "souhrn", "sommario", "摘要", "内容提要", "executive summary", "abstract and figures", "synopsis",
])  # fmt: skip
OTHER_ABSTRACTS: Final = frozenset([
    "plain language summary", "key points", "highlights", "graphical abstract", "significance",
    "significance statement", "short summary", "lay summary", "capsule", "plain text summary", "key messages",
    "in brief", "author summary", "editor's summary", "graphic abstract", "significance and impact statement", "teaser",
    "research highlights", "contribution to health promotion",
])  # fmt: skip
ABSTRACT_LANGUAGE: Final = {
    "abstract": "en", "summary": "en", "resumo": "pt", "resumen": "es", "resume": "fr", "sommaire": "fr",
    "zusammenfassung": "de", "kurzfassung": "de", "riassunto": "it", "sommario": "it", "摘要": "zh", "内容提要": "zh",
}  # fmt: skip
KEYWORDS: Final = re.compile(
    r"^(?:key\s*-?\s*words?|keywords? and phrases|index terms|palavras?[- ]chaves?|palabras?[- ]claves?|descriptores"
    r"|mots[- ]cl[ée]s?|schl[üu]sselw[öo]rter|schlagw[öo]rter|parole chiave|关\s*键\s*词|jel codes?"
    r"|jel classification|abbreviations)\b",
    re.I,
)
REFERENCES: Final = frozenset([
    "references", "reference", "bibliography", "literature cited", "works cited", "cited literature",
    "references cited", "literature", "references and notes", "notes and references", "referencias",
    "referencias bibliograficas", "literatura citada", "bibliografia", "参考文献", "bibliographie",
    "references bibliographiques", "literaturverzeichnis", "literatur", "quellen", "quellenverzeichnis",
    "riferimenti bibliografici",
])  # fmt: skip
MAIN: Final = frozenset([
    "introduction", "background", "related work", "related works", "literature review", "materials and methods",
    "material and methods", "methods and materials", "methods", "method", "methodology", "data and methods", "data",
    "experimental", "experiments", "study area", "theory", "results", "results and discussion", "discussion",
    "discussions", "discussion and conclusions", "discussion and conclusion", "conclusion", "conclusions",
    "concluding remarks", "conclusions and outlook", "summary and conclusions", "summary and discussion", "limitations",
    "introducao", "material e metodos", "materiais e metodos", "metodologia", "metodos", "metodo", "resultados",
    "resultados e discussao", "discussao", "conclusao", "conclusoes", "consideracoes finais", "introduccion",
    "materiales y metodos", "material y metodos", "procedimientos metodologicos", "resultados y discusion", "discusion",
    "conclusion", "conclusiones", "marco teorico", "引言", "前言", "绪论", "材料与方法", "方法", "结果", "结果与讨论",
    "讨论", "结论", "结语", "online methods", "methods summary", "statement of need", "summary and outlook",
    "general discussion", "problem statement", "preliminaries", "experimental section", "experimental setup",
    "theoretical background", "implications", "future work", "case study", "methodes", "methodologie",
    "materiel et methodes", "materiels et methodes", "resultats", "resultats et discussion", "etat de l'art", "theorie",
    "la theorie", "conclusions et perspectives", "conclusion et perspectives", "perspectives", "einleitung",
    "einfuhrung", "hintergrund", "stand der forschung", "stand der technik", "grundlagen", "methoden", "methodik",
    "material und methoden", "daten und methoden", "ergebnisse", "ergebnisse und diskussion", "diskussion", "fazit",
    "schlussfolgerung", "schlussfolgerungen", "ausblick", "fazit und ausblick", "zusammenfassung und ausblick",
    "introduzione", "metodi", "materiali e metodi", "risultati", "discussione", "conclusioni", "metodos y materiales",
    "antecedentes", "analisis de resultados", "revisao da literatura", "referencial teorico", "fundamentacao teorica",
    "绪言", "导言", "研究背景", "研究方法", "材料和方法", "数据与方法", "相关工作", "研究现状", "实验", "实验方法",
    "实验结果", "结果与分析", "结果分析", "结果和讨论", "分析与讨论", "总结", "总结与展望", "结论与展望", "结论与建议",
    "结束语", "问题重述", "问题分析", "模型假设", "符号说明",
])  # fmt: skip
BACK: Final = frozenset([
    "acknowledgements", "acknowledgments", "acknowledgement", "acknowledgment", "author contributions",
    "authors' contributions", "author contribution", "authors contributions", "contributions",
    "credit authorship contribution statement", "competing interests", "competing interest", "conflict of interest",
    "conflicts of interest", "conflict of interest statement", "declaration of competing interest",
    "declaration of interests", "disclosure statement", "disclosure", "funding", "funding information",
    "funding statement", "financial support", "data availability", "data availability statement",
    "availability of data and materials", "data and code availability", "code availability",
    "code and data availability", "data accessibility", "open research", "software availability",
    "supplementary material", "supplementary materials", "supplementary information", "supplementary data",
    "supplement", "supporting information", "additional information", "ethics statement", "ethics approval",
    "ethical approval", "institutional review board statement", "informed consent statement", "publisher's note",
    "generative ai statement", "orcid", "peer review", "peer review information", "reprints and permissions",
    "author information", "authors' information", "how to cite", "consent for publication", "declarations", "appendix",
    "appendices", "review statement", "agradecimentos", "agradecimientos", "contribuicao dos autores",
    "conflito de interesses", "conflicto de intereses", "disponibilidade de dados", "financiamento", "financiamiento",
    "致谢", "附录", "notes", "abbreviations", "associated data", "colaboradores", "contribuciones",
    "inclusion and ethics", "remerciements", "financement", "annexe", "annexes", "contributions des auteurs",
    "danksagung", "anhang", "finanzierung", "interessenkonflikt", "ringraziamenti", "anexo", "anexos", "apendice",
    "apendices", "datos biograficos", "biography", "biographies", "about the authors", "conflicts of interests",
    "declaration of interest", "ethics", "ethics approval and consent to participate",
    "availability of data and material", "availability", "data statement", "author details", "authors",
    "corresponding author", "corresponding authors", "affiliation", "affiliations", "about the author", "appendixes",
    "supplemental information", "supplemental material",
    "online content", "code and data availability statement", "artificial intelligence", "use of ai", "作者简介",
    "基金项目", "感谢",
])  # fmt: skip
CAPTION: Final = re.compile(
    r"^(?:(?:supplementary|extended data|supporting|appendix)\s+)?(?:fig(?:ure|ura|\.)?s?|tab(?:le|ela|la|\.)?"
    r"|quadro|cuadro|gr[aá]fico"
    r"|scheme|plate|box|chart|algorithm|listing|map|photo|video|movie|图|表)\s*\.?\s*"
    r"(?P<label>[A-Z]{0,2}\.?\d{1,3}(?:\.\d{1,2})?[a-z]?|[IVX]{1,5})(?![\w])(?P<after>.{0,3})",
    re.I,
)


_KINDS: Final = {
    name: kind
    for kind, names in (
        ("back", BACK), ("main", MAIN), ("references", REFERENCES), ("other_abstract", OTHER_ABSTRACTS),
        ("abstract", ABSTRACT),
    )
    for name in names
}  # fmt: skip
_LONGEST_NAME: Final = 200
_LENGTH: Final = re.compile(r"\s*\(\d{1,4}(?: words?)?\)\s*:?$", re.I)  # "Abstract (250 words)"


def kind_of_heading(text: str) -> str:
    """Return ``abstract``, ``other_abstract``, ``keywords``, ``references``, ``main``, ``back`` or "" for a heading's
    text."""
    return "" if len(text) > _LONGEST_NAME else _kind(text)


@lru_cache(maxsize=8192)
def _kind(text: str) -> str:
    name = plain(_LENGTH.sub("", text))
    return "keywords" if KEYWORDS.match(name) and len(name) < 30 else _KINDS.get(name, "")
