"""docs/reference.md says what the installed schema says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reference import reference

if TYPE_CHECKING:
    from conftest import Connect

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"


def test_the_reference_is_fresh(connect: Connect) -> None:
    assert PAGE.read_text() == reference(connect()), "run make reference"
