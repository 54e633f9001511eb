from tacit.judge.fuse.engines.base import Engine as Engine
from tacit.judge.fuse.engines.registry import ENGINES as ENGINES
from tacit.judge.fuse.engines.registry import engine_of as engine_of
from tacit.judge.fuse.engines.registry import export as export
