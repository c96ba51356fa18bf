"""scirgen's own plugin manifest: built-ins register in the same way as other plugins. This module imports nothing
heavy."""

from __future__ import annotations

from scirgen.core.registry import Plugin, Provided
from scirgen.core.version import __version__

STAGES = (
    Provided("stage", "parse", "scirgen.stages.parse.stage:ParseStage"),
    Provided("stage", "section", "scirgen.stages.section.stage:SectionStage"),
    Provided("stage", "match", "scirgen.stages.match.stage:MatchStage"),
    Provided("stage", "extract", "scirgen.stages.extract.stage:ExtractStage"),
    Provided("stage", "verify", "scirgen.stages.verify.stage:VerifyStage"),
    Provided("stage", "query", "scirgen.stages.query.stage:QueryStage"),
    Provided("stage", "generate", "scirgen.stages.generate.stage:GenerateStage"),
    Provided("stage", "filter", "scirgen.stages.filter.stage:FilterStage"),
    Provided("stage", "tag", "scirgen.stages.tag.stage:TagStage"),
    Provided("stage", "release", "scirgen.stages.release.stage:ReleaseStage"),
)

MODELS = (
    Provided("chat_model", "openai", "scirgen.llm.server.openai_compat:OpenAIChat", "any OpenAI-compatible server"),
    Provided("chat_model", "azure", "scirgen.llm.server.openai_compat:OpenAIChat", "a deployment of Azure OpenAI"),
    Provided(
        "scoring_model",
        "openai",
        "scirgen.llm.server.openai_scoring:OpenAIScoring",
        "a server with echo or prompt_logprobs",
    ),
    Provided(
        "chat_model", "batch", "scirgen.llm.batch.openai_batch:BatchChat", "the Batch API of such a server, half price"
    ),
    Provided(
        "chat_model", "hf", "scirgen.llm.local.transformers_local:TransformersChat", "transformers in process", "local"
    ),
    Provided(
        "scoring_model",
        "hf",
        "scirgen.llm.local.transformers_scoring:TransformersScoring",
        "transformers in process",
        "local",
    ),
    Provided("chat_model", "vllm", "scirgen.llm.vllm.vllm_local:VLLMChat", "vLLM in process", "vllm"),
    Provided("scoring_model", "vllm", "scirgen.llm.vllm.vllm_local:VLLMScoring", "vLLM in process", "vllm"),
    Provided("chat_model", "bundled", "scirgen.llm.local.bundled:BundledChat", "SmolLM2-135M-Instruct", "local"),
    Provided("scoring_model", "bundled", "scirgen.llm.local.bundled:BundledScoring", "SmolLM2-135M-Instruct", "local"),
)


SOURCES = (
    Provided("source", "local", "scirgen.stages.collect.files.folder:LocalSource", "a folder or file of records"),
    Provided(
        "source",
        "datacite",
        "scirgen.stages.collect.catalogues.datacite:DataCiteSource",
        "DataCite by query, repository or prefix",
    ),
    Provided(
        "source", "oaipmh", "scirgen.stages.collect.catalogues.oaipmh:OaiSource", "any OAI-PMH repository", "sources"
    ),
    Provided("source", "ckan", "scirgen.stages.collect.catalogues.ckan:CkanSource", "any CKAN portal"),
    Provided(
        "source",
        "huggingface",
        "scirgen.stages.collect.catalogues.huggingface:HuggingFaceSource",
        "datasets of the Hugging Face Hub",
    ),
)

PAPERS = (
    Provided(
        "papers",
        "openalex",
        "scirgen.stages.collect.services.openalex:OpenAlexService",
        "works that cite or mention a DOI",
    ),
    Provided(
        "papers", "events", "scirgen.stages.collect.services.events:EventsService", "links of Crossref and DataCite"
    ),
    Provided(
        "papers",
        "semantic-scholar",
        "scirgen.stages.collect.services.semantic_scholar:SemanticScholarService",
        "citing papers",
    ),
    Provided("papers", "arxiv", "scirgen.stages.collect.services.arxiv:ArxivService", "preprints"),
    Provided("papers", "unpaywall", "scirgen.stages.collect.services.unpaywall:UnpaywallService", "open copies by DOI"),
    Provided(
        "papers",
        "bibliography",
        "scirgen.stages.collect.services.bibliography:BibliographyService",
        "a BibTeX or RIS file",
        "sources",
    ),
    Provided("papers", "folder", "scirgen.stages.collect.services.bibliography:FolderService", "a folder of papers"),
)

PARSERS = (
    Provided("parser", "pymupdf", "scirgen.stages.parse.pdf.parser:PyMuPDFParser", "PDF, by PyMuPDF", "pdf"),
    Provided("parser", "grobid", "scirgen.stages.parse.grobid:GrobidParser", "PDF, by a GROBID server", "grobid"),
    Provided("parser", "text", "scirgen.stages.parse.text:TextParser", "Markdown, plain text, JATS and TEI"),
)


GATES = (
    Provided("gate", "schema", "scirgen.stages.filter.gates.form:SchemaGate"),
    Provided("gate", "not_verbatim", "scirgen.stages.filter.gates.evidence:NotVerbatimGate"),
    Provided("gate", "language", "scirgen.stages.filter.gates.form:LanguageGate"),
    Provided("gate", "length", "scirgen.stages.filter.gates.form:LengthGate"),
    Provided("gate", "repetition", "scirgen.stages.filter.gates.form:RepetitionGate"),
    Provided("gate", "answer_in_question", "scirgen.stages.filter.gates.form:AnswerInQuestionGate"),
    Provided("gate", "type_question", "scirgen.stages.filter.gates.form:TypeQuestionGate"),
    Provided("gate", "type_answer", "scirgen.stages.filter.gates.form:TypeAnswerGate"),
    Provided("gate", "type_opinion", "scirgen.stages.filter.gates.opinion:TypeOpinionGate"),
    Provided("gate", "pointing", "scirgen.stages.filter.gates.reference:PointingGate"),
    Provided("gate", "vague", "scirgen.stages.filter.gates.substance:VagueGate"),
    Provided("gate", "unknown_name", "scirgen.stages.filter.gates.substance:UnknownNameGate"),
    Provided("gate", "unexplained_abbreviation", "scirgen.stages.filter.gates.substance:UnexplainedAbbreviationGate"),
    Provided("gate", "metadata_echo", "scirgen.stages.filter.gates.reference:MetadataEchoGate"),
    Provided("gate", "example_leak", "scirgen.stages.filter.gates.reference:ExampleLeakGate"),
    Provided("gate", "not_supported", "scirgen.stages.filter.gates.evidence:NotSupportedGate"),
    Provided(
        "gate", "answerable_without_context", "scirgen.stages.filter.gates.answerable:AnswerableWithoutContextGate"
    ),
    Provided("gate", "unanswerable_with_context", "scirgen.stages.filter.gates.answerable:UnanswerableWithContextGate"),
    Provided("gate", "duplicate", "scirgen.stages.filter.gates.duplicate:DuplicateGate"),
    Provided("gate", "same_fact", "scirgen.stages.filter.gates.duplicate:SameFactGate"),
    Provided(
        "faithfulness",
        "semantic",
        "scirgen.stages.filter.faithfulness.semantic:SemanticScorer",
        "SePer as published, soft",
    ),
    Provided(
        "faithfulness",
        "semantic_hard",
        "scirgen.stages.filter.faithfulness.semantic:HardSemanticScorer",
        "SePer as published, hard",
    ),
    Provided(
        "faithfulness",
        "nli",
        "scirgen.stages.filter.faithfulness.judged:EntailmentScorer",
        "an entailment model on passages",
    ),
    Provided(
        "faithfulness",
        "llm_judge",
        "scirgen.stages.filter.faithfulness.judged:JudgeScorer",
        "the generator, or models.judge, asked claim by claim",
    ),
    Provided(
        "faithfulness",
        "contrast",
        "scirgen.stages.filter.faithfulness.contrast:ContrastScorer",
        "the answer against its altered forms",
    ),
    Provided(
        "faithfulness",
        "rival",
        "scirgen.stages.filter.faithfulness.rival:RivalScorer",
        "the answer against a second one from the evidence alone",
    ),
    Provided(
        "faithfulness",
        "ensemble",
        "scirgen.stages.filter.faithfulness.ensemble:EnsembleScorer",
        "one probability from shift, contrast and words",
    ),
    Provided("entailment", "hf", "scirgen.llm.encoders.entailment:ClassifierEntailment", "a classifier", "local"),
    Provided(
        "entailment", "score", "scirgen.llm.encoders.entailment:ScorerEntailment", "the scorer's yes against its no"
    ),
    Provided("entailment", "lexical", "scirgen.llm.encoders.entailment:LexicalEntailment", "shared words; a baseline"),
    Provided(
        "faithfulness", "shift", "scirgen.stages.filter.faithfulness.shift:ShiftScorer", "SePer's log-probability shift"
    ),
)

ENGINES = (
    Provided("engine", "local", "scirgen.pipeline.engines.local:LocalEngine", "asyncio on this machine"),
    Provided("engine", "ray", "scirgen.pipeline.engines.ray:RayEngine", "actors on a Ray cluster", "ray"),
)

STRATEGIES = (
    Provided(
        "generation_strategy", "joint", "scirgen.stages.generate.joint:JointStrategy", "all pairs of a type in one call"
    ),
    Provided(
        "generation_strategy",
        "evidence",
        "scirgen.stages.generate.evidence:EvidenceStrategy",
        "evidence first, then one pair",
    ),
    Provided(
        "generation_strategy",
        "adaptive",
        "scirgen.stages.generate.adaptive:AdaptiveStrategy",
        "chooses types by metadata",
    ),
)

RETRIEVERS = (
    Provided("retriever", "bm25", "scirgen.benchmark.lexical:bm25", "BM25 as in Lucene", "benchmark"),
    Provided("retriever", "tfidf", "scirgen.benchmark.lexical:tfidf", "cosine of TF-IDF vectors", "benchmark"),
    Provided("retriever", "st", "scirgen.benchmark.dense:dense", "an embedding model", "dense"),
    Provided("retriever", "hybrid", "scirgen.benchmark.dense:hybrid", "BM25 and an embedding model, fused", "dense"),
    Provided("retriever", "knn", "scirgen.benchmark.knn:knn", "datasets of the nearest training queries", "benchmark"),
    Provided("retriever", "run", "scirgen.benchmark.runfile:run_file", "a TREC run file, replayed", "benchmark"),
    Provided("retriever", "rerank", "scirgen.benchmark.dense:rerank", "a cross-encoder over BM25", "dense"),
)

QUERY_RECIPES = (
    Provided(
        "query_recipe",
        "recommend",
        "scirgen.stages.query.recommend:RecommendRecipe",
        "datasets for a need (DataFinder)",
    ),
    Provided(
        "query_recipe", "facets", "scirgen.stages.query.facets:FacetsRecipe", "papers similar in a facet (CSFCube)"
    ),
    Provided(
        "query_recipe",
        "aspects",
        "scirgen.stages.query.aspects:AspectsRecipe",
        "papers for a need of many parts (DORIS-MAE)",
    ),
)

MATCH_STRATEGIES = (
    Provided(
        "match_strategy",
        "auto",
        "scirgen.stages.match.judge:AutoStrategy",
        "rules first, the model for undecided cases",
    ),
    Provided(
        "match_strategy",
        "mention",
        "scirgen.stages.match.mention:MentionStrategy",
        "named or cited where data are used",
    ),
    Provided(
        "match_strategy", "datafinder", "scirgen.stages.match.mention:DataFinderStrategy", "cited, and named twice"
    ),
    Provided(
        "match_strategy", "lexical", "scirgen.stages.match.lexical:LexicalStrategy", "described in the dataset's words"
    ),
    Provided(
        "match_strategy",
        "model",
        "scirgen.stages.match.judge:ModelStrategy",
        "the generator judges the nearest sentences",
    ),
)

FORMATS = (
    Provided(
        "release_format",
        "triples",
        "scirgen.benchmark.triples:TriplesFormat",
        "queries, gold and hard negatives",
        "benchmark",
    ),
    Provided(
        "release_format",
        "parquet",
        "scirgen.stages.release.formats.parquet:ParquetFormat",
        "one Parquet file per table",
        "release",
    ),
    Provided(
        "release_format",
        "beir",
        "scirgen.stages.release.formats.retrieval:BeirFormat",
        "corpus, queries, qrels as BEIR reads them",
    ),
    Provided(
        "release_format", "trec", "scirgen.stages.release.formats.retrieval:TrecFormat", "TREC topics, qrels, documents"
    ),
    Provided(
        "release_format",
        "ir_datasets",
        "scirgen.stages.release.formats.retrieval:IrDatasetsFormat",
        "files and ids for ir_datasets",
    ),
    Provided(
        "release_format", "sharegpt", "scirgen.stages.release.formats.tuning:ShareGPTFormat", "chats for fine-tuning"
    ),
    Provided(
        "release_format", "alpaca", "scirgen.stages.release.formats.tuning:AlpacaFormat", "instructions for tuning"
    ),
    Provided(
        "release_format",
        "preference",
        "scirgen.stages.release.formats.tuning:PreferenceFormat",
        "kept against unfaithful",
    ),
    Provided("release_format", "squad", "scirgen.stages.release.formats.tuning:SquadFormat", "SQuAD 2, with offsets"),
    Provided(
        "release_format", "rag", "scirgen.stages.release.formats.rag:RagFormat", "samples for LlamaIndex and Ragas"
    ),
)

PLUGIN = Plugin(
    "scirgen",
    __version__,
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
        *QUERY_RECIPES,
        *RETRIEVERS,
        *FORMATS,
    ),
)
