"""One small plugin of each kind. This module names them and imports none: scirgen loads what a run uses."""

from scirgen import Plugin, Provided

PLUGIN = Plugin(
    "scirgen-examples",
    "1.0",
    provides=(
        Provided("source", "stations", "scirgen_examples.source:StationSource", "stations of a CSV file"),
        Provided("papers", "notes", "scirgen_examples.papers:NotesService", "field notes by dataset id"),
        Provided("domain", "stations", "scirgen_examples.domain:DOMAIN", "weather stations"),
        Provided("chat_model", "echo", "scirgen_examples.models:EchoChat", "repeats the prompt's last line"),
        Provided("scoring_model", "letters", "scirgen_examples.models:LetterScoring", "scores by shared letters"),
        Provided("parser", "notes", "scirgen_examples.parser:NotesParser", "field notes in plain text"),
        Provided("match_strategy", "by-id", "scirgen_examples.match:ById", "the paper says the dataset's id"),
        Provided("generation_strategy", "readings", "scirgen_examples.generation:Readings", "asks for the numbers"),
        Provided("gate", "shouting", "scirgen_examples.gate:ShoutingGate"),
        Provided("faithfulness", "overlap", "scirgen_examples.faithfulness:OverlapScorer", "share of words"),
        Provided("entailment", "equal", "scirgen_examples.entailment:EqualTexts", "the same text"),
        Provided("release_format", "csv", "scirgen_examples.release_format:CsvFormat", "questions as CSV"),
        Provided("retriever", "shortest", "scirgen_examples.retriever:Shortest", "shortest documents first"),
        Provided("query_recipe", "titles", "scirgen_examples.query_recipe:TitleRecipe", "a paper's title as a query"),
        Provided("settings", "word_counts", "scirgen_examples.word_counts:WordCountConfig"),
        Provided("record", "WordCounts", "scirgen_examples.word_counts:WordCounts"),
        Provided("stage", "word_counts", "scirgen_examples.word_counts:WordCountStage"),
        Provided("step", "word_counts", "scirgen_examples.word_counts:STEP", "frequent words of each record"),
        Provided("row_fields", "word_counts", "scirgen_examples.word_counts:FrequentWords", "words of a row's dataset"),
        Provided(
            "command", "words", "scirgen_examples.word_counts:words", "Print the frequent words of a run's datasets."
        ),
        Provided("stage", "first_words", "scirgen_examples.levels:FirstWordStage"),
        Provided("step", "first_words", "scirgen_examples.levels:STEP", "levels by the first word, in place of tag"),
        Provided("engine", "counting", "scirgen_examples.engine:CountingEngine", "counts what it runs"),
    ),
)
