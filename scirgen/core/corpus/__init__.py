"""Everything that a run has read, divided once into passages with stable ids, and the index over it."""

from scirgen.core.corpus.cut import Passage, Sentence, passages_of, record_passage
from scirgen.core.corpus.reading import Reading
from scirgen.core.corpus.stored import Corpus, Hit

__all__ = ["Corpus", "Hit", "Passage", "Reading", "Sentence", "passages_of", "record_passage"]
