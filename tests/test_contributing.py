"""The method that CONTRIBUTING.md adds works when it is copied literally."""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
from pathlib import Path

from breathcast.checks import check_method

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def test_the_example_method_passes_the_conformance_suite(tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    file = tmp_path / "recent_mean.py"
    file.write_text(textwrap.dedent(found.group(1)), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("recent_mean", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["recent_mean"] = module  # pickle looks classes up by name
    try:
        spec.loader.exec_module(module)
        check_method(module.RecentMean(training=3.0))
    finally:
        del sys.modules["recent_mean"]
