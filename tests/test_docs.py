"""Pages: what they show is what happens, and their links lead to files."""

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest
from run_page import blocks

from experiments import catalogue
from multiplane.cli._main import COMMANDS

ROOT = Path(__file__).parents[1]
NAMES = ["README.md", "CONTRIBUTING.md", "experiments/README.md"]
NAMES += sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))
PAGES = {name: (ROOT / name).read_text("utf-8") for name in NAMES}
# In code anything may stand in brackets; a directive names its file after the fence.
FENCED = re.compile(r"^( *)```({?).*?^\1```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|\{(?:literal)?include\} (\S+)")


@pytest.mark.parametrize("name", [name for name in PAGES if ">>> " in PAGES[name]])
def test_examples(name, tmp_path, monkeypatch):
    text = re.sub(r"^ *```.*$", "", PAGES[name], flags=re.MULTILINE)  # or the last answer has it
    for module in re.findall(r"^>>> (?:from|import) (\w+)", text, re.MULTILINE):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "page"}, name, name, 0)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with mock.patch.dict(os.environ):
        assert doctest.DocTestRunner(optionflags=options).run(test).failed == 0


@pytest.mark.parametrize("name", PAGES)
def test_links(name):
    text = FENCED.sub(lambda block: block[0] if block[2] else "", PAGES[name])
    links = map("".join, LINK.findall(text))
    files = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    assert [file for file in files if not (ROOT / name).parent.joinpath(file).exists()] == []


@pytest.mark.parametrize("name", [name for name in PAGES if any(blocks(PAGES[name]))])
def test_code_and_commands(name, tmp_path):
    for module in re.findall(r"^(?:from|import) (\w+)", PAGES[name], re.MULTILINE):
        pytest.importorskip(module)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [sys.executable, ROOT / "tests/run_page.py", name], cwd=tmp_path, capture_output=True,
        text=True, check=False, env=os.environ | {"PATH": programs, "MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    if "skipped" in ran.stdout:
        pytest.skip(ran.stdout)


def test_commands_that_are_named_exist():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known = {
        r"make (\w+)": targets,
        r"multiplane ([a-z]\w*)": COMMANDS,
        r"multiplane reproduce ([a-z][\w-]+)": catalogue.names(),
        r"multiplane\[(\w+)\]": project["optional-dependencies"],
    }
    for name, text in PAGES.items():
        code = "\n".join(re.findall(r"`([^`]+)`", FENCED.sub("", text)))
        for pattern, names in known.items():
            assert set(re.findall(rf"\b{pattern}", code)) <= set(names), (name, pattern)
        for module in re.findall(r"python -m ([\w.]+)", code):
            assert find_spec(module), (name, module)
        for file in re.findall(r"python ([\w/]+\.py)", code):
            assert (ROOT / file).exists(), (name, file)


def test_reference_has_all_that_is_public():
    """Of a module without __all__, what is defined in it and told of in its pages."""
    sections = re.findall(
        r"currentmodule:: (\S+)\n.*?\n\n((?:   \w+\n)+)```", PAGES["docs/api.md"], re.DOTALL
    )
    listed = {module: set() for module, _ in sections}
    for module, names in sections:
        listed[module] |= set(names.split())
    for module, names in listed.items():
        found = importlib.import_module(module)
        public = {
            name for name in getattr(found, "__all__", names)
            if not inspect.ismodule(getattr(found, name))
        } - {"__version__"}  # fmt: skip
        assert names == public, module
