"""Strata: cells and their labels, refused definitions, and the version, which depends on all of it."""

import enum

import pytest

from dither_shared import Metric, ParameterError, Strata, parse_metrics
from dither_shared.metrics.strata import MOST_CELLS
from dither_shared.wire import LONGEST_STRATUM
from shared import odd

THEME = '[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n'
ONE = Strata.of([("platform", ["linux", "windows", "macos"])])
TWO = Strata.of([("platform", ["linux", "other", "macos"]), ("channel", ["stable", "beta"])])


class Channel(enum.Enum):
    BETA = "beta"


def defined(strata: str, table: str = THEME) -> Metric:
    (metric,) = parse_metrics(f"{table}strata = {strata}\n", "m.toml").values()
    return metric


def test_a_definition_of_any_type_may_have_strata() -> None:
    table = '{platform = ["linux", "windows", "macos"]}'
    for kind in ('type = "boolean"', 'type = "number"\nlow = 0\nhigh = 9', 'type = "string"'):
        assert defined(table, f"[metrics.m]\n{kind}\nepsilon = 1.0\n").strata == ONE
    assert defined(table).strata == ONE
    assert parse_metrics(THEME)["theme"].strata is None


def test_strata_cells_are_the_product_with_the_first_attribute_slowest() -> None:
    assert ONE.labels == ("linux", "windows", "macos", "other")
    assert TWO.labels == (
        *("linux/stable", "linux/beta", "linux/other"),
        *("other/stable", "other/beta", "other/other"),
        *("macos/stable", "macos/beta", "macos/other"),
    )
    assert (len(ONE), len(TWO)) == (4, 9)
    for strata in (ONE, TWO):
        assert [strata.index(label) for label in strata.labels] == list(range(len(strata)))
    for label in ("", "linux", "stable/linux", "linux/stable/", "Linux/stable"):
        assert TWO.index(label) is None


@pytest.mark.parametrize(
    ("attributes", "label", "outside"),
    [
        ({"channel": Channel.BETA, "platform": "macos"}, "macos/beta", ()),
        ({"platform": "other", "channel": "other"}, "other/other", ()),  # the app itself passes "other"
        ({"platform": "Linux", "channel": "beta "}, "other/other", ("platform", "channel")),
        ({"channel": True, "platform": 1}, "other/other", ("platform", "channel")),
        ({"channel": "stable"}, "other/stable", ("platform",)),
        ({"platform": None, "channel": ["beta"]}, "other/other", ("platform", "channel")),
        ({"platform": "linux/stable", "channel": "", "user": "me"}, "other/other", ("platform", "channel")),
    ],
)
def test_unlisted_or_missing_attribute_is_other(
    attributes: dict[str, object], label: str, outside: tuple[str, ...]
) -> None:
    assert (TWO.label_of(attributes), TWO.outside(attributes)) == (label, outside)


def test_every_object_as_attributes_has_a_stratum_cell() -> None:
    for value in (*odd.TRUE, *odd.FALSE, *odd.NEITHER, *odd.NO_ANSWERS):
        assert ONE.index(ONE.label_of({"platform": value})) is not None
        assert TWO.index(TWO.label_of({"platform": value, "channel": value})) is not None


def test_cells_of_chosen_attribute_values_are_listed() -> None:
    assert TWO.places({}) == tuple(range(9))
    assert TWO.places({"platform": "macos"}) == (6, 7, 8)
    assert TWO.places({"channel": "beta"}) == (1, 4, 7)
    assert TWO.places({"channel": "beta", "platform": "linux"}) == (1,)
    with pytest.raises(ParameterError, match=r"^user: not an attribute; known here: platform, channel$"):
        TWO.places({"user": "me"})
    with pytest.raises(ParameterError, match=r"^channel: 'Beta' is not one of stable, beta, other$"):
        TWO.places({"channel": "Beta"})


def test_stored_strata_are_read_back() -> None:
    for strata in (ONE, TWO):
        assert Strata.of(strata.stored()) == strata  # type: ignore[arg-type]  # which is JSON
        assert hash(Strata.of(strata.attributes)) == hash(strata)
    assert ONE.stored() == [["platform", ["linux", "windows", "macos", "other"]]]


def test_strata_are_described_in_words() -> None:
    assert TWO.words() == "platform (linux, other or macos), channel (stable, beta or other)"
    assert TWO.described("linux/beta") == "platform linux, channel beta"
    assert TWO.label_of(TWO.example) == TWO.labels[0]


@pytest.mark.parametrize(
    ("strata", "complaint"),
    [
        ("3", "strata: 3 is not a table such as"),
        ("{platform = [1]}", "strata.platform: 1 is not a string"),
        ('{platform = ["a\\nb"]}', "strata.platform: 'a\\nb' is not a value; 1 to 32 printable characters"),
        ('{platform = ["a[b"]}', "strata.platform: 'a[b' is not a value"),
        ('{"a-b" = ["linux"]}', "strata.a-b: not a name"),
        (f'{{{33 * "x"} = ["linux"]}}', f"strata.{33 * 'x'}: not a name"),
        # a word of Python, and a platform in a comparison; tests/contract/test_attribute_names.py has others
        *((f'{{{name} = ["x"]}}', f"strata.{name}: is a reserved name") for name in ("class", "other_platform")),
        (f"{{platform = {[str(n) for n in range(16)]}}}", 'strata: 17 values, "other" included; at most 16'),
        ('{a = ["1", "2", "3"], b = ["1", "2", "3", "4"]}', 'strata: 4 x 5 = 20 cells, "other" included; at most 16'),
        ("{platform = [" + 200_000 * '"a",' + "]}", "strata.platform: 'a' is listed twice"),
    ],
)
def test_mistakes_in_strata_are_named(strata: str, complaint: str) -> None:
    """Others are in tests/vectors/refused_metrics.json."""
    with pytest.raises(ParameterError) as caught:
        defined(strata)
    assert str(caught.value).startswith(f"m.toml: metrics.theme.{complaint}")


def test_largest_strata_are_accepted() -> None:
    assert len(Strata.of([("platform", map(str, range(15)))])) == MOST_CELLS
    assert len(Strata.of([(name, ["1"]) for name in "abcd"])) == MOST_CELLS
    longest = Strata.of([("a", [31 * "x"]), ("b", [31 * "y"]), ("c", [30 * "z"]), ("d", ["1"])])
    assert max(map(len, longest.labels)) == LONGEST_STRATUM == 100
    with pytest.raises(ParameterError, match="named twice"):
        Strata.of([("a", ["1"]), ("a", ["1"])])
