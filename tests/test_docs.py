"""Pages: what they show is what happens, and their links lead to files."""

import doctest
import os
import re
from pathlib import Path
from unittest import mock

import pytest

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
