"""Mixed load on `tacit serve` with kills at random moments: no acknowledged change is lost, and no resource grows.

    python benchmarks/soak.py [--seconds 600] [--kills 1000] [--clients 4] [--seed 0]

Clients search, explain, judge, withdraw, import judgments, add, replace and remove documents, add, change and delete
queries, change the guidelines, train, cancel, switch versions, read event streams and send bad requests, each as fast
as it is answered. First the service is killed (SIGKILL) at random moments and started again, `--kills` times or until
Ctrl-C. After each start, everything that a client touched since the last one is read back; now and then, and in the
end, all documents of every version and all judgments. An operation that was under way at a kill may have happened or
not; one that was acknowledged must have.

Then the load runs for `--seconds` on one process, whose memory, file descriptors, threads and temporary files are
measured after a quarter of the time and at the end. The service is forked from a process that has imported it, so that
a start takes a fraction of a second. Prints one line of JSON, and exits with 1 if anything was lost, grew, returned a
status of 500 or above, or wrote a traceback.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tacit import Collection, Searcher
from tacit.judge import JudgmentStore, typed_query_id

WORDS = ["cat", "dog", "matrix", "soup", "onion", "inverse", "kitten", "purr", "boil", "salt", "rank", "fur"]
N_DOCUMENTS, N_OWN, N_QUERIES = 60, 12, 12
LONGEST = 0.5  # seconds from a start to a kill, at most
ALL_EVERY = 25  # kills between two complete comparisons
TRAIN_EVERY = 20.0  # seconds
MOST_VERSIONS = 12
MAY_GROW = {"memory_mib": 96, "descriptors": 12, "threads": 16, "temporary_files": 2}
BAD_BODIES = (
    b"{",
    b"[1" * 2000,
    b'{"query": "\\ud800"}',
    b"\xff",
    b'{"grade": 1e999}',
    b"[" + b"1," * 500 + b"1]",
)
GONE = "(none)"
Key = tuple[str, ...]


class Service:
    """A service that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.model, self.log = folder, folder / "soak.model", folder / "log"
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        environment = os.environ | {"TMPDIR": str(self.temporary), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--fork", str(self.model), str(self.log)]
        pipe = subprocess.PIPE
        self.forks = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment, start_new_session=True
        )
        self.pid, self.port = 0, 0

    def start(self) -> None:
        """Fork a service; return once it listens."""
        assert self.forks.stdin is not None
        self.forks.stdin.write("start\n")
        self.forks.stdin.flush()
        self.pid = self._said("process")
        self.port = self._said("port")

    def kill(self) -> None:
        """Kill it immediately; return when it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        self._said("ended")

    def close(self) -> None:
        """Kill it, and end the process it is forked from."""
        self.kill()
        assert self.forks.stdin is not None
        self.forks.stdin.close()
        self.forks.wait()

    def _said(self, what: str) -> int:
        assert self.forks.stdout is not None
        name, number = (self.forks.stdout.readline().split() or ["", "0"])[:2]
        if name != what:
            raise SystemExit(f"the service has ended by itself:\n{self.log.read_text()[-2000:]}")
        return int(number)

    def measured(self) -> dict[str, float]:
        """Return memory in MiB, file descriptors, threads and temporary files."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
        return {
            "memory_mib": round(int(status["VmRSS"].split()[0]) / 1024, 1),
            "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")),
            "threads": int(status["Threads"]),
            "temporary_files": len(self.leftovers()),
        }

    def leftovers(self) -> list[str]:
        """Return files of unfinished operations: in the folder of temporary files, or hidden next to the model."""
        versions = self.folder / "soak.model.versions"
        places = [place for place in (self.folder, self.model, versions) if place.exists()]
        hidden = [name for place in places for name in os.listdir(place) if name.startswith(".") or "tmp" in name]
        return [*os.listdir(self.temporary), *hidden]


def fork_services(model: str, log: str) -> int:
    """Import everything once; then fork a service for each line of standard input, and report its process and port."""
    from tacit.app.web import server

    listen = server._listen

    def listening(host: str, port: int) -> Any:
        found = listen(host, port)
        os.write(1, f"port {found.getsockname()[1]}\n".encode())
        return found

    server._listen = listening
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.write(1, f"process {os.getpid()}\n".encode())
            try:
                store, here = Path(f"{model}.judgments"), {"host": "127.0.0.1", "port": 0, "token": None}
                server.serve(Searcher.load(model), model=Path(model), store=store, **here)  # type: ignore[arg-type]
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.waitpid(child, 0)
        os.write(1, b"ended 0\n")
    return 0


class Client(threading.Thread):
    """Sends operations sequentially while `running` is set. No other client changes what it changes.

    `held` has the possible values of each key: an acknowledged one, or two after a change without a response.
    """

    def __init__(self, number: int, service: Service, seed: int) -> None:
        super().__init__(daemon=True)
        self.number, self.judge, self.service = number, f"judge{number}", service
        self.random = random.Random(f"{seed} {number}")
        self.running, self.stopped = threading.Event(), threading.Event()
        self.connection: http.client.HTTPConnection | None = None
        self.held: dict[Key, set[Any]] = {}
        self.touched: set[Key] = set()
        self.statuses: Counter[int] = Counter()
        self.changes: Counter[str] = Counter()
        self.failures: list[str] = []
        self.health: list[float] = []
        self.trained = 0.0

    def run(self) -> None:
        """Send, until the program ends."""
        ways = OPERATIONS | (OPERATOR if self.number == 0 else {})
        while True:
            self.stopped.set()
            self.running.wait()
            self.stopped.clear()
            while self.running.is_set():
                (operation,) = self.random.choices(list(ways), list(ways.values()))
                try:
                    operation(self)
                except (OSError, http.client.HTTPException):  # killed
                    self.connection = None
                    time.sleep(0.005)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and content of a response; raise what http.client raises if there is none."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=300)
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        self.connection.request(method, path, content, {"content-type": "application/json"})
        answer = self.connection.getresponse()
        data = answer.read()
        self.statuses[answer.status] += 1
        if answer.status >= 500:
            self.failures.append(f"{method} {path}: {answer.status} {data[:200]!r}")
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.status, json.loads(data) if is_json else data

    def change(self, key: Key, new: Any, method: str, path: str, body: Any = None) -> bool:
        """Make a change: its value is possible until it is acknowledged, then certain."""
        before = self.held.get(key, {GONE})
        self.held[key] = before | {new}
        self.touched.add(key)
        status, _ = self.ask(method, path, body)
        self.held[key] = {new} if status < 300 else before
        self.changes[key[0]] += status < 300
        return status < 300

    def any_query(self) -> str:
        """Return one of a few queries."""
        return " ".join(random.Random(self.random.randrange(N_QUERIES)).sample(WORDS, 2))

    def any_document(self, own: bool = False) -> str:
        """Return a document of this client, or one that is never removed."""
        if own or self.random.random() < 0.3:
            return f"own{self.number}-{self.random.randrange(N_OWN)}"
        return f"d{self.random.randrange(N_DOCUMENTS)}"


def search(client: Client) -> None:
    client.ask("GET", f"/search?q={quote(client.any_query())}")


def explain(client: Client) -> None:
    client.ask("GET", f"/explain?q={quote(client.any_query())}&id={client.any_document()}")


def health(client: Client) -> None:
    begun = time.perf_counter()
    client.ask("GET", "/health")
    client.health.append(time.perf_counter() - begun)


def judge(client: Client) -> None:
    query, document, grade = client.any_query(), client.any_document(), client.random.randrange(4)
    body = {"query": query, "document": document, "grade": grade, "judge": client.judge}
    client.change(("judgment", query, document), float(grade), "POST", "/judgments", body)


def withdraw(client: Client) -> None:
    keys = [key for key in client.held if key[0] == "judgment"]
    if keys:
        _, query, document = client.random.choice(keys)
        body = {"query": query, "document": document, "judge": client.judge}
        client.change(("judgment", query, document), GONE, "POST", "/judgments/withdraw", body)


def put_document(client: Client) -> None:
    name, text = client.any_document(own=True), " ".join(client.random.choices(WORDS, k=client.random.randrange(4, 40)))
    client.change(("document", name), text, "PUT", f"/documents/{name}", {"text": text})


def add_documents(client: Client) -> None:
    """Add two new documents in one request: both or none."""
    free = [f"own{client.number}-{n}" for n in range(N_OWN)]
    free = [name for name in free if client.held.get(("document", name), {GONE}) == {GONE}][:2]
    texts = {name: " ".join(client.random.choices(WORDS, k=8)) for name in free}
    for name in free[1:]:
        client.held["document", name] = {GONE, texts[name]}
        client.touched.add(("document", name))
    if free:
        body = [{"id": name, "text": text} for name, text in texts.items()]
        added = client.change(("document", free[0]), texts[free[0]], "POST", "/documents", body)
        for name in free[1:]:
            client.held["document", name] = {texts[name] if added else GONE}


def remove_document(client: Client) -> None:
    name = client.any_document(own=True)
    client.change(("document", name), GONE, "DELETE", f"/documents/{name}")


def import_judgment(client: Client) -> None:
    query, document, grade = client.any_query(), f"d{client.random.randrange(N_DOCUMENTS)}", client.random.randrange(4)
    line = json.dumps({"query": query, "document": document, "grade": grade, "judge": client.judge})
    client.change(("judgment", query, document), float(grade), "POST", "/import", {"text": line})


def change_query(client: Client) -> None:
    """Add a query that no one judges, change its topic, or delete it."""
    text = f"query {client.number} {client.random.randrange(20)}"
    key, path = ("query", text), f"/queries/{typed_query_id(text)}"
    if client.held.get(key, {GONE}) == {GONE}:
        client.change(key, "", "POST", "/queries", [{"text": text}])
    elif client.random.random() < 0.5:
        topic = f"topic {client.random.randrange(9)}"
        client.change(key, topic, "PATCH", path, {"topic": topic})
    else:
        client.change(key, GONE, "DELETE", path)


def change_guidelines(client: Client) -> None:
    text = f"guidelines {client.random.randrange(1000)}"
    client.change(("guidelines",), text, "PUT", "/guidelines", {"text": text})


def events(client: Client) -> None:
    """Read the first event of a stream, then close it."""
    stream = http.client.HTTPConnection("127.0.0.1", client.service.port, timeout=300)
    stream.request("GET", "/train/events", headers={"accept": "text/event-stream"})
    stream.getresponse().read1(200)
    stream.close()


def bad_request(client: Client) -> None:
    path = client.random.choice(["/judgments", "/documents", "/train", "/feedback", "/versions", "/queries", "/import"])
    status, _ = client.ask("POST", path, client.random.choice(BAD_BODIES))
    if status < 400:
        client.failures.append(f"a bad request to {path} has the status {status}")


def train(client: Client) -> None:
    """Start a training from time to time; a kill ends it."""
    if time.monotonic() - client.trained > TRAIN_EVERY:
        client.trained = time.monotonic()
        if len(client.ask("GET", "/versions")[1]["versions"]) < MOST_VERSIONS:
            status, _ = client.ask("POST", "/train", {"method": "tfidf"})
            client.changes["training"] += status == 202


def cancel(client: Client) -> None:
    client.changes["cancel"] += client.ask("DELETE", "/train")[0] == 200


def switch(client: Client) -> None:
    known = client.ask("GET", "/versions")[1]["versions"]
    name = client.random.choice(known)["version"]
    client.change(("active",), name, "POST", "/versions", {"version": name, "confirm": True})


OPERATIONS: dict[Callable[[Client], None], int] = {
    search: 6, explain: 2, health: 3, judge: 8, withdraw: 2, put_document: 4,
    import_judgment: 2, add_documents: 2, remove_document: 3, change_query: 3, events: 1, bad_request: 3,
}  # fmt: skip
OPERATOR: dict[Callable[[Client], None], int] = {train: 3, cancel: 1, switch: 3, change_guidelines: 2}


class Check:
    """Compares the clients' knowledge with the data of the service."""

    def __init__(self, service: Service, clients: list[Client]) -> None:
        self.service, self.clients, self.lost = service, clients, list[str]()
        self.asking = Client(-1, service, 0)

    def touched(self) -> None:
        """Check what changed since the last check; a change without a response is then known."""
        self._compare({client.number: set(client.touched) for client in self.clients})

    def everything(self) -> None:
        """Check all judgments and queries, and all documents of every version."""
        self.touched()
        for version in self._ask("/versions")["versions"]:
            self._switch(version["version"])
            self._compare({c.number: {key for key in c.held if key[0] == "document"} for c in self.clients})
        (active,) = self.clients[0].held.get(("active",), {"1"})
        self._switch(active if active != GONE else "1")
        self._compare({client.number: set(client.held) for client in self.clients})

    def _switch(self, version: str) -> None:
        body = {"version": version, "confirm": True}  # including one whose training was killed before its verdict
        if self.asking.ask("POST", "/versions", body)[0] != 200:
            self.asking.failures.append(f"version {version} cannot be made live")

    def _compare(self, wanted: dict[int, set[Key]]) -> None:
        self._ask("/health")  # a listening service may not have opened its store yet
        with JudgmentStore(f"{self.service.model}.judgments", read_only=True) as store:
            judged = {(j.judge, j.text, j.document): j.grade for j in store.current()}
            queries = store.queries()
            topics = {text: topic or "" for text, topic in zip(queries.texts, queries.extras["topic"], strict=True)}
        for client in self.clients:
            for key in wanted[client.number]:
                if key[0] == "judgment":
                    found = judged.get((client.judge, *key[1:]), GONE)
                elif key[0] == "query":
                    found = topics.get(key[1], GONE)
                elif key[0] == "guidelines":
                    found = self._ask("/guidelines")["text"] or GONE
                elif key[0] == "active":
                    found = self._ask("/versions")["active"]
                else:
                    found = self._ask(f"/documents/{key[1]}").get("text", GONE)
                possible = client.held[key] | ({"1"} if key[0] == "active" and GONE in client.held[key] else set())
                if found not in possible:
                    self.lost.append(f"{client.judge} {key}: found {found!r}, acknowledged {client.held[key]}")
                client.held[key] = {found}
            client.touched -= wanted[client.number]

    def _ask(self, path: str) -> Any:
        try:
            return self.asking.ask("GET", path)[1]
        except (OSError, http.client.HTTPException):  # the connection of a killed service
            self.asking.connection = None
            return self.asking.ask("GET", path)[1]


def run_load(clients: list[Client], seconds: float) -> None:
    for client in clients:
        client.running.set()
    time.sleep(seconds)


def stop_load(clients: list[Client]) -> None:
    for client in clients:
        client.running.clear()
    for client in clients:
        client.stopped.wait()


def kill_often(service: Service, clients: list[Client], check: Check, kills: int, chance: random.Random) -> int:
    """Kill and check; return how often. Ctrl-C ends it after the kill that is being checked."""
    ended = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: ended.set())
    made = 0
    while made < kills and not ended.is_set():
        made += 1
        run_load(clients, chance.uniform(0, LONGEST))
        service.kill()
        stop_load(clients)
        service.start()
        if made % ALL_EVERY == 0:
            check.everything()
        else:
            check.touched()
    signal.signal(signal.SIGINT, before)
    return made


def run_long(service: Service, clients: list[Client], check: Check, seconds: float) -> list[dict[str, float]]:
    """Return the resource usage after a quarter of the time and at the end."""
    run_load(clients, seconds / 4)
    early = service.measured()
    time.sleep(3 * seconds / 4)
    late = service.measured()
    stop_load(clients)
    time.sleep(1)
    late["temporary_files"] = len(service.leftovers())  # under load some are in use
    check.everything()
    return [early, late]


def is_flat(early: dict[str, float], late: dict[str, float]) -> bool:
    return all(late[name] <= early[name] + more for name, more in MAY_GROW.items())


def soak(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    texts = [" ".join(random.Random(n).choices(WORDS, k=20)) for n in range(N_DOCUMENTS)]
    documents = Collection([f"d{n}" for n in range(N_DOCUMENTS)], [""] * N_DOCUMENTS, texts)
    Searcher("bm25").fit(documents).save(folder / "soak.model")
    service = Service(folder)
    clients = [Client(number, service, args.seed) for number in range(args.clients)]
    check = Check(service, clients)
    for client in clients:
        client.start()
    service.start()
    begun = time.monotonic()
    kills = kill_often(service, clients, check, args.kills, random.Random(args.seed))
    killed = time.monotonic() - begun
    early, late = run_long(service, clients, check, args.seconds)
    service.close()
    failures = [failure for client in (*clients, check.asking) for failure in client.failures]
    tracebacks = service.log.read_text().count("Traceback")
    statuses = sum((client.statuses for client in clients), Counter[int]())
    times = sorted(seconds for client in clients for seconds in client.health)
    return {
        "kills": kills,
        "seconds_of_kills": round(killed),
        "seconds_of_load": args.seconds,
        "clients": args.clients,
        "seed": args.seed,
        "requests": statuses.total(),
        "statuses": {str(status): statuses[status] for status in sorted(statuses)},
        "acknowledged": dict(sum((client.changes for client in clients), Counter[str]())),
        "lost": len(check.lost),
        "failures": len(failures),
        "tracebacks": tracebacks,
        "health_p95_ms": round(1000 * times[int(0.95 * (len(times) - 1))], 1) if times else None,
        "early": early,
        "late": late,
        "flat": is_flat(early, late),
        "examples": (check.lost + failures)[:5],
    }


def main() -> int:
    if sys.argv[1:2] == ["--fork"]:
        return fork_services(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    with tempfile.TemporaryDirectory() as folder:
        found = soak(parser.parse_args(), Path(folder))
    print(json.dumps(found))
    return int(bool(found["lost"] or found["failures"] or found["tracebacks"] or not found["flat"]))


if __name__ == "__main__":
    sys.exit(main())
