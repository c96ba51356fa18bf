"""scirgen's own plugin manifest: built-ins come in through the same door as everybody else's. Nothing is imported here."""

from __future__ import annotations

from scirgen.core.registry import Plugin, Provided

_S = "scirgen.stages"

STAGES = tuple(
    Provided("stage", name, f"{_S}.{name}.stage:{name.capitalize()}Stage")
    for name in ("collect", "parse", "section", "match", "extract", "verify", "generate", "filter", "tag", "release")
)

MODELS = (
    Provided("chat_model", "openai", "scirgen.llm.openai_compat:OpenAIChat", "any OpenAI-compatible server"),
    Provided(
        "scoring_model", "openai", "scirgen.llm.openai_scoring:OpenAIScoring", "a server with echo or prompt_logprobs"
    ),
    Provided("chat_model", "batch", "scirgen.llm.openai_batch:BatchChat", "the Batch API of such a server, half price"),
    Provided("chat_model", "hf", "scirgen.llm.transformers_local:TransformersChat", "transformers in process", "local"),
    Provided(
        "scoring_model",
        "hf",
        "scirgen.llm.transformers_scoring:TransformersScoring",
        "transformers in process",
        "local",
    ),
    Provided("chat_model", "vllm", "scirgen.llm.vllm_local:VLLMChat", "vLLM in process", "vllm"),
    Provided("scoring_model", "vllm", "scirgen.llm.vllm_local:VLLMScoring", "vLLM in process", "vllm"),
    Provided("chat_model", "bundled", "scirgen.llm.bundled:BundledChat", "SmolLM2-135M-Instruct", "local"),
    Provided("scoring_model", "bundled", "scirgen.llm.bundled:BundledScoring", "SmolLM2-135M-Instruct", "local"),
)

_C = "scirgen.stages.collect"

SOURCES = (
    Provided("source", "local", f"{_C}.folder:LocalSource", "a folder or file of records"),
    Provided(
        "source", "datacite", f"{_C}.catalogues.datacite:DataCiteSource", "DataCite by query, repository or prefix"
    ),
    Provided("source", "oaipmh", f"{_C}.catalogues.oaipmh:OaiSource", "any OAI-PMH repository", "sources"),
    Provided("source", "ckan", f"{_C}.catalogues.ckan:CkanSource", "any CKAN portal"),
    Provided(
        "source", "huggingface", f"{_C}.catalogues.huggingface:HuggingFaceSource", "datasets of the Hugging Face Hub"
    ),
)

PAPERS = (
    Provided("papers", "openalex", f"{_C}.services.openalex:OpenAlexService", "works that cite or mention a DOI"),
    Provided("papers", "events", f"{_C}.services.events:EventsService", "links of Crossref and DataCite"),
    Provided("papers", "semantic-scholar", f"{_C}.services.semantic_scholar:SemanticScholarService", "citing papers"),
    Provided("papers", "arxiv", f"{_C}.services.arxiv:ArxivService", "preprints"),
    Provided("papers", "unpaywall", f"{_C}.services.unpaywall:UnpaywallService", "open copies by DOI"),
    Provided(
        "papers", "bibliography", f"{_C}.services.bibliography:BibliographyService", "a BibTeX or RIS file", "sources"
    ),
    Provided("papers", "folder", f"{_C}.services.bibliography:FolderService", "a folder of papers"),
)

PARSERS = (
    Provided("parser", "pymupdf", "scirgen.stages.parse.pymupdf_parser:PyMuPDFParser", "PDF, by PyMuPDF", "pdf"),
    Provided("parser", "grobid", "scirgen.stages.parse.grobid:GrobidParser", "PDF, by a GROBID server"),
    Provided("parser", "text", "scirgen.stages.parse.text:TextParser", "Markdown, plain text, JATS and TEI"),
)

_G = f"{_S}.filter.gates"
_F = f"{_S}.filter.faithfulness"

GATES = (
    Provided("gate", "schema", f"{_G}.form:SchemaGate"),
    Provided("gate", "not_verbatim", f"{_G}.evidence:NotVerbatimGate"),
    Provided("gate", "language", f"{_G}.form:LanguageGate"),
    Provided("gate", "length", f"{_G}.form:LengthGate"),
    Provided("gate", "repetition", f"{_G}.form:RepetitionGate"),
    Provided("gate", "type_question", f"{_G}.form:TypeQuestionGate"),
    Provided("gate", "type_answer", f"{_G}.form:TypeAnswerGate"),
    Provided("gate", "type_opinion", f"{_G}.opinion:TypeOpinionGate"),
    Provided("gate", "pointing", f"{_G}.reference:PointingGate"),
    Provided("gate", "vague", f"{_G}.substance:VagueGate"),
    Provided("gate", "unknown_name", f"{_G}.substance:UnknownNameGate"),
    Provided("gate", "metadata_echo", f"{_G}.reference:MetadataEchoGate"),
    Provided("gate", "example_leak", f"{_G}.reference:ExampleLeakGate"),
    Provided("gate", "not_supported", f"{_G}.evidence:NotSupportedGate"),
    Provided("gate", "answerable_without_context", f"{_G}.answerable:AnswerableWithoutContextGate"),
    Provided("gate", "unanswerable_with_context", f"{_G}.answerable:UnanswerableWithContextGate"),
    Provided("gate", "duplicate", f"{_G}.duplicate:DuplicateGate"),
    Provided("faithfulness", "semantic", f"{_F}.semantic:SemanticScorer", "SePer as published, soft"),
    Provided("faithfulness", "semantic_hard", f"{_F}.semantic:HardSemanticScorer", "SePer as published, hard"),
    Provided("faithfulness", "nli", f"{_F}.judged:EntailmentScorer", "an entailment model on passages"),
    Provided("faithfulness", "llm_judge", f"{_F}.judged:JudgeScorer", "the generator, asked to judge"),
    Provided("entailment", "hf", "scirgen.llm.entailment:ClassifierEntailment", "a classifier", "local"),
    Provided("entailment", "score", "scirgen.llm.entailment:ScorerEntailment", "the scorer's yes against its no"),
    Provided("entailment", "lexical", "scirgen.llm.entailment:LexicalEntailment", "shared words; a baseline"),
    Provided("faithfulness", "shift", f"{_S}.filter.faithfulness.shift:ShiftScorer", "SePer's log-probability shift"),
)

ENGINES = (
    Provided("engine", "local", "scirgen.engines.local:LocalEngine", "asyncio on this machine"),
    Provided("engine", "ray", "scirgen.engines.ray:RayEngine", "actors on a Ray cluster", "ray"),
)

STRATEGIES = (
    Provided("generation_strategy", "joint", f"{_S}.generate.joint:JointStrategy", "all pairs of a type in one call"),
    Provided(
        "generation_strategy", "evidence", f"{_S}.generate.evidence:EvidenceStrategy", "evidence first, then one pair"
    ),
    Provided(
        "generation_strategy", "adaptive", f"{_S}.generate.adaptive:AdaptiveStrategy", "chooses types by metadata"
    ),
)

RETRIEVERS = (
    Provided("retriever", "bm25", "scirgen.benchmark.lexical:bm25", "BM25 as in Lucene", "benchmark"),
    Provided("retriever", "tfidf", "scirgen.benchmark.lexical:tfidf", "cosine of TF-IDF vectors", "benchmark"),
    Provided("retriever", "st", "scirgen.benchmark.dense:dense", "an embedding model", "dense"),
    Provided("retriever", "hybrid", "scirgen.benchmark.dense:hybrid", "BM25 and an embedding model, fused", "dense"),
    Provided("retriever", "rerank", "scirgen.benchmark.dense:rerank", "a cross-encoder over BM25", "dense"),
)

MATCH_STRATEGIES = (
    Provided(
        "match_strategy", "auto", f"{_S}.match.judge:AutoStrategy", "rules first, the model for what they leave open"
    ),
    Provided("match_strategy", "mention", f"{_S}.match.mention:MentionStrategy", "named or cited where data are used"),
    Provided("match_strategy", "datafinder", f"{_S}.match.mention:DataFinderStrategy", "cited, and named twice"),
    Provided("match_strategy", "lexical", f"{_S}.match.lexical:LexicalStrategy", "described in the dataset's words"),
    Provided(
        "match_strategy", "model", f"{_S}.match.judge:ModelStrategy", "the generator judges the nearest sentences"
    ),
)

_F = f"{_S}.release.formats"
FORMATS = (
    Provided("release_format", "parquet", f"{_F}.parquet:ParquetFormat", "one Parquet file a table", "release"),
    Provided("release_format", "beir", f"{_F}.retrieval:BeirFormat", "corpus, queries, qrels as BEIR reads them"),
    Provided("release_format", "trec", f"{_F}.retrieval:TrecFormat", "TREC topics, qrels, documents"),
    Provided("release_format", "ir_datasets", f"{_F}.retrieval:IrDatasetsFormat", "files and ids for ir_datasets"),
    Provided("release_format", "rag", f"{_F}.rag:RagFormat", "samples for LlamaIndex and Ragas"),
)

PLUGIN = Plugin(
    "scirgen",
    "0.1.0",
    (
        *STAGES,
        *MODELS,
        *SOURCES,
        *PAPERS,
        *PARSERS,
        *GATES,
        *ENGINES,
        *MATCH_STRATEGIES,
        *STRATEGIES,
        *RETRIEVERS,
        *FORMATS,
    ),
)
