"""Languages: the same sentences with the same numbers in each, and an app's own texts, which must be complete."""

import re
from pathlib import Path

import pytest

from dither_shared import ParameterError
from dither_shared.languages import _NAME as NAME
from dither_shared.languages import ENGLISH, LANGUAGES, Language, de, en
from dither_shared.metrics.metric import Metric
from dither_shared.wire import Report
from vectors.devices import LASTING
from vectors.questions import TABLES, defined

ROOT = Path(__file__).parents[3]
GERMAN = Language("de")
METRICS = [
    *(defined(name, table) for name, table in TABLES if "strata" not in table),
    *(defined(name, table) for name, table, _ in LASTING),
]
"""Every kind of question with every kind of mechanism, reported once or kept for ever."""


def numbers(text: str, say: Language) -> list[float]:
    """Return the numbers of a sentence, except the 100 of "in 100", for which German writes a percentage."""
    written = re.findall(r"(?<![\w-])\d[\d.,]*\d|(?<![\w-])\d", text)
    decimal, thousands = say("mark.decimal"), say("mark.thousands")
    values = [float(number.replace(thousands, "").replace(decimal, ".")) for number in written]
    return sorted(number for number in values if number != 100)


def names(text: str) -> list[str]:
    return sorted(NAME.findall(text))


def test_all_languages_have_the_same_sentences_with_the_same_names() -> None:
    assert list(en.TEXTS) == list(de.TEXTS)
    assert {key: names(text) for key, text in en.TEXTS.items()} == {key: names(text) for key, text in de.TEXTS.items()}


def test_no_number_is_written_into_a_translation() -> None:
    for key, text in en.TEXTS.items():
        assert set(re.findall(r"\d+", NAME.sub("", de.TEXTS[key]))) <= set(re.findall(r"\d+", NAME.sub("", text))), key


def test_every_language_says_whether_a_speaker_has_reviewed_it() -> None:
    assert {code: Language(code).reviewed for code in LANGUAGES} == {"en": True, "de": False}


@pytest.mark.parametrize("metric", METRICS, ids=[f"{metric.name} {metric.mechanism.name}" for metric in METRICS])
def test_texts_about_a_report_have_the_same_numbers_in_each_language(metric: Metric) -> None:
    question, mechanism = metric.question, metric.mechanism
    pairs = ("light", "dark") if len(question.names) == 2 else None
    english, german = (question.odds(mechanism, pairs, say) for say in (ENGLISH, GERMAN))
    assert english != german
    assert numbers(english, ENGLISH) == numbers(german, GERMAN) != []
    english, german = (question.words(say) for say in (ENGLISH, GERMAN))
    assert numbers(english, ENGLISH) == numbers(german, GERMAN)
    if mechanism.row_format.payload_bytes > 2:
        return
    for cohort in range(min(mechanism.cohorts, 5)):
        report = Report(cohort, bytes(mechanism.row_format.payload_bytes))
        english, german = (question.reading(mechanism, report, say) for say in (ENGLISH, GERMAN))
        assert numbers(english, ENGLISH) == numbers(german, GERMAN)
        assert (english == "") == (german == "")


def test_numbers_get_the_marks_of_the_language() -> None:
    assert ENGLISH.number("1,234.5") == "1,234.5"
    assert GERMAN.number("1,234.5") == "1.234,5"
    assert GERMAN.count("ask", 1200, app="a.b").startswith("a.b möchte Ihnen 1.200 Fragen stellen")
    assert GERMAN.number(f"{1e-9:.3g}") == "1e-09"


def test_values_filled_into_a_text_are_not_expanded() -> None:
    assert ENGLISH("by.environment", name="{by.__class__}") == "{by.__class__} in the environment"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("the user's choice", "Ihre eigene Wahl"),
        ("CI in the environment: no user is present", "CI in der Umgebung: kein Mensch bedient das Programm"),
        ("DITHER in the environment, which cannot be read", "DITHER in der Umgebung, nicht lesbar"),
        ("the administrator's policy file", "die Richtliniendatei der Administration"),
        ("an error: telemetry is disabled in this program: x", "an error: telemetry is disabled in this program: x"),
    ],
)
def test_deciding_authority_is_restated_in_each_language(said: str, meant: str) -> None:
    assert GERMAN.again("by.", said) == meant
    assert ENGLISH.again("by.", said) == said


def test_an_app_changes_some_texts_of_a_language_and_translates_its_own() -> None:
    german = Language.of({"language": "de", "element.yes": "Gern", "metrics.a.b.why": "Wegen {x}"})
    assert (german("element.yes"), german("element.no"), german.code) == ("Gern", "Nein", "de")
    assert german.own("a.b", "why", "Because") == "Wegen {x}"
    assert german.own("a.b", "owner", "us") == "us"
    whole = Language.of(dict(de.TEXTS))
    assert whole("odds.yes") == "Ja"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (7, "neither a language's code"),
        ({"language": "fr"}, "language.language: 'fr' is not one of"),
        ({"language": "en", "odd.two": "x"}, "language.odd.two: unknown; did you mean 'odds.two'?"),
        ({"language": "en", "odds.two": "we see {yes}"}, "its text must contain {falsely}, {no}, {truly}, {yes}"),
        ({"language": "en", "odds.yes": "{no}"}, "its text must contain no names in braces"),
        ({"language": "en", "set.support": "{truly} {falsely} {"}, "and no other braces"),
        ({"language": "en", "set.support": "{truly.real} {falsely}"}, "its text must contain"),
        ({"language": "en", "odds.yes": 1}, "must be strings"),
        ({"element.yes": "Oui"}, "texts are missing: agree, agree.unchanged"),
    ],
)
def test_texts_that_would_leave_something_out_are_refused(table: object, said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Language.of(table)
    assert said in str(caught.value)


def test_javascript_element_has_the_same_english_texts() -> None:
    source = (ROOT / "client/js/src/element/labels.js").read_text(encoding="utf-8")
    labels = dict(re.findall(r'^  (\w+): "(.*)",$', source, re.MULTILINE))
    assert {f"element.{key}": text for key, text in labels.items()} == {
        key: text for key, text in en.TEXTS.items() if key.startswith("element.")
    }
