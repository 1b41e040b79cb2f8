"""Questions whose answers are not listed: their definition, and the spelling of a text as symbols."""

import pytest

from dither_shared import DiscoveryQuestion, Metric, ParameterError, Report, parse_metrics
from dither_shared.questions.discovery import canonical, characters_of
from shared import odd

USUAL = 'alphabet = "a-z0-9._-", length = 12'


def metric_of(discover: str = USUAL, more: str = "epsilon = 1.0") -> Metric:
    return parse_metrics(f'[metrics.crash]\ntype = "string"\ndiscover = {{{discover}}}\n{more}')["crash"]


def question(discover: str = USUAL) -> DiscoveryQuestion:
    discovery = metric_of(discover).question
    assert isinstance(discovery, DiscoveryQuestion)
    return discovery


@pytest.mark.parametrize(
    ("alphabet", "characters", "written"),
    [
        ("a-z0-9._-", "-.0123456789_abcdefghijklmnopqrstuvwxyz", "-.0-9_a-z"),
        ("-a", "-a", "-a"),
        ("+--", "+,-", "-+,"),
        ("#-.", "#$%&'()*+,-.", "-#-,."),
        ("aab-ba", "ab", "ab"),
        ("a-cx-z-", "-abcxyz", "-a-cx-z"),
        ("\u65e5\u672c\u8a9e ", " \u65e5\u672c\u8a9e", " \u65e5\u672c\u8a9e"),
    ],
)
def test_an_alphabet_is_read_as_in_a_class_of_a_regular_expression(
    alphabet: str, characters: str, written: str
) -> None:
    assert characters_of(alphabet) == "".join(sorted(characters))
    assert canonical(characters_of(alphabet)) == written
    assert characters_of(written) == characters_of(alphabet), "the written form is read back"


@pytest.mark.parametrize("alphabet", ["\u2000-\u2030", "\ud800", "\x00-\x7f", "a-\uffff"])
def test_an_alphabet_that_cannot_be_is_refused(alphabet: str) -> None:
    with pytest.raises(ParameterError) as refused:
        characters_of(alphabet)
    assert refused.value.place == "alphabet"


@pytest.mark.parametrize(
    ("answer", "text", "outside"),
    [
        ("a-b_c.0", "a-b_c.0", False),
        ("x" * 12, "x" * 12, False),
        ("x" * 100_000, "x" * 11 + "\u2026", True),
        ("x" * 11 + "\u00eb!", "x" * 11 + "\u2026", True),
        ("x" * 10 + "\u00eb!x", "\u2026", True),
        ("Abc", "\u2026", True),
        ("\u2026", "\u2026", True),
        (3.5, "3.5", False),
    ],
)
def test_text_is_spelled_or_cut_or_marked_as_outside(answer: object, text: str, outside: bool) -> None:
    names = question()
    encoded = names.answers(metric_of().mechanism).encode(answer)
    assert isinstance(encoded.item, bytes)
    assert (names.text(encoded.item), encoded.outside, encoded.mistake) == (text, outside, False)
    assert len(encoded.item) == 12


def test_symbols_are_alphabet_positions_padded_by_end_symbols() -> None:
    names = question('alphabet = "ba-c", length = 4')
    encode = names.answers(metric_of().mechanism).encode
    assert (names.characters, names.symbols, names.ends) == ("abc", b"\1\2\3", b"\0\4")
    items = [encode(answer).item for answer in ("", "b", "abca", "abcab", "abx", "x")]
    assert items == [bytes(4), b"\2\0\0\0", b"\1\2\3\1", b"\1\2\3\4", b"\4\0\0\0", b"\4\0\0\0"]
    for item in items:
        assert isinstance(item, bytes)
        behind = item.lstrip(names.symbols)
        assert set(behind[:1]) <= set(names.ends)
        assert not any(behind[1:])
    assert names.text(b"\1\2") == "ab", "a prefix"
    single = question('alphabet = "abc", length = 1').answers(metric_of().mechanism).encode
    assert [single(answer).item for answer in ("", "c", "ab", "x")] == [b"\0", b"\3", b"\4", b"\4"]


def test_fold_lowers_ascii_capitals_only() -> None:
    names = question('alphabet = "a-z", length = 8, fold = true')
    encode = names.answers(metric_of().mechanism).encode
    assert [names.text(encode(answer).item) for answer in ("Export", "EXPORT", "\u0130a", "\u212a", "\u00c4")] == [  # type: ignore[arg-type]
        *("export", "export"),
        *("\u2026",) * 3,
    ]


def test_no_object_raises_and_invalid_answers_are_the_overflow_symbol() -> None:
    names = question()
    encode = names.answers(metric_of().mechanism).encode
    for value in (*odd.NO_ANSWERS, *odd.TRUE, *odd.FALSE, *odd.NEITHER):
        encoded = encode(value)
        assert isinstance(encoded.item, bytes)
        assert len(encoded.item) == 12
    assert {encode(value) for value in odd.NO_ANSWERS} == {encode(None)}
    assert encode(None)[:3] == (b"\x28".ljust(12, b"\0"), True, True)
    assert encode(odd.Spiteful("true")).item == encode("true").item


@pytest.mark.parametrize(
    ("discover", "more", "message"),
    [
        ('alphabet = "a-z", length = 12.5', "", "discover.length: 12.5 is not a whole number"),
        ('alphabet = "\u4e00-\u4f00", length = 4', "", "discover.alphabet: 257 characters; at most 254"),
        (USUAL, "bits = 128", "bits: unknown"),
        (USUAL, "characters = 3", "characters: unknown"),
        (USUAL, "buckets = 1000", "buckets: 1000 is not a power of two"),
        (USUAL, "buckets = 65536", ""),
    ],
)
def test_impossible_discoveries_are_refused_by_key(discover: str, more: str, message: str) -> None:
    """Others are in tests/vectors/refused_metrics.json."""
    if not message:
        assert metric_of(discover, f"epsilon = 2.0\n{more}").mechanism.name == "prefix-sketch"
        return
    with pytest.raises(ParameterError, match=message.replace(".", r"\.")):
        metric_of(discover, f"epsilon = 1.0\n{more}")


def test_report_and_odds_of_a_discovery_in_words() -> None:
    metric = metric_of()
    names, sketch = metric.question, metric.mechanism
    words = [names.reading(sketch, Report(cohort, sketch.row_format.symbol(7))) for cohort in (0, 2, 19, 21)]
    fits = "a report fits your text 48 times in 100, any other text 25 times"
    assert words[0] == f"it reports on the first 3 characters of the text alone; {fits}"
    assert words[1] == f"it reports on the first 4 characters of the text alone; {fits}"
    assert words[2] == words[3] == f"it reports on all of the text; {fits}"
    assert names.odds(sketch) == (
        "a report covers the beginning of your text, or of all of it; "
        "somebody who thought two answers equally likely is at most 73 in 100 sure after one report"
    )
    assert names.words() == "any text of up to 12 of the characters -.0-9_a-z; a longer one is cut"


@pytest.mark.parametrize(
    ("discover", "epsilon", "keys"),
    [
        (USUAL, 1.0, ["discover.fold"]),
        (f"{USUAL}, fold = false", 1.0, []),
        ('alphabet = "0-9", length = 8', 1.0, []),
        ('alphabet = "a-zA-Z", length = 8', 1.0, []),
        (f"{USUAL}, fold = false", 0.5, ["discover.length"]),
        ('alphabet = "a-zA-Z0-9/:._-", length = 32', 1.0, ["discover.length"]),
    ],
)
def test_lint_advises_a_discovery_on_capitals_and_the_least_findable_share(
    discover: str, epsilon: float, keys: list[str]
) -> None:
    metric = metric_of(discover, f"epsilon = {epsilon}")
    assert [advice.partition(":")[0] for advice in metric.question.advice(metric.mechanism)] == keys


def test_mechanism_of_a_string_follows_from_its_parameters() -> None:
    """tests/vectors/metrics.json has more."""
    metrics = parse_metrics('[metrics]\na = {type = "string", epsilon = 1.0, bits = 64}')
    assert metrics["a"].mechanism.name == "rappor"
    for more, refused in (
        ("epsilon = 1.0\nbuckets = 4096\nbits = 64", "bits: projective-count-mean-sketch has none"),
        ("discover = 12\nepsilon = 1.0", r"discover: 12 is not a table such as \{alphabet"),
        ('mechanism = "prefix-sketch"\nepsilon = 1.0', "mechanism: prefix-sketch takes strings to discover"),
    ):
        with pytest.raises(ParameterError, match=refused):
            parse_metrics(f'[metrics.a]\ntype = "string"\n{more}')
