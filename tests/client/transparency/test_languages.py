"""Texts for the user in another language: complete, with the same numbers, and for the same consent."""

import io
import json
from pathlib import Path

import pytest

from client.devices import THEME, Make
from dither.__main__ import main
from dither.cli.compile import compiled_file, sentences
from dither.cli.users import run
from dither.consent.rules import Stopped, decide
from dither_shared import ParameterError
from dither_shared.languages import Language

GERMAN = {"language": "de", "metrics.theme.description": "Welches Farbschema?", "metrics.theme.why": "Um zu wählen"}


def test_consent_is_asked_in_the_language_of_the_app(make: Make) -> None:
    text = make(mode=None, language=GERMAN).consent_text(["theme"])
    assert text.startswith("tests möchte Ihnen 1 Frage stellen. Jede Antwort wird")
    for said in (
        "theme: Welches Farbschema?",
        "Wozu: Um zu wählen",
        "Verlust an Privatsphäre: Epsilon 1 für",
        "48 von 100",
    ):
        assert said in text
    for english in ("Why", "times in 100", "would like", "epsilon", "An upload"):
        assert english not in text


def test_status_keeps_its_identifiers_and_says_its_sentences(make: Make) -> None:
    status = make(language="de").status()
    assert (status.mode, status.decided_by) == ("on", "the user's choice")
    assert {metric.state for metric in status.metrics} == {"collected"}
    assert "von 100 Fällen" in status.metrics[0].odds


@pytest.mark.parametrize("language", ["fr", {"language": "de", "odds.two": "sehr sicher"}, 7])
def test_unusable_texts_are_a_mistake_and_english_is_used(language: object, make: Make) -> None:
    with pytest.raises(ParameterError, match="language"):
        make(language=language)
    client = make(mode=None, strict=False, language=language)
    assert client.consent_text().startswith("tests would like to ask 6 questions")
    assert list(client.status().trouble) == ["language was called incorrectly"]


def test_commands_answer_in_and_accept_the_language(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make(mode=None, language="de")
    monkeypatch.setattr("sys.stdin", io.StringIO("nein\n"))
    assert run(client, ["on"]) == 1
    assert "Nichts wurde geändert" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("j\n"))
    assert run(client, ["on"]) == 0
    assert "Telemetrie: ein (entschieden durch: Ihre eigene Wahl)" in capsys.readouterr().out
    client.record("mobile", True)
    for command, said in (
        ("status", "1 Meldung erzeugt"),
        ("ledger", "Obergrenze"),
        ("off", "0 warten"),
        ("forget", "Kontobuch"),
    ):
        assert run(client, [command]) == 0
        assert said in capsys.readouterr().out
    assert run(client, ["preview"]) == 0
    assert "Telemetrie ist aus (entschieden durch: Sie selbst" in capsys.readouterr().err
    assert run(client, ["--help"]) == 0
    assert "die genauen Bytes der nächsten Sendungen zeigen" in capsys.readouterr().out


def test_every_deciding_authority_has_a_german_sentence() -> None:
    environs: tuple[dict[str, str], ...] = ({"DO_NOT_TRACK": "1"}, {"DITHER": "on"}, {"DITHER": "maybe"}, {})
    said = {decide(environ, None, policy=policy).decided_by for environ in environs for policy in (None, "off", "x")}
    said |= {decide({}, None, automatic=sign).decided_by for sign in ("CI in the environment", "pytest is running")}
    closed, forgotten = Stopped(), Stopped()
    closed.close()
    forgotten.forget()
    said |= {closed.reason, forgotten.reason}
    german = Language.of("de")
    assert {reason for reason in said if german.again("by.", reason) == reason} == set()
    assert len(said) == 10


@pytest.mark.parametrize("command", ["catalogue", "status"])
def test_commands_take_a_language_or_a_file_of_texts(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics, texts = tmp_path / "metrics.toml", tmp_path / "texts.toml"
    metrics.write_text('[metrics.theme]\ntype = "boolean"\nepsilon = 1.0\n', encoding="utf-8")
    texts.write_text('language = "de"\n[metrics.theme]\ndescription = "Welches?"\n', encoding="utf-8")
    rest = ["--app", "tests", "--state", str(tmp_path / "state")] if command == "status" else []
    for language in ("de", str(texts)):
        assert main([command, "--metrics", str(metrics), "--language", language, *rest], environ={}) == 0
        assert "höchstens einmal am Tag" in capsys.readouterr().out
    for language, said in (
        ("fr", "not one of en, de"),
        (str(tmp_path / "none.toml"), "cannot be read"),
        (str(metrics), "unknown"),
    ):
        assert main([command, "--metrics", str(metrics), "--language", language, *rest], environ={}) == 2
        assert said in capsys.readouterr().err


def test_compiled_definitions_hold_the_sentences_of_their_language_and_the_same_terms() -> None:
    english, german = (json.loads(compiled_file([THEME], say)) for say in (Language(), Language.of(GERMAN)))
    assert (english["language"], german["language"]) == ("en", "de")
    assert len(english["sentences"]) == 7
    assert german["sentences"]["element.yes"] == "Ja"
    assert german["sentences"]["by.user"] == "Ihre eigene Wahl"
    assert german["metrics"][0]["description"] == "Welches Farbschema?"
    metrics = [file["metrics"][0] for file in (english, german)]
    for key in metrics[0].keys() - {"words", "description"}:
        assert metrics[0][key] == metrics[1][key], key
    assert [name for name, _ in metrics[1]["words"]][:2] == ["Wozu", "Gelesen von"]
    assert sentences(Language.of({"language": "en", "element.yes": "Sure"}))["element.yes"] == "Sure"


def test_compile_says_that_a_language_is_unreviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics = tmp_path / "metrics.toml"
    metrics.write_text('[metrics.theme]\ntype = "boolean"\nepsilon = 1.0\n', encoding="utf-8")
    assert main(["compile", str(metrics), "--language", "de"]) == 0
    assert "unreviewed: no native speaker has read them" in capsys.readouterr().err
    assert main(["compile", str(metrics)]) == 0
    assert capsys.readouterr().err == ""
