from tacit.distributed.backend import Backend as Backend
from tacit.distributed.backend import Owner as Owner
from tacit.distributed.backend import OwnerLostError as OwnerLostError
from tacit.distributed.cluster import ray_cluster as ray_cluster
from tacit.distributed.in_process import InProcessBackend as InProcessBackend
from tacit.distributed.search import spread_items as spread_items
