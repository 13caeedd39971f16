"""The files that signed links lead to; whoever has a link may use it until it expires."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from io import FileIO
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from distsim.server.context import Here
from distsim.server.errors import ApiError, not_found
from distsim.server.links import COMPUTED, FILES, PREFIX
from distsim.server.paths import SIMULATION_ID, check_run, checked_id, checked_name, open_file
from distsim.server.routes_common import errors
from distsim.server.routes_results import content_type

router = APIRouter(prefix=PREFIX, tags=["Downloads"])
CHUNK = 1 << 18
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_BYTES = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


@router.get("/{sim_id}/{kind}/{name:path}", response_class=StreamingResponse,
            responses={200: {"description": "The file's bytes", **_BYTES},
                       206: {"description": "A part of them", **_BYTES}, **errors(404, 416)})
def download(here: Here, sim_id: str, kind: str, name: str,
             expires: Annotated[str, Query(max_length=20)], signature: Annotated[str, Query(max_length=100)],
             wanted: Annotated[str | None, Header(alias="Range", description="One range of bytes.")] = None
             ) -> StreamingResponse:
    """A file of a simulation, by a link that the server made. Of a file that still grows, what is there now."""
    here.links.check(kind, sim_id, name, expires, signature)
    checked_id(sim_id, SIMULATION_ID, "simulation")
    file = open(_opened(here, sim_id, kind, name), "rb", buffering=0)  # noqa: SIM115 - closed when it was sent
    size = os.fstat(file.fileno()).st_size
    begin, end = _span(wanted, size)
    headers = {"Content-Length": str(end - begin), "Accept-Ranges": "bytes", "Cache-Control": "private, no-store",
               "Content-Disposition": f"attachment; filename*=UTF-8''{quote(os.path.basename(name))}"}
    if wanted is not None and (begin, end) != (0, size):
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
    return StreamingResponse(_chunks(file, begin, end), 206 if "Content-Range" in headers else 200, headers,
                             media_type=content_type(name))


def _opened(here: Here, sim_id: str, kind: str, name: str) -> int:
    parts = checked_name(name)
    if kind == COMPUTED:
        folder = here.computed.folder(sim_id)
        if not folder.is_dir():
            raise not_found("File")
        return open_file(folder, parts)
    if kind != FILES:
        raise not_found("File")
    simulation = here.simulations.get(sim_id)
    if not simulation.directory.is_dir():
        raise not_found("File")
    check_run(simulation.directory, here.settings.runs_dir)
    return open_file(simulation.directory, parts)


def _span(wanted: str | None, size: int) -> tuple[int, int]:
    """First byte and the one after the last; all for no range, and for what is none (RFC 9110, 14.2). 416 for one that
    lies outside."""
    match = _RANGE.fullmatch(wanted.strip()) if wanted is not None else None
    if match is None or match[0] == "bytes=-":
        return 0, size
    first, last = match[1], match[2]
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if begin >= end:
        raise ApiError(416, "the range lies outside the file", {"Content-Range": f"bytes */{size}"})
    return begin, end


def _chunks(file: FileIO, begin: int, end: int) -> Iterator[bytes]:
    """The bytes from `begin` to `end`; closes the file."""
    with file:
        file.seek(begin)
        left = end - begin
        while left > 0 and (data := file.read(min(CHUNK, left))):
            left -= len(data)
            yield data
