"""The npm package: its types, its size, its files, and the imports that they may use."""

import gzip
import json
import re
import shutil
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from js.tools import CLIENT, node, packages, run

SOURCES = sorted((CLIENT / "src").rglob("*.js"))
MOST = {"choices.js": 9_000, "index.js": 10_600, "choices.js with events": 10_950, "index.js with events": 12_600}
"""Bytes of what a page loads that makes a client, minified and gzipped; docs/decisions/0018 says why."""

FORBIDDEN = re.compile(r"Math\.random|\beval\b|new Function|sendBeacon")


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """Return the imports of each source file, read by esbuild: other files by their place in ``src``, else the name."""
    folder = tmp_path_factory.mktemp("bundle")
    files = [path.relative_to(CLIENT) for path in SOURCES]
    options = ["--bundle", "--format=esm", "--platform=node", f"--outdir={folder}", f"--metafile={folder}/meta.json"]
    run(packages() / ".bin" / "esbuild", *files, *options, "--log-level=error")
    inputs = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["inputs"]
    return {name: [imported["path"] for imported in source["imports"]] for name, source in inputs.items()}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as ``npm publish`` would send it, installed into the ``node_modules`` of an app's folder."""
    copy, app = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("app")
    for name in ("package.json", "tsconfig.json", "README.md"):
        shutil.copy(CLIENT / name, copy)
    shutil.copytree(CLIENT / "src", copy / "src")
    (copy / "node_modules").symlink_to(packages())
    run("npm", "pack", "--pack-destination", app, folder=copy)
    (archive,) = app.glob("*.tgz")
    with tarfile.open(archive) as content:
        content.extraction_filter = getattr(tarfile, "data_filter", None)  # which Python has from 3.11.4 on
        content.extractall(app / "node_modules")  # noqa: S202  # made here
    (app / "node_modules" / "package").rename(app / "node_modules" / "dither-client")
    return app


def reached(imports: Mapping[str, list[str]], *begin: str) -> set[str]:
    """Return the files that some files need."""
    seen: set[str] = set()
    waiting = list(begin)
    while waiting:
        if (name := waiting.pop()) in seen:
            continue
        seen.add(name)
        waiting += [one for one in imports[name] if one in imports]
    return seen


def foreign(imports: Mapping[str, list[str]], files: Iterable[str]) -> set[str]:
    """Return the imports that are no files of ``src``."""
    return {one for name in files for one in imports[name] if one not in imports}


@pytest.mark.slow  # starts TypeScript
def test_sources_have_the_right_types() -> None:
    known = packages() / ".cache" / "tsc.tsbuildinfo"  # unchanged sources are not checked again
    assert run(packages() / ".bin" / "tsc", "--incremental", "--tsBuildInfoFile", known) == ""


def test_the_client_for_browsers_is_small(tmp_path: Path) -> None:
    sizes = {}
    for name in MOST:
        entry, _, more = name.partition(" with ")
        imports = [("Client", entry), *([(more, f"{more}.js")] if more else [])]
        lines = [f"import {{ {what} }} from {json.dumps(str(CLIENT / 'src' / path))};" for what, path in imports]
        page = tmp_path / f"{more}{entry}"
        page.write_text("".join([*lines, f"globalThis.used = [{', '.join(what for what, _ in imports)}];"]), "utf-8")
        bundle = run(packages() / ".bin" / "esbuild", page, "--bundle", "--minify", "--format=esm", "--log-level=error")
        sizes[name] = len(gzip.compress(bundle.encode("utf-8"), 9, mtime=0))
    assert [(name, sizes[name]) for name, most in MOST.items() if sizes[name] > most] == []
    reference = (CLIENT.parents[1] / "docs/reference/javascript.md").read_text(encoding="utf-8")
    assert [name for name in ("index.js", "choices.js") if f"{sizes[name] / 1000:.1f} kB" not in reference] == []


def test_browser_sources_import_nothing_of_node_and_no_source_imports_a_package(
    imports: Mapping[str, list[str]],
) -> None:
    assert all(name.startswith("src/") for name in imports)
    assert foreign(imports, reached(imports, "src/index.js", "src/element.js")) == set()
    assert all(name.startswith("node:") for name in foreign(imports, imports))
    users = {name for name, needed in imports.items() if any(one.startswith("node:") for one in needed)}
    assert users
    assert users <= reached(imports, "src/node.js")


def test_bundlers_keep_each_module_that_imports_another_for_its_effects() -> None:
    """Rollup, Vite and webpack skip a module that is not listed and only re-exports, and what it imports with it."""
    effects = re.compile(r'^import "|^if \(', re.MULTILINE)
    found = {f"./src/{path.relative_to(CLIENT / 'src')}" for path in SOURCES if effects.search(path.read_text("utf-8"))}
    listed = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["sideEffects"]
    assert found == set(listed) - {"./src/all.js"}


def test_sources_are_short_and_use_neither_math_random_nor_eval() -> None:
    texts = {str(path.relative_to(CLIENT)): path.read_text(encoding="utf-8") for path in SOURCES}
    assert len(texts) > 20
    assert [name for name, text in texts.items() if len(text.splitlines()) > 300] == []
    assert {name: found for name, text in texts.items() if (found := FORBIDDEN.findall(text))} == {}


@pytest.mark.slow  # npm compiles the types when it packs
def test_package_holds_its_sources_types_and_bundle_and_nothing_else(packed: Path) -> None:
    package = packed / "node_modules" / "dither-client"
    held = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    sources = {str(path.relative_to(CLIENT)) for path in SOURCES}
    types = {re.sub(r"^src/(.*)\.js$", r"types/\1.d.ts", name) for name in sources}
    assert held == sources | types | {"package.json", "README.md", "dist/dither.min.js"}
    content: dict[str, Any] = json.loads((package / "package.json").read_text(encoding="utf-8"))
    assert [key for key in content if "ependencies" in key] == ["devDependencies"]
    assert not {"preinstall", "install", "postinstall", "prepare"} & content["scripts"].keys()


@pytest.mark.slow  # likewise
def test_app_imports_the_package_with_its_types(packed: Path) -> None:
    app = packed / "app.mts"
    app.write_text(
        'import { Client } from "dither-client";\n'
        'import { events } from "dither-client/events";\n'
        'const options = { endpoint: "http://127.0.0.1:9", app: "app", background: false, log: () => {}, events };\n'
        'const client = new Client({ format: "dither-compiled-1", metrics: [] }, options);\n'
        'type Record = "kept" | "answered" | "off" | "spent" | "too new" | "unknown" | "failed";\n'
        'const outcome: Record | "noted" = await client.record("x", 1);\n'
        'console.log(outcome, await client.add("x"));\nclient.close();\n'
        "// @ts-expect-error: there is no such method.\nclient.surprise?.();\n",
        encoding="utf-8",
    )
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    run(packages() / ".bin" / "tsc", *options, app, folder=packed)
    assert run(node(), "app.mjs", folder=packed) in {"unknown unknown\n", "off off\n"}
