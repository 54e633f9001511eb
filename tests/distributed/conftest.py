"""A cluster of three machines that the tests share; the last test of `test_training.py` loses one of them."""

import os

import pytest

from tacit.distributed.cluster import _connected


@pytest.fixture(scope="session")
def cluster():
    """Three machines on the loopback address; the first one is not lost.

    The process is connected all the time, which saves starting workers anew; only `ray_cluster` makes use of it.
    """
    pytest.importorskip("ray", reason="needs tacit[ray]")
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
