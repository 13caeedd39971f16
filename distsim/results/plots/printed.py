"""The figure class: drawn by Agg without a display, shown by a notebook, saved alike everywhere."""

from __future__ import annotations

import io
import os
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from distsim.errors import InputError
from distsim.results.plots.style import FORMATS, styled


class PrintedFigure(Figure):
    """A matplotlib figure that needs no pyplot and no display, and that a notebook shows as a picture."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as PNG or SVG, by the end of the name. The same figure gives the same bytes; InputError for
        another kind of file, or one that cannot be written."""
        kind = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
        if kind not in FORMATS:
            raise InputError(f"cannot write a figure as {kind or 'a file without a kind'}; valid: {', '.join(FORMATS)}",
                             file=os.fspath(path))
        picture = self.picture(kind)
        try:
            with open(path, "wb") as file:
                file.write(picture)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=os.fspath(path)) from error

    def picture(self, kind: str = "png") -> bytes:
        """The file's bytes, png or svg."""
        buffer = io.BytesIO()
        metadata = {"Date": None, "Creator": "distsim"} if kind == "svg" else {"Software": "distsim"}
        with styled():
            self.savefig(buffer, format=kind, metadata=metadata)
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        return self.picture("png")
