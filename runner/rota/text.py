"""Making Python's values storable: JSON that jsonb takes, text that text takes."""

from __future__ import annotations

import json
import re
import traceback
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# To give: dicts, lists and tuples; to get: dicts and lists.
Json: TypeAlias = (
    "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"
)

# json.dumps would make one for each call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
MAX_ERROR_CHARACTERS = 16_000
_NUL = "\\u0000"
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


_decode = json.JSONDecoder().raw_decode


class NotJson(ValueError):
    """A value that the database could not store as JSON; the message says why."""


def json_text(value: object) -> str:
    """Return the value as JSON text that jsonb accepts.

    Raises NotJson for what JSON has no word for (a set, bytes, an instant, NaN) and
    for the strings PostgreSQL cannot hold (with NUL or a lone surrogate).
    """
    try:
        text = _ENCODER.encode(value)
        text.encode()
    except UnicodeEncodeError as error:
        raise NotJson("a string holds a lone surrogate") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(storable(str(error))) from error
    if _NUL in text and _ESCAPED_NUL.search(text):
        raise NotJson("a string holds the character NUL")
    return text


def read_json(text: str) -> Json:
    """Return the value of JSON text as PostgreSQL writes it: with no space around.

    Raises ValueError or RecursionError for what Python cannot hold.
    """
    value: Json = _decode(text)[0]
    return value


def storable(text: str, limit: int = MAX_ERROR_CHARACTERS) -> str:
    """Return the text without what PostgreSQL cannot hold, its middle cut out if long.

    NUL becomes U+FFFD, a lone surrogate a question mark.
    """
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    text = text.encode(errors="replace").decode()
    if len(text) > limit:
        head = limit // 4
        text = f"{text[:head]}\n[…]\n{text[len(text) - (limit - head - 5) :]}"
    return text


def traceback_text(error: BaseException) -> str:
    """Return the traceback as storable text, even of an error that cannot be shown.

    It begins below the frame that caught the error.
    """
    trace = error.__traceback__ and error.__traceback__.tb_next
    try:
        lines = traceback.format_exception(type(error), error, trace)
        return storable("".join(lines).strip())
    except Exception:  # noqa: BLE001 - the error's own code runs here
        return storable(type(error).__name__)
