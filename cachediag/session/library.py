"""Where recordings live, what they are called, and how one is found again."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import platformdirs

from cachediag.errors import SessionError, UsageError
from cachediag.session.schema import APPLICATION_ID, SUFFIX, last_written, read_header
from cachediag.words import did_you_mean

__all__ = ["new_path", "newest", "recorded", "register", "replacing", "resolve", "sessions_dir"]

_EPOCH = 0


def sessions_dir() -> Path:
    """Return the directory of the recordings; it need not exist.

    It is `$CACHEDIAG_HOME/sessions`, or else `sessions` in the user's data directory.
    """
    home = os.environ.get("CACHEDIAG_HOME")
    base = Path(home).expanduser() if home else platformdirs.user_data_path("cachediag")
    return base / "sessions"


def new_path(now: datetime) -> Path:
    """Reserve a file for a new recording, named after the local time.

    The file is made empty and of mode 0600, so that no other recorder of the same minute takes
    the name; `Session.create` fills it.

    Args:
        now: the time to name it after; a time with a zone is turned into local time.

    Raises:
        SessionError: the directory or the file cannot be made.
    """
    local = now.astimezone() if now.tzinfo else now
    stem = local.strftime("%Y-%m-%d-%H%M")
    directory = _made(sessions_dir())
    number = 1
    while True:
        path = directory / f"{stem}{'' if number == 1 else f'-{number}'}{SUFFIX}"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            number += 1
        except OSError as error:
            raise _unusable(path, error) from error
        else:
            return path


def register(path: Path) -> Path:
    """Make a session recorded elsewhere known by its name, with a link to it.

    Returns:
        The link, or `path` itself where it already lies among the recordings.

    Raises:
        SessionError: the link cannot be made.
    """
    target = path.resolve()
    directory = _made(sessions_dir())
    if target.parent == directory.resolve():
        return target
    stem = target.name.removesuffix(SUFFIX)
    number = 1
    while True:
        link = directory / f"{stem}{'' if number == 1 else f'-{number}'}{SUFFIX}"
        if link.is_symlink() and (link.resolve() == target or not link.exists()):
            link.unlink(missing_ok=True)  # ours, or of a session that is gone
        try:
            link.symlink_to(target)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise _unusable(link, error) from error
        else:
            return link


@contextmanager
def replacing(name: str) -> Iterator[tuple[Path, Path]]:
    """Record a session anew under a name that stays the same.

    Once the block has ended well, the new session stands in the place of the one that this
    function made before; a session of the user's that has the name keeps it. The new session is
    dated back to the epoch: where a command takes the newest recording, the user's come first.

    Yields:
        The file to record into, and the file that it will be.

    Raises:
        SessionError: the directory or a file cannot be made.
    """
    directory = _made(sessions_dir())
    place = _own(directory, name)
    try:
        made = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=directory))
    except OSError as error:
        raise _unusable(directory, error) from error
    try:
        yield made / place.name, place
        _put(made / place.name, place)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _put(path: Path, place: Path) -> None:
    try:
        os.utime(path, ns=(_EPOCH, _EPOCH))
        for log in (f"{place.name}-wal", f"{place.name}-shm"):
            # SQLite would take it for the new session's.
            place.with_name(log).unlink(missing_ok=True)
        path.replace(place)
    except OSError as error:
        raise _unusable(place, error) from error


def _own(directory: Path, name: str) -> Path:
    """The first numbered place for a name that is free, or was taken by `replacing`."""
    number = 1
    while True:
        path = directory / f"{name}{'' if number == 1 else f'-{number}'}{SUFFIX}"
        if not path.is_symlink() and (not path.exists() or last_written(path) == _EPOCH):
            return path
        number += 1


def recorded() -> list[Path]:
    """Return the recorded sessions, the one last written first.

    Links whose session is gone, and whatever is not a session, are passed over.
    """
    try:
        entries = list(sessions_dir().iterdir())
    except OSError:
        return []
    written: dict[Path, int] = {}
    for entry in entries:
        if entry.name.endswith(SUFFIX):
            try:
                header = read_header(entry)
                if header is not None and header[0] == APPLICATION_ID:
                    target = entry.resolve()
                    written[target] = last_written(target)
            except (OSError, SessionError):
                continue
    return sorted(written, key=lambda path: (written[path], path.name), reverse=True)


def newest() -> Path:
    """Return the session last written.

    Raises:
        UsageError: none has been recorded.
    """
    paths = recorded()
    if not paths:
        raise UsageError(
            "no session has been recorded yet", remedy="Record one: cachediag record -- claude"
        )
    return paths[0]


def resolve(name_or_path: str | Path) -> Path:
    """Return the file that is meant by a path, or by a recorded session's name.

    A file or directory that exists comes before a recorded session of the same name; the suffix
    of a name may be left out.

    Raises:
        UsageError: there is neither.
    """
    path = Path(name_or_path)
    if path.exists():
        return path
    if path.name == str(name_or_path):
        for name in (path.name, path.name + SUFFIX):
            entry = sessions_dir() / name
            if entry.exists() and name.endswith(SUFFIX):
                return entry.resolve()
    given = str(name_or_path)
    meant = did_you_mean(given, [path.stem for path in recorded()])
    raise UsageError(
        "no such file, and no recorded session of that name",
        where=given,
        remedy=f"{meant}List what has been recorded: cachediag sessions",
    )


def _made(directory: Path) -> Path:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(directory, error) from error
    return directory


def _unusable(path: Path, error: OSError) -> SessionError:
    return SessionError(
        f"cannot be made ({error.strerror})",
        where=str(path),
        remedy="Set CACHEDIAG_HOME to a directory that can be written",
    )
