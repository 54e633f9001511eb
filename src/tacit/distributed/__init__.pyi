from tacit.distributed.cluster import ray_cluster as ray_cluster
from tacit.distributed.search import spread_items as spread_items
