"""Parts of bodies of requests and answers, named as documented (scala-computing/docs, api-reference); what is ours is
marked so in its description."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MOST_TITLE = 200
Title = Annotated[str, Field(min_length=1, max_length=MOST_TITLE, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Answer(BaseModel):
    """An answer; fields that are not known are left out."""

    model_config = ConfigDict(extra="allow")


class Asked(BaseModel):
    """A body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Answer):
    """What went wrong."""

    code: str
    message: str
    line: int | None = Field(None, description="Ours: line of the configuration's text, from 1.")


class ErrorBody(Answer):
    """The body of every error."""

    error: ErrorDetail


class Pagination(Answer):
    """Where a list goes on."""

    count: int
    hasMore: bool
    nextCursor: str | None = None
