"""The house: few rooms on a floor, few files in a room, and each says what is in it. CONTRIBUTING.md has the map."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = [
    ROOT / place
    for place in (
        "shared/dither_shared",
        "client/dither",
        "server/dither_serving",
        "server/dither_server",
        "server/dither_relay",
        "server/dither_spool",
        "simulations/dither_simulations",
    )
]
FOLDERS = sorted({path.parent for package in PACKAGES for path in package.rglob("*.py")})
LISTS = {"mechanisms", "cli", "versions", "dither_serving"}
"""Folders of like things: they may be as long as there are things."""

SCRIPTS = ROOT / "client/js/src"


def text(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def test_package_shows_few_rooms() -> None:
    wrong = []
    for package in PACKAGES:
        files = [path for path in package.glob("*.py") if path.name != "__init__.py"]
        folders = [path for path in package.iterdir() if any(path.glob("*.py"))]
        if len(files) > 18 or len(files) + len(folders) > 18:
            wrong.append(f"{package.name}: {len(files)} files, {len(folders)} folders")
    assert wrong == []


def test_folder_holds_few_files_and_says_what_they_are() -> None:
    silent = [folder for folder in FOLDERS if not text(folder / "__init__.py")]
    full = [
        folder
        for folder in FOLDERS
        if folder.name not in LISTS and sum(path.name != "__init__.py" for path in folder.glob("*.py")) > 14
    ]
    assert (silent, full) == ([], [])


def test_the_map_names_every_room() -> None:
    shown = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = [path.name for package in PACKAGES for path in package.iterdir() if any(path.glob("*.py"))]
    assert [name for name in rooms if f"{name}/" not in shown and f"`{name}`" not in shown] == []


def test_a_test_is_found_by_its_sources_name_or_says_what_it_walks() -> None:
    sources = {path.stem for package in PACKAGES for path in package.rglob("*.py")}
    lost = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.stem.removeprefix("test_") not in sources and not text(path)
    ]
    assert lost == []


def test_the_client_for_javascript_is_such_a_house() -> None:
    assert len(list(SCRIPTS.glob("*.js"))) <= 12
    assert len(list(SCRIPTS.iterdir())) <= 18
    for folder in SCRIPTS.iterdir():
        assert len(list(folder.glob("*"))) <= 14
    helpers = (ROOT / "tests/js").rglob("*.js")
    sources = {path.stem for path in [*SCRIPTS.rglob("*.js"), *helpers]} | {"vectors"}
    tests = {path: path.name.removesuffix(".test.js") for path in (ROOT / "tests/js").rglob("*.test.js")}
    told = {path for path in tests if path.read_text(encoding="utf-8").startswith("/**")}
    assert [path for path, name in tests.items() if name not in sources and path not in told] == []
