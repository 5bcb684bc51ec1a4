"""The database does what the model says, whatever is asked of it in whatever order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from model_machine import Database, History

if TYPE_CHECKING:
    from conftest import Connect

IS_LONG = settings.get_current_profile_name() == "long"


@pytest.mark.timeout(0 if IS_LONG else 900)
def test_every_history_is_one_that_the_model_allows(connect: Connect) -> None:
    History.database = Database(connect)
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=settings().max_examples if IS_LONG else 60,
            derandomize=not IS_LONG,
            stateful_step_count=80,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
