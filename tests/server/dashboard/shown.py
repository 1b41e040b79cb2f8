"""What the dashboard's tests show: hostile names, many values, many metrics; and a strict reader of pages."""

from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

from flask import Flask

from dither_server.app import collector_of, create_app
from dither_shared import parse_metrics
from server.collecting import METRICS, MOBILE, THEME, TODAY, collect, config

HOSTILE_TOML = """
[metrics.hostile]
description = "<script>alert(1)</script>"
type = "choice"
values = ['<img src=x onerror="alert(2)">', "<a href='https://evil.example'>a</a>", "a&amp;b", "=cmd()", "%{x}", "2024"]
epsilon = 1.0
"""
WIDE_TOML = """
[metrics.wide]
type = "choice"
values = [{}]
epsilon = 3.0
"""
HOSTILE = parse_metrics(HOSTILE_TOML)["hostile"]
WIDE = parse_metrics(WIDE_TOML.format(", ".join(f'"plugin {number}"' for number in range(999))))["wide"]
MANY_METRICS = parse_metrics(
    "".join(
        f"""
[metrics.many-{number:02}]
description = "Question {number}?"
type = "boolean"
truth = 0.75
{("", 'tier = "sensitive"', 'tier = "technical"')[number % 3]}
"""
        for number in range(27)
    )
)
"""With those of ``METRICS`` 31: nine are sensitive, nine technical, and the others have no tier."""
SHOWN = METRICS | {"hostile": HOSTILE, "wide": WIDE}


def filled(folder: Path, **changed: object) -> Flask:
    """A collector with hostile names and a thousand values, and some days of reports."""
    app = create_app(config(folder, **({"metrics": SHOWN} | changed)))
    store = collector_of(app).store
    for ahead in (0, 1, 4):
        day = TODAY + timedelta(days=ahead)
        for metric, count, value in (
            (THEME, 300 * (ahead + 1), "light"), (HOSTILE, 300, "=cmd()"), (WIDE, 50, "plugin 7"),
        ):  # fmt: skip
            collect(store, metric, count, value, day=day)
    collect(store, MOBILE, 1)
    return app


class Page(HTMLParser):
    """A page read strictly: each tag is closed in its order, each id stands once."""

    VOID = frozenset({"meta", "link", "img", "br", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.ids: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), (tag, attrs)
        if "id" in given:
            assert given["id"] not in self.ids
            self.ids.add(str(given["id"]))
        self.elements.append((tag, given))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data: str) -> None:
        self.text += data

    def count(self, tag: str, **attributes: str) -> int:
        return sum(name == tag and attributes.items() <= found.items() for name, found in self.elements)

    def attributes(self, tag: str, name: str) -> list[str]:
        return [str(given[name]) for found, given in self.elements if found == tag and name in given]

    @property
    def words(self) -> str:
        """Its text, with one blank between words."""
        return " ".join(self.text.split())
