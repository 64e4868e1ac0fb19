"""Made-up installations: directories of packages with an engine of a few lines."""

from hashlib import sha256
from pathlib import Path

from cachediag.fix.patch import Installation, Release, at_site

__all__ = ["ENGINE", "KNOWN", "NEWER", "installed", "sums"]

ENGINE = (
    b"import logging\nlogger = logging.getLogger(__name__)\n\n\nclass SimpleEngine:\n    pass\n"
)
NEWER = ENGINE + b"# With a cache of its own.\n"
KNOWN = (
    Release("1.0.0", sha256(ENGINE).hexdigest(), "none", ("Nothing is kept.",)),
    Release("2.0.0", sha256(NEWER).hexdigest(), "system", ("Only a little is kept.",)),
)


def installed(
    directory: Path, content: bytes = ENGINE, version: str | None = "1.0.0"
) -> Installation:
    """An installation of a release that is in `KNOWN`, or of any other content."""
    engine = directory / "vllm_mlx" / "engine"
    engine.mkdir(parents=True)
    (engine / "simple.py").write_bytes(content)
    (engine / "base.py").write_text("# beside it\n")
    if version is not None:
        metadata = directory / f"vllm_mlx-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.4\nName: vllm-mlx\nVersion: {version}\n\nText\n")
    return at_site(directory)


def sums(directory: Path) -> dict[str, str]:
    """Every file below a directory, and its SHA-256."""
    return {
        str(path.relative_to(directory)): sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file()
    }
