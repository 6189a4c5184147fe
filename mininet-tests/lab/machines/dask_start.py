# SPDX-License-Identifier: GPL-2.0
"""Dask's own clusters, by what a cluster file says. Dask is an extra: it is imported when it is used."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from ..model.plain import plain
from ..store.engine import EngineError
from .cluster_file import ClusterFile

# To reach a scheduler that is there; one on another machine takes no longer.
CONNECT_S = 20
# A guest's memory and its emulator's, beside a worker of 200 MB.
GUEST_MIB = 1536
WORKER_MIB = 512
LOOPBACK = "127.0.0.1"


def needed(kind: str) -> None:
    """EngineError says how to have Dask, or what it needs for a kind of cluster."""
    extras = {"kubernetes": ("dask_kubernetes", "--kubernetes"), "slurm": ("dask_jobqueue", "--cluster")}
    for package, option in (("distributed", "--cluster"), *([extras[kind]] if kind in extras else [])):
        if importlib.util.find_spec(package) is None:
            raise EngineError(f"--on: {package} is not installed: scripts/bootstrap {option}")


def quiet() -> None:
    """Dask logs each lost connection with where in its code that was; what it means is said by the sweep."""
    for name in ("distributed", "tornado", "asyncio", "asyncssh"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextlib.contextmanager
def connected(cluster: ClusterFile) -> Iterator[Any]:
    """A client of the cluster's scheduler, which is started unless it is there; EngineError says why there is none."""
    needed(cluster.kind)
    import distributed

    quiet()
    with contextlib.ExitStack() as stack:
        try:
            if cluster.kind == "scheduler":
                client = distributed.Client(cluster.address, timeout=CONNECT_S, set_as_default=False)
            else:
                started = stack.enter_context(_started(cluster))
                client = distributed.Client(started, timeout=CONNECT_S, set_as_default=False)
        except Exception as error:
            # whatever Dask, ssh, or a batch system has to say of it
            what = (
                f"{cluster.name}: scheduler {cluster.address}: cannot be reached" if cluster.address else cluster.name
            )
            raise EngineError(f"{what}: {_first_line(error)}") from None
        stack.callback(_leave, client)
        yield client


def _leave(client: Any) -> None:
    # of a scheduler that is gone there is nothing to take leave of
    with contextlib.suppress(Exception):
        client.close(timeout=2)


def _first_line(error: BaseException) -> str:
    """What it comes from, where it says so."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(plain((str(error).strip().splitlines() or [type(error).__name__])[0]))


@contextlib.contextmanager
def _started(cluster: ClusterFile) -> Iterator[Any]:
    """A cluster that ends with the sweep."""
    with tempfile.TemporaryDirectory(prefix="pktpair-dask-", ignore_cleanup_errors=True) as folder:
        one = {"local": _local, "ssh": _ssh, "slurm": _slurm, "kubernetes": _kubernetes}[cluster.kind](cluster, folder)
        try:
            yield one
        finally:
            with contextlib.suppress(Exception):
                one.close(timeout=10)


def _local(cluster: ClusterFile, folder: str) -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        **{
            "n_workers": cluster.workers,
            "threads_per_worker": cluster.guests,
            "host": LOOPBACK,
            "dashboard_address": f"{LOOPBACK}:0",
            "local_directory": folder,
            **cluster.options,
        }
    )


def _ssh(cluster: ClusterFile, folder: str) -> Any:
    from distributed import SSHCluster

    options = dict(cluster.options)
    of_workers = {"nthreads": cluster.guests, **options.pop("worker_options", {})}
    return SSHCluster(
        list(cluster.hosts),
        **{"remote_python": cluster.python or sys.executable, "worker_options": of_workers, **options},
    )


def _slurm(cluster: ClusterFile, folder: str) -> Any:
    from dask_jobqueue import SLURMCluster

    one = SLURMCluster(
        **{
            "cores": cluster.guests,
            "processes": 1,
            "memory": f"{cluster.guests * GUEST_MIB + WORKER_MIB}MiB",
            "python": cluster.python or sys.executable,
            **cluster.options,
        }
    )
    one.scale(jobs=cluster.workers)
    return one


def _kubernetes(cluster: ClusterFile, folder: str) -> Any:
    # the module is there with the extra only
    operator = importlib.import_module("dask_kubernetes.operator")
    memory = f"{cluster.guests * GUEST_MIB + WORKER_MIB}Mi"
    limits = {"cpu": str(cluster.guests), "memory": memory}
    return operator.KubeCluster(
        **{
            # dask-kubernetes fills in both, and hands over a cluster that has the same name
            "name": "pktpair-{user}-{uuid}",
            "image": cluster.image,
            "n_workers": cluster.workers,
            # a worker takes as many runs as it has CPUs
            "resources": {"limits": limits, "requests": limits},
            **cluster.options,
        }
    )
