"""The proxy's own certificate authority, and the bundles that trust it.

It lives in cachediag's data directory, so that a CA the user has made for mitmproxy, and may have
installed, is neither used nor touched.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["CA_NAME", "child_trust", "prepare", "upstream_trust"]

CA_NAME = "mitmproxy-ca-cert.pem"

_KEY_SIZE = 2048


def prepare(confdir: Path) -> Path:
    """Make the directory with the CA, if it is not there yet.

    Two recorders may do so at the same time, so the directory is made beside its place and moved
    there whole.

    Args:
        confdir: mitmproxy's `confdir`; only its owner can read it.

    Returns:
        The CA's certificate, in PEM.
    """
    certificate = confdir / CA_NAME
    if certificate.exists():
        return certificate
    from mitmproxy.certs import CertStore

    confdir.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(prefix=f"{confdir.name}-", dir=confdir.parent))
    try:
        CertStore.create_store(
            made, "mitmproxy", _KEY_SIZE, cn="cachediag", organization="cachediag"
        )
        made.rename(confdir)
    except OSError:
        if not certificate.exists():
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return certificate


def upstream_trust(confdir: Path, environ: Mapping[str, str]) -> str:
    """Give the certificates that an https upstream is verified with: those the client would use.

    Args:
        confdir: where a bundle is written, if several files have to be joined.
        environ: `SSL_CERT_FILE` or `REQUESTS_CA_BUNDLE` takes the place of the public CAs,
            `NODE_EXTRA_CA_CERTS` is added to them.

    Returns:
        Path of a PEM file.
    """
    base = _base(environ)
    extra = _file(environ, "NODE_EXTRA_CA_CERTS")
    return str(_joined(confdir / "upstream-trust.pem", base, extra) if extra else base)


def child_trust(confdir: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Give the variables that make a client trust this CA beside what it trusts already.

    Args:
        confdir: as made by `prepare`; bundles are written there.
        environ: the environment that the client would have had.
    """
    certificate = confdir / CA_NAME
    extra = _file(environ, "NODE_EXTRA_CA_CERTS")
    bundle = str(_joined(confdir / "child-trust.pem", _base(environ), certificate))
    return {
        "NODE_EXTRA_CA_CERTS": str(
            _joined(confdir / "node-extra.pem", extra, certificate) if extra else certificate
        ),
        "SSL_CERT_FILE": bundle,
        "REQUESTS_CA_BUNDLE": bundle,
        "CURL_CA_BUNDLE": bundle,
    }


def _base(environ: Mapping[str, str]) -> Path:
    import certifi

    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        if path := _file(environ, name):
            return path
    return Path(certifi.where())


def _file(environ: Mapping[str, str], name: str) -> Path | None:
    value = environ.get(name)
    return Path(value) if value and Path(value).is_file() else None


def _joined(target: Path, *parts: Path) -> Path:
    """Write several PEM files as one, in a step that a reader cannot see half of."""
    handle, name = tempfile.mkstemp(prefix=f"{target.name}-", dir=target.parent)
    with os.fdopen(handle, "wb") as file:
        for part in parts:
            file.write(part.read_bytes().rstrip() + b"\n")
    return Path(name).replace(target)
