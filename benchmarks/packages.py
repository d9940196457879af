"""Real packages to try jaxmigrate on: fetched as wheels into a cache, unpacked, never imported.

`python -m benchmarks.packages` fetches all of them. The cache is `.cache/packages` in the checkout, or
the folder that JAXMIGRATE_CACHE names.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Package:
    """One release of a package."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"


PACKAGES: Final = (
    Package("optax", "0.2.2"),
    Package("optax", "0.1.4"),
    Package("flax", "0.8.4"),
    Package("flax", "0.5.0"),
    Package("equinox", "0.11.4"),
    Package("equinox", "0.5.0"),
    Package("dm-haiku", "0.0.12"),
    Package("dm-haiku", "0.0.6"),
    Package("brax", "0.10.3"),
    Package("numpyro", "0.13.2"),
    Package("chex", "0.1.7"),
    Package("distrax", "0.1.2"),
    Package("rlax", "0.1.5"),
    Package("jaxopt", "0.8.3"),
    Package("blackjax", "1.0.0"),
    Package("evosax", "0.1.5"),
)
"""Code as it was written for JAX 0.2 to 0.4.28."""

_CHECKOUT: Final = Path(__file__).resolve().parent.parent
_PATIENCE_SECONDS: Final = 300
_UNREACHED: Final = ("(from versions: none)", "ReadTimeoutError", "ConnectionError")
_DOWNLOAD: Final = (
    *("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries", "1"),
    *("--no-deps", "--only-binary", ":all:", "--ignore-requires-python"),
)


class Unreachable(Exception):
    """The package is not in the cache, and the registry cannot be reached."""


def unpacked(name: str, version: str) -> Path:
    """The folder that holds the release's files as its wheel has them.

    Raises Unreachable, or CalledProcessError if pip fails for another reason. Nothing in the folder may
    be changed.
    """
    package = Package(name, version)
    folder = cache() / str(package)
    if not folder.is_dir():
        with _made_whole(folder) as place, zipfile.ZipFile(_wheel(package)) as wheel:
            wheel.extractall(place)
    return folder


def cache() -> Path:
    """The folder that holds what was fetched."""
    return Path(os.environ.get("JAXMIGRATE_CACHE") or _CHECKOUT / ".cache" / "packages").absolute()


def _wheel(package: Package) -> Path:
    wheels = cache() / "wheels" / str(package)
    if not wheels.is_dir():
        with _made_whole(wheels) as place:
            _download(package, place)
    return next(wheels.glob("*.whl"))


def _download(package: Package, place: Path) -> None:
    wanted = f"{package.name}=={package.version}"
    command = [sys.executable, *_DOWNLOAD, "--dest", os.fspath(place), wanted]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"{wanted}: no answer in {_PATIENCE_SECONDS} s") from error
    if done.returncode == 0:
        return
    if any(words in done.stderr for words in _UNREACHED):
        raise Unreachable(f"{wanted} is not in the cache, and the registry cannot be reached")
    raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)


@contextlib.contextmanager
def _made_whole(folder: Path) -> Iterator[Path]:
    """A place to fill, which becomes `folder` if all goes well; another process may be first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield place
        place.chmod(0o755)
        try:
            place.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main() -> int:
    """Fetch every package; gives the exit code."""
    missing = 0
    for package in PACKAGES:
        try:
            print(f"{package}: {unpacked(package.name, package.version)}")
        except (Unreachable, subprocess.CalledProcessError) as error:
            words = getattr(error, "stderr", None) or str(error)
            print(f"{package}: {words.strip()}", file=sys.stderr)
            missing += 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
