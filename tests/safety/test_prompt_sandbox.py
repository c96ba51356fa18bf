"""Prompt files of third parties: bounded in time and size, and nothing from outside is printed bare."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.core.errors import ResourceError
from scirgen.core.prompts import Prompt, PromptLibrary
from scirgen.core.resources import Resources
from scirgen.core.text import untrusted
from scirgen.core.text.untrusted import FENCE, Untrusted, fence, inert

HEAD = "version: 1\ndescription: mine\nvariables: {question: the question, context: the context, items: things}\n"


def prompt(folder: Path, user: str, extra: str = "") -> Prompt:
    file = folder / "prompts" / "filter" / "respond.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    body = "\n".join("  " + line for line in user.split("\n"))
    file.write_text(f"{HEAD}{extra}user: |\n{body}\n", encoding="utf-8")
    return PromptLibrary(Resources(None, folder)).get("filter/respond")


BOMBS = {
    "nested loops": "{% for a in context %}{% for b in context %}{% for c in context %}{% for d in context %}"
    "{% endfor %}{% endfor %}{% endfor %}{% endfor %}",
    "doubling": "{% set x = 'ab' %}" + "{% set x = x ~ x %}" * 60 + "{{ x }}",
    "doubling with plus": "{% set x = 'ab' %}" + "{% set x = x + x %}" * 60 + "{{ x }}",
    "replacing": "{% set x = 'aaaaaaaaaa' %}" + "{% set x = x | replace('a', x) %}" * 9 + "{{ x }}",
    "joining": "{% set x = ['a', 'a', 'a', 'a'] %}" + "{% set x = [x | join('aaaaaaaa'), x | join('aa')] * 9 %}" * 30,
    "power": "{{ 9 ** 9 ** 9 ** 9 }}",
    "times": "{{ 'a' * 10000000000 }}",
    "big number": "{{ (999999999999 * 999999999999) * (999999999999 * 999999999999) }}",
    "format": "{{ '%9999999999d' % 1 }}",
    "format filter": "{{ '%9999999999d' | format(1) }}",
    "centre": "{{ 'a' | center(9999999999) }}",
    "range": "{% for i in range(999999999) %}{% endfor %}",
    "macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "recursive loop": "{% for a in context recursive %}{{ loop(context) }}{% endfor %}",
    "import": "{% import '/etc/passwd' as x %}",
    "include": "{% include '/etc/passwd' %}",
    "class": "{{ ''.__class__.__mro__ }}",
    "deep": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "deep lists": "{{ " + "[" * 300 + "]" * 300 + " }}",
    "much": "a" * 300_000,
    "divide": "{{ 1 // 0 }}",
    "types": "{{ 'a' + 1 }}",
    "sum": "{{ [[1] * 9] | sum(start=[]) }}",
    "lists in a comparison": "{% set a = [1] %}" + "{% set a = [a, a] %}" * 40 + "{{ 'x' if a == a }}",
    "lists in a text": "{% set a = [1] %}" + "{% set a = [a, a] %}" * 40 + "{{ a | string }}",
    "long number": "{{ " + "9" * 5000 + " }}",
    "negative length": "{{ 'abc' | truncate(-1) }}",
    "constants": "{{ 'aaaaaaaaaa'" + " | replace('a', 'aaaaaaaaaa')" * 9 + " }}",
    "replacing in steps": (
        "{% for a in context %}{% if context | replace('w', context) == 'a' %}{% endif %}{% endfor %}"
    ),
    "steps without output": "{% for a in context %}" + "{{ a | length }}" * 2000 + "{% endfor %}",
    "comparing": "{% for a in context %}" + "{% if context in context | lower %}{% endif %}" * 500 + "{% endfor %}",
    "a method": "{{ question.upper }}",
    "a method by name": "{{ question['upper'] }}",
    "a cycle": "{% for a in context %}{{ loop.cycle('a', 'b') }}{% endfor %}",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_in_a_prompt_is_an_error_of_the_file_within_seconds(tmp_path: Path, bomb: str) -> None:
    begun = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(ResourceError) as caught:
            prompt(tmp_path, bomb).render(question="why", context="word " * 2000, items=[])
        assert tracemalloc.get_traced_memory()[1] < 256e6
    finally:
        tracemalloc.stop()
    assert "respond.yaml" in caught.value.message
    assert time.process_time() - begun < 5


def test_aliases_in_a_prompt_file_cannot_grow_it(tmp_path: Path) -> None:
    grown = "".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    with pytest.raises(ResourceError, match="too large when its aliases are expanded"):
        prompt(tmp_path, "{{ examples | length }}", f"examples:\n- l0: &l0 [x]\n{grown}")


BARE = [
    "{{ question }}",
    "{{ question | upper }}",
    "{{ question[:10] }}",
    "{{ 'Q: ' ~ question }}",
    "{{ 'Q: ' + question }}",
    "{{ [question] | join }}",
    "{{ [question, context] | map('upper') | join(' ') }}",
    "{{ question if context else 'none' }}",
    "{% set q = question %}{{ q }}",
    "{% set q = 'x' %}{% set q = q ~ question[0] %}{{ q }}",
    "{% for c in question %}{{ c }}{% endfor %}",
    "{% for c in question %}{{ loop.previtem }}{% endfor %}",
    "{% for c in question %}{{ loop.nextitem }}{% endfor %}",
    "{% for c in question %}{{ loop['nextitem'] }}{% endfor %}",
    "{{ 'x' | int(question | title) }}",
    "{{ 'x' | float(question | title) }}",
    "{{ question | title }}",
    "{{ question | capitalize }}",
    "{{ question | lower | trim }}",
    "{{ question | truncate(2) }}",
    "{{ 'x' | replace('x', question) }}",
    "{{ 'x' | truncate(0, true, question) }}",
    "{{ missing | default(question) }}",
    "{{ items | map(attribute='text') | join(', ') }}",
    "{{ items | map('title') | join }}",
    "{{ items | title }}",
    "{{ 'x' ~ items }}",
    "{{ items | join }}",
    "{{ items | first }}",
    "{{ items[0].text }}",
    "{% for key, value in items[0] | items %}{{ value }}{% endfor %}",
    "{{ (question | fence)[1:] }}",
    "{{ (question | fence) ~ 'x' }}",
    "{{ question | fence | title }}",
    "{{ question | fence | truncate(9) }}",
    "{{ question | fence | replace('<', '') }}",
    "{{ question | default('x') }}",
    "{{ (question, 1) }}",
    "{{ question or 'none' }}",
]


@pytest.mark.parametrize("template", BARE)
def test_text_from_outside_is_never_printed_bare(tmp_path: Path, template: str) -> None:
    with pytest.raises(ResourceError):
        found = prompt(tmp_path, template, "examples: []\n")
        found.render(question="a hostile text", context="x", items=[{"text": "a hostile text"}])


@pytest.mark.parametrize(
    "template", ["{{ question | fence }}", "{{ question[:9] | inert }}", "{{ question | length }}"]
)
def test_text_from_outside_may_be_fenced_inert_or_counted(tmp_path: Path, template: str) -> None:
    assert prompt(tmp_path, template).render(question="why", context="", items=[]).messages


def test_a_file_that_replaces_a_prompt_cannot_trust_more_than_it(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="cannot list as trusted"):
        prompt(tmp_path, "{{ question }}", "trusted: [question]\n")


def test_no_built_in_prompt_trusts_a_variable_from_outside() -> None:
    # A new name here is a decision: it must hold only what taxonomies, configuration or code write.
    known = {
        "kind", "kinds", "samples", "wish", "wishes", "passages.label", "language", "stem", "shots.question", "count",
        "form", "schema", "classes", "levels", "tie_breaking", "questions.kind", "questions.number", "aspect",
        "aspects", "definition", "evidence.number", "pairs.number", "pairs.evidence", "questions.form",
        "questions.evidence", "tasks", "facet", "grades", "opinions.grade", "words", "least", "most", "both", "fields",
        "facets", "may_refuse", "nuggets", "unanswerable", "wants", "roles", "need", "needs", "forms", "types",
        "narrow", "passages.number", "pairs.cited", "questions.passages", "languages", "questions.need",
        "part", "tables", "ways", "remembered",
    }  # fmt: skip
    library = PromptLibrary(Resources())
    assert {t for id in library.ids() for t in library.get(id).file.trusted} <= known


def test_marked_text_stays_marked_whatever_is_done_to_it() -> None:
    text = Untrusted("a hostile text")
    for made in (
        text[:3],
        text + "x",
        "x" + text,
        text.upper(),
        text.replace("a", "b"),
        f"{text}",
        *text.split(),
        *text,
    ):
        assert isinstance(made, Untrusted)


def test_a_bare_print_names_the_file_and_the_text(tmp_path: Path) -> None:
    found = prompt(tmp_path, "{% if context %}{{ question }}{% endif %}")
    assert found.render(question="why", context="", items=[]).messages
    with pytest.raises(
        ResourceError, match=r"respond\.yaml: user: the template prints untrusted text without a fence: 'why'"
    ):
        found.render(question="why", context="x", items=[])


def test_a_fence_cannot_be_forged(monkeypatch: pytest.MonkeyPatch) -> None:
    # A digest of few bits stands for an attacker with much time: the text holds the tag that is derived from it.
    monkeypatch.setattr(untrusted, "digest", lambda *parts: "aaaaaaaa" if len(parts) == 2 else "bbbbbbbb")
    fenced = fence("data-aaaaaaaa ends here")
    assert fenced.startswith("<data-bbbbbbbb>\n") and fenced.endswith("\n</data-bbbbbbbb>")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("</>|｜[]data-0f_sINST▁im start\n")), max_size=80))
def test_a_fence_encloses_what_cannot_end_it(text: str) -> None:
    fenced = fence(text)
    opening, _, rest = fenced.partition("\n")
    body, _, closing = rest.rpartition("\n")
    assert len(opening) == len("<data->") + 32
    assert closing == opening.replace("<", "</") and opening[1:-1] not in body
    assert not FENCE.search(body) and fence(text) == fenced


TOKENS = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>",
    "<|reserved_special_token_0|>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<｜begin▁of▁sentence｜>", "<bos>",
    "<eos>", "<pad>", "<unk>", "<s>", "</s>", "<start_of_turn>", "<end_of_turn>", "<tool_call>", "</tool_call>",
    "<think>", "</think>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[SYSTEM_PROMPT]", "<<SYS>>",
    "<</SYS>>", "<extra_id_0>", "<mask>", "[CLS]", "[SEP]", "<|START_OF_TURN_TOKEN|>", "<fim_prefix>", "<unused12>",
    "<|channel|>", "[gMASK]", "<data-0a1b2c3d>", "<turn|>", "<|turn>", "<channel|>", "<|tool_call>",
    "<tool_response|>", "<start_function_call>", "<end_function_response>", "<escape>", "<arg_key>", "</arg_value>",
    "<minimax:tool_call>", "</minimax:tool_call>", "<seed:think>", "]~b]", "[e~[",
)  # fmt: skip


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("guard", [fence, inert])
def test_control_tokens_are_broken_up(token: str, guard: object) -> None:
    assert callable(guard)
    for text in (token, token.upper(), f"a{token}b", f"<{token}|>", token[:3] + token + token[3:]):
        assert text not in guard(text) and token not in guard(text)


@pytest.mark.parametrize(
    "text",
    [
        "CO<sub>2</sub>",
        "a < b > c",
        "[12, 13]",
        "[NASA]",
        "p <0.05|x|",
        "<dc:title>",
        "a <|> b",
        "|x|<y>",
        "<i>n</i> = 3",
        "{x|y}",
    ],
)
def test_what_is_no_control_token_stays(text: str) -> None:
    assert inert(text) == text
