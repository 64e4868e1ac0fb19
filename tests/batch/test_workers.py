"""Dask's workers: the same results however many there are and whatever becomes of them."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from distributed import Client, LocalCluster, Worker

from cachediag.batch import workers
from cachediag.batch.model import Counted, Failed, Named, Outcome, Settings
from cachediag.batch.run import analyse_all
from cachediag.batch.workers import joined, local, outcomes
from cachediag.batch.writing import RowFile
from cachediag.errors import UpstreamError
from tests.batch import material
from tests.batch.material import stored

SETTINGS = Settings(profile="vllm-mlx@0.2.6", with_rows=True)
COUNT = 9


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with local(2) as client:
        yield client


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[Named]:
    """Nine sessions, the fifth of which is not there."""
    directory = tmp_path_factory.mktemp("sessions")
    made = stored(directory, COUNT)
    made[4] = Named("gone", str(directory / "gone.cachediag"))
    return made


@pytest.fixture(scope="module")
def alone(sessions: list[Named], tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list]:
    """What one process makes of them: the file and the outcomes."""
    path = tmp_path_factory.mktemp("alone") / "rows.parquet"
    return written(path, analyse_all(sessions, SETTINGS))


def written(path: Path, found: Iterator[Outcome]) -> tuple[bytes, list[Outcome]]:
    kept = []
    with RowFile(path, group_rows=4) as file:
        for outcome in found:
            file.add(outcome)
            kept.append(outcome)
    return path.read_bytes(), kept


def on(
    monkeypatch: pytest.MonkeyPatch,
    worker: Callable[[Sequence[Named], Settings], list[Outcome]],
) -> None:
    monkeypatch.setattr(workers, "_on_worker", worker)


def test_two_workers_write_what_one_process_writes(
    client: Client, sessions: list[Named], alone: tuple[bytes, list], tmp_path: Path
) -> None:
    told: list[Outcome] = []
    content, found = written(
        tmp_path / "a.parquet", outcomes(client, sessions, SETTINGS, told.append)
    )
    assert content == alone[0]
    assert found == alone[1]
    assert [type(each) for each in found] == [Counted] * 4 + [Failed] + [Counted] * 4
    assert sorted(each.label for each in told) == sorted(each.label for each in found)


def test_a_worker_that_is_killed_in_mid_run_changes_nothing(
    client: Client,
    sessions: list[Named],
    alone: tuple[bytes, list],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on(monkeypatch, material.slow)
    pids = list(client.run(os.getpid).values())
    assert len(set(pids)) == 2

    def kill(_: Outcome) -> None:
        if pids:
            os.kill(pids.pop(), signal.SIGKILL)

    content, found = written(tmp_path / "a.parquet", outcomes(client, sessions, SETTINGS, kill))
    assert pids == []
    assert content == alone[0]
    assert found == alone[1]


def test_a_session_that_ends_its_workers_is_reported_and_no_other_is_blamed(
    client: Client,
    sessions: list[Named],
    alone: tuple[bytes, list],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is there twice: handed out by itself, and with another."""
    on(monkeypatch, material.deadly)
    monkeypatch.setattr(workers, "_TASK_SECONDS", 1e9)
    found = list(outcomes(client, sessions * 2, SETTINGS))
    assert found[1] == Failed(
        "1",
        "its analysis ended every worker that tried",
        "Analyse it alone to see why; it may need more memory than there is",
    )
    assert found == [*alone[1][:1], found[1], *alone[1][2:]] * 2


def test_workers_that_dask_gives_up_are_replaced(
    client: Client, sessions: list[Named], alone: tuple[bytes, list]
) -> None:
    cluster = client.cluster
    assert isinstance(cluster, LocalCluster)
    given_up = list(cluster.workers.values())
    for nanny in given_up:
        cluster.sync(nanny.close)
    assert list(outcomes(client, sessions, SETTINGS)) == alone[1]
    client.wait_for_workers(2)
    assert not set(given_up) & set(cluster.workers.values())


def test_sessions_that_take_little_are_handed_out_together_and_fewer_towards_the_end(
    client: Client,
    sessions: list[Named],
    alone: tuple[bytes, list],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client.wait_for_workers(2)
    sent: list[list[str]] = []
    submit = client.submit

    def noted(
        work: Callable[..., object], some: list[Named], *rest: object, **options: object
    ) -> object:
        sent.append([each.label for each in some])
        return submit(work, some, *rest, **options)

    monkeypatch.setattr(client, "submit", noted)
    monkeypatch.setattr(workers, "_TASK_SECONDS", 1e9)
    assert list(outcomes(client, sessions * 2, SETTINGS)) == alone[1] * 2
    assert [len(labels) for labels in sent] == [1, 1, 4, 3, 2, *[1] * 7]
    assert [label for labels in sent for label in labels] == [named.label for named in sessions * 2]


def test_only_this_machine_can_reach_them_and_only_with_the_certificate(client: Client) -> None:
    me = psutil.Process()
    pids = {me.pid, *client.run(os.getpid).values()}
    heard = [
        connection.laddr.ip
        for process in [me, *me.children(recursive=True)]
        if process.pid in pids
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(heard) >= 3
    assert set(heard) == {"127.0.0.1"}
    address = client.scheduler_info()["address"]
    assert address.startswith("tls://127.0.0.1:")
    assert all(each.startswith("tls://127.0.0.1:") for each in client.nthreads())
    stranger = joined(address.replace("tls://", "tcp://"))
    with pytest.raises(UpstreamError, match="no Dask scheduler answers"), stranger:
        pass


def test_a_session_of_a_store_is_fetched_where_the_worker_keeps_what_is_its_own(
    client: Client, sessions: list[Named]
) -> None:
    remote = [Named(each.label, f"local://{each.address}", is_remote=True) for each in sessions]
    found = list(outcomes(client, remote, Settings()))
    local_ones = list(analyse_all(sessions, Settings()))
    assert [*found[:4], *found[5:]] == [*local_ones[:4], *local_ones[5:]]
    assert found[4] == Failed(
        "gone",
        "cannot be fetched (there is no such object)",
        "Look at the address, and at the store's own settings for credentials",
    )
    left = [
        file
        for directory in client.run(_worker_directory).values()
        for file in Path(directory).rglob("cachediag-*")
    ]
    assert left == []


def _worker_directory(dask_worker: Worker) -> str:
    return str(dask_worker.local_directory)


def test_nothing_stays_once_they_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with local(1) as client:
        (pid,) = client.run(os.getpid).values()
        (scratch,) = tmp_path.glob("cachediag-*")
        assert scratch.stat().st_mode & 0o777 == 0o700
        (directory,) = client.run(_worker_directory).values()
        assert Path(directory).is_relative_to(scratch)
        # What a library of theirs puts aside goes with it as well, if they are killed.
        (aside,) = client.run(tempfile.gettempdir).values()
        assert Path(aside) == scratch
        # Ctrl-C in a terminal reaches them too, and is not for them.
        os.kill(pid, signal.SIGINT)
        assert client.submit(os.getpid, pure=False).result() == pid
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert list(tmp_path.glob("cachediag-*")) == []


def test_a_cluster_that_is_there_does_the_work_and_stays(
    sessions: list[Named], alone: tuple[bytes, list], tmp_path: Path
) -> None:
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address="127.0.0.1:0",
        silence_logs=100,
    ) as cluster:
        address = cluster.scheduler_address
        found = analyse_all(sessions, SETTINGS, cluster=address)
        content, _ = written(tmp_path / "a.parquet", found)
        assert content == alone[0]
        with joined(address) as client:
            assert sum(client.nthreads().values()) == 2


def test_an_address_where_no_scheduler_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_CONNECT_SECONDS", 1)
    for address in ("127.0.0.1:9", "nonsense://x"):
        with (
            pytest.raises(UpstreamError, match="no Dask scheduler answers") as raised,
            joined(address),
        ):
            pass
        assert raised.value.where == f"--dask {address}"
