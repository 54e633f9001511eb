"""Searches per second of `tacit serve` on 100,000 documents, while judgments are written and a version is trained.

    TACIT_DATA=… python benchmarks/service_load.py [--documents 100000] [--rate 100] [--seconds 30] [--method bm25]

The documents are those of the linked collections, concatenated. Queries are titles of documents, drawn with seed 0.
Requests are sent when due, whether or not earlier ones have finished, and latency counts from then. All traffic stays
on this machine, and the number of requests is limited. It prints

- the same searches in process, sequentially;
- the searches over HTTP, with a judgment after every tenth, without and with a training at the same time;
- the same while a thousand connections are open and idle, others send a byte per second or do not read their responses,
  and some send invalid requests, or bodies that are too large;
- processor time of the service per request, its memory, and the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tacit import Collection, Searcher, read_collection

CORPORA = ("debian_ja_en", "mdn_ja_en", "foldoc", "wikispeedia")
CONNECTIONS = 16
N_IDLE, N_SLOW, N_UNREAD = 1000, 100, 10
MALFORMED = (
    b"\x00\xff" * 1000,
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /judgments HTTP/1.1\r\nhost: x\r\n\r\n{",
    b"GET /search?q=a HTTP/1.1\r\nhost: elsewhere.example\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
)
Times = list[tuple[str, float]]  # route and seconds of each request


def read_documents(n: int) -> Collection:
    ids, titles, texts = [], [], []
    for name in CORPORA:
        folder = Path(os.environ["TACIT_DATA"]) / "linked" / name
        path = next(path for path in (folder / "docs.jsonl.gz", folder / "docs.en.jsonl.gz") if path.exists())
        part = read_collection(path)
        ids += [f"{name}:{doc_id}" for doc_id in part.ids]
        titles += list(part.titles)
        texts += [text[:4000] for text in part.texts]
    return Collection(ids[:n], titles[:n], texts[:n])


class Service:
    """A running `tacit serve`, and its resource usage."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port, self.host = process, port, f"127.0.0.1:{port}"

    def ask(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.host}{path}", data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def request(self, path: str, body: bytes = b"") -> bytes:
        head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nhost: {self.host}\r\ncontent-length: {len(body)}\r\n"
        return (head + "content-type: application/json\r\n\r\n").encode() + body

    def memory(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) / 1024

    def seconds(self) -> float:
        """Return processor time so far, without training."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(model: Path) -> Iterator[Service]:
    command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline()
        try:
            yield Service(process, int(line.split(" at http://")[1].split("/ ")[0].rsplit(":", 1)[1]))
        finally:
            process.terminate()


async def answer_of(reader: asyncio.StreamReader) -> int:
    """Return the status of the next response on a connection."""
    header = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in header.decode().lower().split("\r\n") if line.startswith("content-length"))
    await reader.readexactly(length)
    return int(header.split()[1])


async def send_jobs(service: Service, queue: Any, done: Times, failed: Times) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    while (job := await queue.get()) is not None:
        due, path, body = job
        writer.write(service.request(path, body))
        status = await answer_of(reader)
        (done if status == 200 else failed).append((path.split("?")[0], time.perf_counter() - due))
    writer.close()


async def drive(service: Service, queries: list[str], document: str, rate: float, seconds: float) -> tuple[Times, int]:
    """Send searches at a fixed rate, a judgment after every tenth: return latencies, and the number of failures."""
    queue: asyncio.Queue[Any] = asyncio.Queue()
    done, failed = Times(), Times()
    workers = [asyncio.create_task(send_jobs(service, queue, done, failed)) for _ in range(CONNECTIONS)]
    start = time.perf_counter()
    for number in range(int(rate * seconds)):
        due = start + number / rate
        await asyncio.sleep(max(0, due - time.perf_counter()))
        query = queries[number % len(queries)]
        queue.put_nowait((due, f"/search?k=10&q={urllib.request.quote(query)}", b""))
        if number % 10 == 0:
            body = {"query": query, "document": document, "grade": number % 3, "judge": "load"}
            queue.put_nowait((due, "/judgments", json.dumps(body).encode()))
    for _ in workers:
        queue.put_nowait(None)
    await asyncio.gather(*workers)
    return done, len(failed)


async def drive_among_others(service: Service, *work: Any) -> tuple[Times, int]:
    """Do the same while other connections misbehave."""
    others = [await asyncio.open_connection("127.0.0.1", service.port) for _ in range(N_IDLE + N_SLOW + N_UNREAD)]
    dripping, reading_nothing = others[:N_SLOW], others[N_SLOW : N_SLOW + N_UNREAD]
    busy = [asyncio.create_task(drip(service, writer, n % 2)) for n, (_, writer) in enumerate(dripping)]
    busy.append(asyncio.create_task(send_nonsense(service)))
    for _, writer in reading_nothing:
        writer.write(service.request("/openapi.json") * 100)
    found = await drive(service, *work)
    for task in busy:
        task.cancel()
    await asyncio.gather(*busy, return_exceptions=True)
    for _, writer in others:
        writer.transport.abort()
    return found


async def drip(service: Service, writer: asyncio.StreamWriter, in_body: int) -> None:
    """Send a request one byte per second: the header, or its body."""
    body = json.dumps({"query": "a", "document": "b" * 500, "grade": 1, "judge": "slow"}).encode()
    whole = service.request("/judgments", body)
    sent = len(whole) - len(body) if in_body else 0
    writer.write(whole[:sent])
    for place in range(sent, len(whole)):
        if writer.transport.is_closing():  # closed by the service
            return
        writer.write(whole[place : place + 1])
        await asyncio.sleep(1)


async def send_nonsense(service: Service) -> None:
    """Send invalid requests, and bodies that are too large, ten per second."""
    too_large = service.request("/judgments", b"x" * 2_000_000)
    chunked = f"POST /judgments HTTP/1.1\r\nhost: {service.host}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    chunked += (b"10000\r\n" + b"x" * 65536 + b"\r\n") * 32
    while True:
        for nonsense in (*MALFORMED, too_large, chunked):
            _, writer = await asyncio.open_connection("127.0.0.1", service.port)
            writer.write(nonsense)
            await asyncio.sleep(0.1)
            writer.transport.abort()


def show(name: str, done: Times, seconds: float, failures: int = 0) -> None:
    for route in sorted({path for path, _ in done}):
        times = np.array([took for path, took in done if path == route])
        p50, p95, p99 = 1000 * np.quantile(times, [0.5, 0.95, 0.99])
        print(f"{name:26} {route:10} {len(times) / seconds:6.1f}/s  p50 {p50:5.1f}  p95 {p95:6.1f}  p99 {p99:6.1f} ms")
    if failures:
        print(f"{name:26} {failures} failures")


def show_in_process(searcher: Searcher, queries: list[str]) -> None:
    times, start = Times(), time.process_time()
    for query in queries:
        begun = time.perf_counter()
        searcher.search(query)
        times.append(("search", time.perf_counter() - begun))
    show("in process, one by one", times, sum(took for _, took in times))
    print(f"{'':26} {1000 * (time.process_time() - start) / len(queries):.1f} ms of processor time a search")


def show_served(name: str, service: Service, way: Any, args: argparse.Namespace, queries: list[str], doc: str) -> None:
    before = service.seconds()
    done, failures = asyncio.run(way(service, queries, doc, args.rate, args.seconds))
    show(name, done, args.seconds, failures)
    used, load = 1000 * (service.seconds() - before) / max(1, len(done)), os.getloadavg()[0]
    print(
        f"{'':26} {used:.1f} ms of processor time a request, {service.memory():.0f} MiB, load of the machine {load:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--method", default="blend")
    parser.add_argument("--model", type=Path, help="a model that was fitted on these documents before")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = args.model or Path(folder) / "load.model"
        if args.model is None:
            Searcher(args.method, stem=True).fit(read_documents(args.documents)).save(model)
        searcher = Searcher.load(model)
        documents = searcher.documents_
        rows = np.random.default_rng(0).permutation(len(documents))[:500].tolist()
        queries, doc = [documents.titles[row] or documents.ids[row] for row in rows], documents.ids[0]
        print(
            f"{len(documents):,} documents, {searcher.method}, {args.rate:g} searches a second for {args.seconds:g} s"
        )
        searcher.search(queries[0])
        show_in_process(searcher, queries[:300])
        with serving(model) as service:
            service.ask(f"/search?q={urllib.request.quote(queries[0])}")
            show_served("served", service, drive, args, queries, doc)
            for query in queries[:20]:
                service.ask("/judgments", {"query": query, "document": doc, "grade": 1, "judge": "load"})
            service.ask("/train", {})
            show_served("while training", service, drive, args, queries, doc)
            print(f"{'':26} the training: {service.ask('/train')['state']}")
            show_served("among others, training", service, drive_among_others, args, queries, doc)
            time.sleep(1)
            print(f"{'afterwards':26} {service.ask('/health')['status']}, {service.memory():.0f} MiB")


if __name__ == "__main__":
    main()
