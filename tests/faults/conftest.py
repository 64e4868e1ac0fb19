"""What the tests of faults share."""

from collections.abc import Iterator

import pytest

from tests.faults.net import Net
from tests.faults.recorder import Recorder, recording


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    """An upstream."""
    with Net.running() as running:
        yield running


@pytest.fixture(scope="module")
def recorder(net: Net, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    """A recorder before the upstream, for all tests of a module."""
    with recording(net.url, tmp_path_factory.mktemp("recorder")) as running:
        yield running
