"""The registry imports a family when it is first asked for, and no other."""

import pytest

import dither_shared
from dither_shared import MECHANISMS, Rappor
from dither_shared.mechanism import LISTED, NUMBERS, SETS, SPELLED, STRINGS
from dither_shared.mechanisms import Registry


def test_registry_finds_every_family_by_name_and_kind_of_items() -> None:
    assert {name: family.name for name, family in MECHANISMS.items()} == {name: name for name in MECHANISMS}
    grouped = {items: MECHANISMS.of(items) for items in (LISTED, SETS, STRINGS, SPELLED, NUMBERS)}
    assert all(family.items == items for items, families in grouped.items() for family in families)
    assert sum(map(len, grouped.values())) == len(MECHANISMS)
    classes = {family.__name__ for family in MECHANISMS.values()}
    exported = {name for name in dither_shared.__all__ if getattr(dither_shared, name) in MECHANISMS.values()}
    assert {"RandomizedResponse", "Rappor"} <= exported <= classes


def test_family_is_added_to_the_registry_and_removed() -> None:
    registry = Registry({STRINGS: {"rappor": "rappor.Rappor"}})
    registry["own"] = MECHANISMS["exponential"]
    assert (list(registry), registry.of(NUMBERS), len(registry)) == (["rappor", "own"], [MECHANISMS["exponential"]], 2)
    del registry["own"]
    assert "own" not in registry
    assert registry.of(NUMBERS) == []
    assert registry["rappor"] is Rappor
    with pytest.raises(KeyError):
        registry["own"]
    with pytest.raises(AttributeError, match="Nothing"):
        dither_shared.Nothing  # noqa: B018
