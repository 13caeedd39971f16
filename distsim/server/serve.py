"""Listening: the socket first, so that what is wrong with it is said in one line, then the application."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Callable

import uvicorn

from distsim.errors import InputError
from distsim.server.app import create_app
from distsim.server.auth import is_loopback
from distsim.server.settings import Settings

BACKLOG, MOST_CONNECTIONS = 128, 512
LEAVE_S = 5  # for requests that are being answered when the server ends
LOGGING = {
    "version": 1, "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {name: {"handlers": ["stderr"], "level": level, "propagate": False}
                for name, level in (("uvicorn", "WARNING"), ("distsim.server", "INFO"))},
}


def serve(settings: Settings, port: int, say: Callable[[str], None]) -> None:
    """Serves until Ctrl-C or SIGTERM. port : 0 takes a free one. say : told where it listens.

    Raises InputError for a host or port that cannot be had, a host beyond loopback without a token, and a runs
    directory that another server has.
    """
    listening = bound(settings.host, port)
    address, number = listening.getsockname()[:2]
    if not settings.token and not is_loopback(address):
        listening.close()
        raise InputError(f"{settings.host} can be reached from other machines, so a token is needed: set "
                         "DISTSIM_API_TOKEN", where="--host")
    try:
        listening.listen(BACKLOG)
        app = create_app(settings)
    except BaseException:
        listening.close()
        raise
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    say(f"distsim: serving {settings.runs_dir} at http://{shown}:{number} "
        f"({'a token is needed' if settings.token else 'no token'}; Ctrl-C ends)")
    config = uvicorn.Config(app, log_config=LOGGING, access_log=False, server_header=False, backlog=BACKLOG,
                            limit_concurrency=MOST_CONNECTIONS, timeout_graceful_shutdown=LEAVE_S, ws="none")
    with contextlib.suppress(KeyboardInterrupt), listening:
        uvicorn.Server(config).run(sockets=[listening])
    live = len(app.state.context.jobs.live())
    if live:
        say(f"distsim: {live} simulation{'s go' if live > 1 else ' goes'} on; the next server finds "
            f"{'them' if live > 1 else 'it'}")


def bound(host: str, port: int) -> socket.socket:
    """A socket that is bound; InputError in one line when it cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM,
                                                                flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        said = getattr(error, "strerror", None) or "not a host name"
        raise InputError(f"cannot listen on {host!r}: {said}", where="--host") from None
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        found.close()
        hint = "; choose another one, or 0 for any" if error.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        where = "--host" if error.errno == errno.EADDRNOTAVAIL else "--port"
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror}{hint}", where=where) from None
    return found
