import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import certifi
import trustme

from cachediag.capture import ca


def subjects(file: str | Path) -> list[str]:
    context = ssl.create_default_context(cafile=str(file))
    certificates: list[Any] = context.get_ca_certs()
    names: list[dict[str, str]] = [
        dict(part[0] for part in each["subject"]) for each in certificates
    ]
    return [name.get("commonName", name.get("organizationName", "")) for name in names]


def test_the_ca_is_made_once_and_only_its_owner_reads_it(tmp_path):
    confdir = tmp_path / "data" / "mitmproxy"
    certificate = ca.prepare(confdir)
    made = certificate.read_bytes()
    assert subjects(certificate) == ["cachediag"]
    assert confdir.stat().st_mode & 0o777 == 0o700
    assert (confdir / "mitmproxy-ca.pem").stat().st_mode & 0o777 == 0o600
    assert ca.prepare(confdir).read_bytes() == made


def test_two_recorders_that_start_together_make_one_ca(tmp_path):
    confdir = tmp_path / "mitmproxy"
    with ThreadPoolExecutor(4) as pool:
        made = {path.read_bytes() for path in pool.map(lambda _: ca.prepare(confdir), range(4))}
    assert len(made) == 1
    # Key and certificate belong together, and nothing is left beside them.
    key = (confdir / "mitmproxy-ca.pem").read_bytes()
    assert made.pop() in key
    assert list(tmp_path.iterdir()) == [confdir]


def written(path: Path, name: str) -> str:
    trustme.CA(organization_name=name).cert_pem.write_to_path(str(path))
    return str(path)


def test_a_client_trusts_what_it_did_and_the_ca_beside_it(tmp_path):
    confdir = tmp_path / "mitmproxy"
    mine = ca.prepare(confdir)
    public = subjects(certifi.where())
    trust = ca.child_trust(confdir, {})
    assert trust["NODE_EXTRA_CA_CERTS"] == str(mine)
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        assert sorted(subjects(trust[name])) == sorted([*public, "cachediag"])


def test_a_client_s_own_bundles_are_carried_over(tmp_path):
    confdir = tmp_path / "mitmproxy"
    ca.prepare(confdir)
    environ = {
        "SSL_CERT_FILE": written(tmp_path / "a.pem", "office"),
        "NODE_EXTRA_CA_CERTS": written(tmp_path / "b.pem", "extra"),
    }
    trust = ca.child_trust(confdir, environ)
    assert subjects(trust["SSL_CERT_FILE"]) == ["office", "cachediag"]
    assert subjects(trust["NODE_EXTRA_CA_CERTS"]) == ["extra", "cachediag"]


def test_an_upstream_is_verified_as_the_client_would(tmp_path):
    confdir = tmp_path / "mitmproxy"
    ca.prepare(confdir)
    office, extra = written(tmp_path / "a.pem", "office"), written(tmp_path / "b.pem", "extra")
    assert ca.upstream_trust(confdir, {}) == certifi.where()
    assert ca.upstream_trust(confdir, {"SSL_CERT_FILE": office}) == office
    assert ca.upstream_trust(confdir, {"REQUESTS_CA_BUNDLE": office}) == office
    assert ca.upstream_trust(confdir, {"SSL_CERT_FILE": "/no/such/file"}) == certifi.where()
    both = {"SSL_CERT_FILE": office, "NODE_EXTRA_CA_CERTS": extra}
    assert subjects(ca.upstream_trust(confdir, both)) == ["office", "extra"]
