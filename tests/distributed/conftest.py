"""Two clusters that pass the same tests: one within this process, and Ray on three machines where it is installed."""

import os
from functools import partial
from pathlib import Path

import pytest

from tacit.distributed import InProcessBackend, ray_cluster
from tacit.distributed.cluster import _connected

HERE, SHARED = Path(__file__).parent, {"machines", "on_cluster"}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Tests of other clusters come before those of the shared one: a process that is connected joins no other."""
    places = [place for place, item in enumerate(items) if HERE in item.path.parents]
    mine = sorted((items[place] for place in places), key=lambda item: bool(SHARED & set(item.fixturenames)))
    for place, item in zip(places, mine, strict=True):
        items[place] = item


@pytest.fixture(params=["in process", "ray"])
def on_cluster(request):
    """The context of a cluster of three machines."""
    if request.param == "in process":
        return InProcessBackend(3).used
    return partial(ray_cluster, request.getfixturevalue("machines").address)


@pytest.fixture(scope="session")
def machines():
    """Three machines on the loopback address; the first one is not lost, one of the others may be.

    The process is connected all the time, which saves starting workers anew; only `ray_cluster` makes use of it.
    """
    pytest.importorskip("ray", reason="needs tacit-rank[ray]")
    from ray.cluster_utils import Cluster

    before = dict(os.environ)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"node_ip_address": "127.0.0.1", "include_dashboard": False})
    for _ in range(2):
        made.add_node(wait=False, node_ip_address="127.0.0.1")
    made.wait_for_nodes()
    try:
        with _connected(made.address):
            yield made
    finally:
        made.shutdown()
        os.environ.clear()
        os.environ.update(before)
