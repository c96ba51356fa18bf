"""Passwords in addresses are removed in each spelling that a reader or a browser can undo, and nothing else is."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scirgen.core.secrets import masked_bytes
from scirgen.core.secrets.addresses import without_passwords

SPELLED = [
    "https://bob:PW12345678&#x00000040;host.org",
    "https&#000000058;//bob:PW12345678&#00000064;host.org",
    "https://bob:PW12345678\\u{40}host.org",
    "https://bob:PW12345678\\U00000040host.org",
    "https://bob:PW12345678%u0040host.org/x",
    "https://%62ob:PW12345678%40host.org/x",
    "jdbc:oracle:thin:bob/PW12345678@host.org:1521/x",
    "jdbc:oracle:thin:bob/PW12345678@//host.org:1521/x",
    "https://host.org/x?pass%77ord=PW12345678",
    "https://host.org/x?private_key=PW12345678&a=b",
    "https://host.org/x?consumer_secret=PW12345678",
    "https://host.org/x;jsessionid=PW12345678",
    "https://host.org/x?token=PW12345678abcdef",
    "https://host.org/x?sv=2020&sig=PW12345678%2Babcdef%3D",
    "https://host.org/x?a=1&amp;secret=PW12345678abcdef",
    "https: #47; #47;bob:PW12345678 #x40;host.org",
    "https colon; sol; sol;bob colon;PW12345678 commat;host.org",
    "https://bob:PW12345678 amp;#64;host.org",
    "https://bob:PW12345678@host.org/x",
    "https:&#47;&#47;bob:PW12345678@host.org/x",
    "https&#58;&#47;&#47;bob&#58;PW12345678&#64;host.org/x",
    "https&colon;&sol;&sol;bob&colon;PW12345678&commat;host.org",
    "https://bob:PW12345678&#64;host.org",
    "https://bob:PW12345678&#x40;host.org",
    "https://bob:PW12345678&#0064host.org",
    "https://bob:PW12345678&amp;#64;host.org",
    "https://bob:PW12345678&amp;amp;#64;host.org",
    "https:&amp;#x2F;&amp;#x2f;bob:PW12345678&amp;commat;host.org",
    "https://bob:<b>PW12345678</b>@host.org",
    "https://bob:PW12345678<wbr>@host.org",
    "https://bob:PW12<wbr/>345678@host.org",
    "<a href=\"https://bob:PW12345678@host.org\">x</a>",
    "<a href='https://bob:PW12345678@host.org'>x</a>",
    "https://<i>bob</i>:<i>PW12345678</i>@<i>host.org</i>",
    "https:<br>//bob:PW12345678@host.org",
    "https:/<!-- x -->/bob:PW12345678@host.org",
    "https:\\\\bob:PW12345678@host.org",
    "https:/\\bob:PW12345678@host.org",
    "https:\\/\\/bob:PW12345678@host.org",
    "https:\\/\\/bob:PW12345678\\@host.org",
    "https://bob:a\\PW12345678@host.org",
    "https://bob\\:PW12345678@host.org",
    "https:bob:PW12345678@host.org",
    "https:/bob:PW12345678@host.org",
    "https:////bob:PW12345678@host.org",
    "HTTPS://bob:PW12345678@host.org",
    "hTTp:\\bob:PW12345678@host.org",
    "https://bob:a\"PW12345678@host.org",
    "https://bob:a'PW12345678@host.org",
    "https://bob:\"PW12345678\"@host.org",
    "https://\"bob:PW12345678\"@host.org",
    "https://\"bob\":\"PW12345678\"@host.org",
    "https://'bob':'PW12345678'@host.org",
    "https://bob:`PW12345678`@host.org",
    "https://bob:<PW12345678>@host.org",
    "https://<bob>:<PW12345678>@host.org",
    "https://bob:a#PW12345678@host.org",
    "https://bob:#PW12345678@host.org",
    "https://bob#:PW12345678@host.org",
    "https://bob:a?PW12345678@host.org",
    "https://bob:a/PW12345678@host.org",
    "https://bob:/PW12345678@host.org",
    "https://bob:12/PW12345678@host.org",
    "https://bob:12#PW12345678@host.org",
    "https://bob:a@PW12345678@host.org",
    "https://bob:a@b/PW12345678@host.org",
    "https://bob:PW12345678/@host.org",
    "https://bob:PW12345678@host/x",
    "https://bob:a#PW12345678@host/x",
    "https://bob:a#PW12345678@host",
    "https://bob:a#PW12345678@localhost:80",
    "https://bob:a#PW12345678@10.0.0.1/x",
    "https://bob:a#PW12345678@[::1]/x",
    'http\u200bs://bob:PW12345678@host.org',
    'https:\u200b//bob:PW12345678@host.org',
    'https:/\u200b/bob:PW12345678@host.org',
    'https://\u200bbob:PW12345678\u200b@\u200bhost.org',
    'https://bob:PW12\u200b345678@host.org',
    'https://bob:PW12\uad345678@host.org',
    "https://bob:PW12\\ufeff345678@host.org",
    'https://bob:a#PW12345678\u2060@host.org',
    "https:/&#8203;/bob:PW12345678@host.org",
    "https:/&#x200B;/bob:PW12345678@host.org",
    "https:/&ZeroWidthSpace;/bob:PW12345678@host.org",
    "https:/&shy;/bob:PW12345678@host.org",
    "https:/&zwnj;/bob:PW12345678@host.org",
    "https:&Tab;//bob:PW12345678@host.org",
    "https:&NewLine;//bob:PW12345678@host.org",
    'https://bob:\nPW12345678@host.org',
    'https://bob\n:PW12345678@host.org',
    'https://bob:PW12345678\n@host.org',
    'https://bob:PW12345678@\nhost.org',
    'https:\n//bob:PW12345678@host.org',
    'https:/\n/bob:PW12345678@host.org',
    'https://\nbob:PW12345678@host.org',
    'htt\nps://bob:PW12345678@host.org',
    'https://bob:PW1234\n5678@host.org',
    'https://bob:PW1234\r\n5678@host.org',
    'https://bob:PW1234\t5678@host.org',
    "https:// bob:PW12345678@host.org",
    "https: //bob:PW12345678@host.org",
    "https : // bob : PW12345678 @ host.org",
    "https://bob:my PW12345678@host.org",
    "https://bob: PW12345678@host.org",
    "https://bob :PW12345678@host.org",
    "https://bob:PW12345678 @host.org",
    "https://bob:PW12345678 @ host.org",
    'https://bob:PW12345678\xa0@host.org',
    'https://bob:PW12345678\u2003@host.org',
    "https://PW12345678@host.org",
    "https://PW12345678:@host.org",
    "https://PW12345678:x@host.org",
    "https://:PW12345678@host.org",
    "https://PW12345678 @host.org",
    'https://PW12345678\n@host.org',
    "https://PW12345678&#64;host.org",
    "https://PW12345678/abc@host.org",
    "https://PW12345678#abc@host.org",
    "https://PW12345678%40host.org/x",
    "https://bob%3APW12345678%40host.org/x",
    "https%3A%2F%2Fbob%3APW12345678%40host.org/x",
    "https%253A%252F%252Fbob%253APW12345678%2540host.org/x",
    "https://x.org/?u=https%3A%2F%2Fbob%3APW12345678%40host.org%2Fx",
    "https://x.org/?u=https://bob:PW12345678@host.org/x",
    "https://x.org/#https://bob:PW12345678@host.org/x",
    "//bob:PW12345678@host.org/x",
    "bob:PW12345678@host.org/x",
    "bob:PW12345678@host.org:8080",
    "curl -u bob:PW12345678@host.org/x",
    "see (bob:PW12345678@host.org/x)",
    "\"bob:PW12345678@host.org/x\"",
    "https://x.org/#bob:PW12345678@host.org/x",
    "ftp://bob:PW12345678@host.org",
    "sftp://bob:PW12345678@host.org",
    "ssh://bob:PW12345678@host.org",
    "postgresql://bob:PW12345678@host.org:5432/db",
    "jdbc:postgresql://bob:PW12345678@host.org/db",
    "git+https://bob:PW12345678@host.org/a.git",
    "view-source:https://bob:PW12345678@host.org",
    "url:https://bob:PW12345678@host.org",
    "s3://AKIA:PW12345678@bucket/x",
    "mongodb+srv://bob:PW12345678@host.org",
    'https\uff1a//bob:PW12345678@host.org',
    'https\uff1a\uff0f\uff0fbob\uff1aPW12345678\uff20host.org',
    'https://bob:PW12345678\ufe6bhost.org',
    'https:\u2044\u2044bob:PW12345678@host.org',
    "https://bob:PW12345678[at]host.org",
    "https://bob:PW12345678 (at) host.org",
    "\\u0068ttps:\\u002f\\u002fbob:PW12345678\\u0040host.org",
    "https:\\u002f\\u002fbob\\u003aPW12345678\\u0040host.org",
    "https:\\x2f\\x2fbob:PW12345678\\x40host.org",
    "\\href{https://bob:PW12345678@host.org}{x}",
    "\\url{https://bob:PW12345678@host.org}",
    "https://bob:PW12345678\\@host.org",
    "https://bob:PW12345678{@}host.org",
    "https://bob:PW12345678$@$host.org",
    "https://bob:PW12345678\\string@host.org",
    "[x](https://bob:PW12345678@host.org)",
    "<https://bob:PW12345678@host.org>",
    "https://host.org/?api_key=PW12345678",
    "https://host.org/?api&#95;key=PW12345678",
    "https://host.org/?api_key&#61;PW12345678",
    "https://host.org/?api\\_key=PW12345678",
    "https://host.org/?api_key%3DPW12345678",
    "https://host.org/?a=b&amp;api_key=PW12345678",
    "https://host.org/?a=b&#38;api_key=PW12345678",
    "https://host.org/?api<wbr>_key=PW12345678",
    'https://host.org/?api_\u200bkey=PW12345678',
    "https://host.org/?api_key=<b>PW12345678</b>",
    "https://host.org/?api_key=\"PW12345678\"",
    "https://host.org/?api_key= PW12345678",
    'https://host.org/?api_key=\nPW12345678',
    'https://host.org/?\napi_key=PW12345678',
    "https://host.org/x y?api_key=PW12345678",
    "https:&#47;&#47;host.org/?api_key=PW12345678",
    "https:\\\\host.org/?api_key=PW12345678",
    "https:host.org/?api_key=PW12345678",
    "//host.org/?api_key=PW12345678",
    "host.org/?api_key=PW12345678",
    'https://bob:PW12345678@\u0445\u043e\u0441\u0442.\u0440\u0444/x',
    'https://bob:a#PW12345678@\u0445\u043e\u0441\u0442.\u0440\u0444/x',
    'https://\u0431\u043e\u0431:PW12345678@host.org',
    'https://bob:\u5bc6\u7801PW12345678@host.org',
    "https://bob:a#b@c#PW12345678@host.org",
    "https://bob:PW12345678@host.org,https://bob:PW12345678@host.org",
    "https://bob:pa:PW12345678@host.org",
    "https://bob:a;PW12345678@host.org",
    "https://bob:a|PW12345678@host.org",
    "https://bob:a{PW12345678}@host.org",
    "https://bob:a(PW12345678)@host.org",
    "https://bob:a,PW12345678@host.org",
    "https://bob:a&PW12345678@host.org",
    "https://bob:a&amp;PW12345678@host.org",
    "https://bob:a&lt;PW12345678@host.org",
    "https://bob:a<PW12345678@host.org",
    "https://bob:a>PW12345678@host.org",
    "https://bob:a&quot;PW12345678@host.org",
    "https://bob.smith:PW12345678@host.org",
    "https://bob@example.org:PW12345678@host.org",
    "https://bob%40example.org:PW12345678@host.org",
    "https://domain\\bob:PW12345678@host.org",
    "https://bob:<span style=\"x\">PW12345678</span>@host.org",
    "https://bob:PW12345678<sup>@</sup>host.org",
    "https://bob:PW12345678<a href=\"x\">@host.org</a>",
]  # fmt: skip
"""Written by a language model: entities, tags, backslashes, quotes, ``#``, invisible signs, line breaks, blanks,
escapes of JSON and LaTeX, wide signs, tokens as user names, addresses without a scheme."""
HOSTS = ("host", "10.0.0.1", "[::1]", "хост.рф", "bucket")


@pytest.mark.parametrize("around", ["{}", "Data at {} and https://doi.org/10.1234/abc.", "a@b.org {}, c@d.org", '"{}"'])
@pytest.mark.parametrize("address", SPELLED, ids=range(len(SPELLED)))
def test_a_password_is_removed_in_each_spelling(address: str, around: str) -> None:
    left = without_passwords(around.format(address))
    assert "PW12" not in left and "5678" not in left
    assert any(host in left for host in HOSTS) and ("doi" not in around or "https://doi.org/10.1234/abc." in left)


KEPT = [
    "https://example.org/x?token=next&page=3", "https://example.org/oai?resumptionToken=a1b2c3d4e5f6a7b8",
    "https://example.org/x?next_token=a1b2c3d4e5f6a7b8", "https://example.org/x?signature=aerosol-spectra-of-dust",
    "https://example.org/oracle:thin:films/a@b", "https://example.org/%41%42c/x",
    "Email:bob@example.org", "mailto:bob@example.org", "see https://example.org: me@example.org",
    "see https://example.org:8080/x me@example.org", "http://www.example.org (accessed 3 May 2020), me@example.org",
    "https://example.org/users/me@example.org", "http://localhost:8000/@x", "http://192.168.0.1/a@b.org",
    "https://www.\nexample.org/x me@b.org", '<a href="https://example.org"><b>me@example.org</b></a>',
    "<p>https://example.org<br>me@example.org</p>", "<p>https://example.org</p><p>me@example.org</p>",
    "https://bob:\n\nPW is not asked: me@example.org", "https://orcid.org/0000-0001-2345-6789;smith@uni.edu",
    "file:///home/bob@host/x", "pkg:npm/@scope/name@1.2", '{"url":"https://example:x","mail":"me@example.org"}',
    '["https://","x:y@example.org"]', "C:\\Users\\bob@host.org\\x", "https://{host}:{port}/x", "Fig. 3: a@b and c",
    "ftp://ftp.example.org/pub (anonymous, password: your e-mail me@example.org)",
]  # fmt: skip


@pytest.mark.parametrize("text", KEPT)
def test_a_text_without_a_password_stays(text: str) -> None:
    assert without_passwords(text) == text


_PIECES = st.sampled_from([
    "https://", "http:", "//", "bob", ":", "@", "host.org", "/", '"', "'", "`", "\\", "\n", " ", "#", "?", "api_key=",
    "x", ",", "}", "]", "a.b@c.org", "<b>", "</b>", "<", "&#64;", "%40", "\u200b", "12", ".", "(at)", ";", "&amp;",
    "<br>",
])  # fmt: skip


@given(st.lists(st.lists(_PIECES, max_size=12).map("".join), max_size=4), st.booleans(), st.booleans())
def test_json_stays_json_and_a_clean_text_stays_clean(texts: list[str], ascii_only: bool, twice: bool) -> None:
    written = json.dumps({"a": texts, "b": dict.fromkeys(texts, "x")}, ensure_ascii=ascii_only)
    json.loads(masked_bytes(json.dumps([written]).encode() if twice else written.encode()))
    clean = without_passwords("".join(texts))
    assert without_passwords(clean) == clean


@example(["https://", "(at)"])
@example(["https://bob:", "#64;host.org"])
@given(st.lists(st.lists(_PIECES, min_size=1, max_size=12).map("".join), min_size=1, max_size=4))
def test_paragraphs_that_are_clean_are_clean_together(texts: list[str]) -> None:
    clean = [without_passwords(text.replace("\n", " ")).strip() for text in texts]
    assert without_passwords("\n\n".join(clean)) == "\n\n".join(clean)


@pytest.mark.parametrize(
    "unit", ["@", "https://", "a:b@", "&#64;", "%40", "https://bob:a ", "?", "[at]", "<b>", "\\u0040"]
)
def test_a_long_text_is_read_in_linear_time(unit: str) -> None:
    took = []
    for size in (100_000, 400_000):
        before = time.process_time()
        without_passwords(unit * (size // len(unit)))
        took.append(time.process_time() - before)
    assert took[1] < 12 * took[0] + 0.1
