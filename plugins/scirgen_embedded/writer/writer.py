"""Writes a pair with a small model: a rule chooses the fact, and the model words the question and answers only if
necessary.

A yes-or-no answer follows from how the question was made: for a "No" one fact of the evidence is changed by rule, and
the change is recorded with the pair. Numbers, names and options are taken from the evidence as they stand.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from scirgen import Discard, Draft, StageContext
from scirgen import GenerationTask as Task
from scirgen.core.taxonomy import ENGLISH
from scirgen.core.text.textmatch import stem as stem_of
from scirgen.core.text.textmatch import words
from scirgen.plugin import QuestionType, RenderedPrompt, content_words, language_name
from scirgen.stages.generate.naming import short_name
from scirgen.stages.generate.replies import yes_no
from scirgen.stages.generate.strategy import Passage, Wish
from scirgen_embedded.writer import alterations, facts, wording
from scirgen_embedded.writer.few_shot import shots
from scirgen_embedded.writer.reply_text import one_answer, one_question

_BLANK = "____"
_WORD = re.compile(r"\w{4,}")
_SHARED_WORDS = 2
_NO_QUESTIONS = 3
"""Largest number of sentences that are tried for a "No" if the model's questions lose the changed fact."""


class SmallWriter:
    """Writes the pair of one wish.

    ``further`` are passages, in the order in which they are tried, for a "No" if ``evidence`` contains no fact that can
    be changed.
    """

    def __init__(
        self,
        task: Task,
        wish: Wish,
        evidence: Sequence[Passage],
        number: int,
        ctx: StageContext,
        further: Sequence[Passage] = (),
    ) -> None:
        assert wish.kind is not None
        self._task, self._wish, self._kind, self._ctx = task, wish, wish.kind, ctx
        self._evidence, self._further = evidence, further
        self._seed = ctx.seed(wish.kind.id, task.round, number)
        self._number = number
        self._random = random.Random(self._seed)
        self._replies: list[str] = []
        self._prompt: RenderedPrompt | None = None
        self._last = ""

    async def write(self) -> Draft | Discard:
        """Return the draft, or the reason why there is none."""
        if self._kind.polar:
            return await self._yes_no()
        if self._kind.answer.kind == "option":
            return await self._options()
        if self._kind.answer.kind == "number":
            return await self._stated(facts.exact_numbers(self._fact))
        if self._kind.id == "concept_completion":
            return await self._stated(_askable_names(self._fact))
        question = await self._question(self._fact, "")
        if question is None:
            return self._discard("no_question", "the reply holds no question")
        return await self._answered(question)

    @property
    def _fact(self) -> str:
        return facts.readable(" ".join(p.text for p in self._evidence))

    async def _yes_no(self) -> Draft | Discard:
        if self._wish.polarity == "no":
            return await self._no()
        question = await self._polar(self._fact)
        if question is None:
            return self._nothing()
        if not self._substantial(question):
            return self._discard("off_topic", "the question says nothing of the evidence")
        if departure := alterations.departure(question, self._fact, self._opposites):
            return self._discard("fact_altered", f"the question says {departure!r}, and its evidence does not")
        return self._misworded(question, self._fact) or self._draft(question, self._word("yes"), "")

    async def _no(self) -> Draft | Discard:
        """Return a question about a changed sentence of the evidence, else of the first further passage that works."""
        asked: list[Discard] = []
        for evidence in (self._evidence, *([p] for p in self._further)):
            sentence = facts.readable(" ".join(p.text for p in evidence))
            change = alterations.change(sentence, self._opposites, self._random)
            if change is None:
                continue
            self._evidence = evidence
            made = await self._contrary(change)
            if isinstance(made, Draft):
                return made
            asked.append(made)
            if len(asked) == _NO_QUESTIONS:
                break
        if asked:
            return asked[-1]
        count = 1 + len(self._further)
        return self._discard("no_change", f"no rule turns any of {count} sentences that suit into its contrary")

    async def _contrary(self, change: alterations.Change) -> Draft | Discard:
        question = await self._polar(change.text)
        if question is None:
            return self._nothing()
        if not _holds(question, change.new) or _holds(question, change.old):
            return self._discard("change_lost", f"the question does not hold the changed fact {change.new!r}")
        if not self._substantial(question, (change.new,)):
            return self._discard("off_topic", "the question says nothing of the evidence but the changed fact")
        return self._misworded(question, change.text) or self._draft(
            question, self._word("no"), f"evidence changed by rule: {change.old!r} -> {change.new!r}"
        )

    async def _options(self) -> Draft | Discard:
        """Return a question made of a sentence with both options in place of the right one."""
        found = _optional(self._fact, [p.text for p in self._task.passages], self._opposites)
        if not found:
            return self._discard("no_options", "the evidence names nothing that could be one of two options")
        fact, rivals = self._random.choice(found)
        right = fact.text
        wrong = self._random.choice(rivals) if rivals else alterations.other_number(right, self._random)
        order = (right, wrong) if self._wish.position == 0 else (wrong, right)
        both = self._fact[: fact.start] + " or ".join(order) + self._fact[fact.end :]
        question = self._turned(both) or await self._question(both, "", order, stem=facts.opening(both, ()))
        if question is None:
            return self._nothing()
        if strange := self._stranger(question, (wrong,)):
            return strange
        if not self._substantial(question, order):
            return self._discard("off_topic", "the question says nothing of the evidence but its options")
        if not (_holds(question, right) and _holds(question, wrong)):
            return self._discard("option_missing", f"the question does not name both {right!r} and {wrong!r}")
        return self._draft(question, right, f"the other option is made by rule: {wrong!r}")

    async def _stated(self, found: Sequence[facts.Fact]) -> Draft | Discard:
        if not found:
            return self._discard("no_evidence", "the evidence states no fact of the kind asked for")
        fact = self._random.choice(list(found))
        blanked = self._fact[: fact.start] + _BLANK + self._fact[fact.end :]
        question = None
        if fact.kind == "number" and self._english:
            question = wording.asked_for(self._fact, fact.text, fact.counted, self._known)
        question = question or await self._question(blanked, fact.text, stem=self._stem(fact))
        if question is None:
            return self._nothing()
        if _holds(question, fact.text):
            return self._discard("answer_given_away", "the question holds its own answer")
        if not self._substantial(question):
            return self._discard("off_topic", "the question says nothing of the evidence")
        counted = fact.text.split()[-1]
        if fact.counted and stem_of(counted.casefold().rpartition("-")[2]) not in {stem_of(w) for w in words(question)}:
            return self._discard("other_quantity", f"the question does not ask for the number of {counted!r}")
        if strange := self._stranger(question, self._kind.stems):
            return strange
        if fact.kind == "number":
            apart = facts.telling_apart(self._fact, fact, found)
            if apart and not apart & {stem_of(w) for w in words(question)}:
                return self._discard("ambiguous", f"several values fit; none of {sorted(apart)} says which is meant")
        return self._draft(question, fact.text, "")

    async def _polar(self, sentence: str) -> str | None:
        """Return a yes-or-no question about a sentence, by rule if its grammar is simple, otherwise by the model."""
        if question := self._turned(sentence):
            return question
        return await self._question(sentence, "", stem=facts.opening(sentence, self._kind.stems))

    def _misworded(self, question: str, sentence: str) -> Discard | None:
        """Return the discard of a yes-or-no question that does not say what its sentence says."""
        if not self._english or question == self._turned(sentence):
            return None
        if strange := self._stranger(question, (sentence,)):
            return strange
        fault = wording.broken(question, sentence)
        return self._discard("off_topic", f"the question {fault}") if fault else None

    @property
    def _english(self) -> bool:
        return self._ctx.config.language.split("-")[0] == ENGLISH

    @property
    def _known(self) -> str:
        return " ".join((*(p.text for p in self._task.passages), self._task.dataset.text))

    def _turned(self, sentence: str) -> str | None:
        return wording.turned(sentence, self._known) if self._english else None

    def _stranger(self, question: str, allowed: Sequence[str]) -> Discard | None:
        """Return the discard for a question that states a fact its sentence lacks: "a wind speed of 900 km/h"."""
        told = f"{self._fact} {self._evidence[0].topic or self._task.dataset.title}"
        found = wording.stranger(question, told, allowed) if self._english else None
        return self._discard("off_topic", f"the question says {found!r}, and its evidence does not") if found else None

    def _stem(self, fact: facts.Fact) -> str | None:
        """Return the beginning of a question for this fact; None: the seed decides."""
        stems = self._kind.stems
        if fact.kind == "number":
            return stems[0 if fact.counted else 1] if len(stems) > 1 else None
        wanted = ("where",) if facts.is_place(self._fact, fact) else ("which", "what")
        return next((s for s in stems if s.casefold() in wanted), None)

    async def _question(
        self, fact: str, answer: str, options: Sequence[str] = (), stem: str | None = None
    ) -> str | None:
        template = self._ctx.prompt("question")
        # A small model copies the dots in the middle of a stem ("How does ... compare with") instead of filling the
        # gap.
        whole = tuple(s for s in self._kind.stems if "..." not in s)
        stems = whole or self._kind.stems or ("What",)
        prompt = template.render(
            kind=self._kind,
            fact=fact,
            topic=self._evidence[0].topic or self._task.dataset.title,
            stem=stems[self._seed % len(stems)] if stem is None else stem,
            answer=answer,
            options=list(options),
            shots=shots(self._kind, self._ctx.config.domain, template.file.examples),
            language=language_name(self._ctx.config.language),
        )
        reply = await self._ctx.chat.ask_text(prompt, seed=self._seed, sample=self._number)
        self._prompt, self._last = prompt, reply.text
        self._replies.append(reply.reply_key)
        return one_question(reply.text, self._kind.question.form)

    @property
    def _opposites(self) -> Sequence[tuple[str, str]]:
        return self._ctx.taxonomies.wording.of(self._ctx.config.language).opposites

    def _substantial(self, question: str, leaving_out: Sequence[str] = ()) -> bool:
        """Return whether the question shares words with its evidence other than the options it names; "Is China or
        MODIS?" does not."""
        for text in leaving_out:
            question = question.replace(text, " ")
        if _BLANK in question or "the blank" in question.casefold():
            return False  # an echo of the instruction
        shared = set(_WORD.findall(question.casefold())) & set(_WORD.findall(self._fact.casefold()))
        return len(shared) >= _SHARED_WORDS

    async def _answered(self, question: str) -> Draft | Discard:
        prompt = self._ctx.prompt("answer").render(
            kind=self._kind,
            samples=self._kind.examples_for(self._ctx.config.domain),
            question=question,
            fact=self._fact,
            language=language_name(self._ctx.config.language),
        )
        reply = await self._ctx.chat.ask_text(prompt, seed=self._seed, sample=self._number)
        self._last = reply.text
        self._replies.append(reply.reply_key)
        answer = one_answer(reply.text, cut=reply.finish_reason == "length")
        if answer is None:
            return self._discard("no_answer", "the reply holds no whole sentence")
        given = facts.instances(self._fact) if self._kind.id == "example" else []
        if given and not set(content_words(" ".join(given))) & set(content_words(answer)):
            return self._discard("no_instance", f"the answer names none of the examples given: {given[0]!r}")
        return self._draft(question, answer, "")

    def _word(self, polarity: str) -> str:
        return yes_no(self._ctx.taxonomies.wording.of(self._ctx.config.language))[polarity == "no"]

    def _draft(self, question: str, answer: str, note: str) -> Draft | Discard:
        first, title = self._evidence[0], self._task.dataset.title
        named = first.paper_id is None and short_name(title) is not None
        if named:
            within = self._ctx.taxonomies.wording.of(self._ctx.config.language).within
            question = wording.placed(question, title, within)
        topic = title if first.paper_id is None else first.topic
        if self._english and not named and not wording.names_subject(question, topic):
            return self._discard("off_topic", "the question does not name what its dataset or paper is about")
        spans = tuple(p.span for p in self._evidence)
        return Draft(self._kind, question, answer, spans, self._wish.bloom, note, self._prompt, tuple(self._replies))

    def _nothing(self) -> Discard:
        return self._discard("no_question", "the reply holds no question")

    def _discard(self, code: str, reason: str) -> Discard:
        return Discard(self._kind, code, reason, self._last, self._prompt, tuple(self._replies))


def holds_answer(
    text: str, kind: QuestionType, others: Sequence[str] = (), opposites: Sequence[tuple[str, str]] = ()
) -> bool:
    """Return whether a sentence contains a fact that can be the answer to such a question.

    ``others`` are the other sentences, which provide the second option between two names; ``opposites`` are pairs of
    words.
    """
    text = facts.readable(text)
    if kind.answer.kind == "number":
        return bool(facts.exact_numbers(text))
    if kind.answer.kind == "option":
        return bool(_optional(text, others, opposites))
    return kind.id != "concept_completion" or bool(_askable_names(text))


def _askable_names(text: str) -> list[facts.Fact]:
    return [n for n in facts.names(text) if facts.stands_alone(text, n)]


def _optional(
    text: str, others: Sequence[str], opposites: Sequence[tuple[str, str]]
) -> list[tuple[facts.Fact, list[str]]]:
    """Return the facts for which there is a second option, each with its possible options (empty for numbers, whose
    options are made).

    Two values of one quantity and two opposite words are always comparable; two names are if one could replace the
    other.
    """
    named = [(n, facts.rivals(text, n, others)) for n in facts.names(text)]
    worded = [(fact, [word]) for fact, word in alterations.opposed(text, opposites)]
    return worded + [(n, list[str]()) for n in facts.exact_numbers(text)] or [(n, found) for n, found in named if found]


def _holds(question: str, text: str) -> bool:
    def plain(value: str) -> str:
        return re.sub(r"[\s,]+", " ", value.casefold()).strip()

    return re.search(rf"(?<!\w){re.escape(plain(text))}(?!\w)", plain(question)) is not None
