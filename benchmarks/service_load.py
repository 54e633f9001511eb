"""Searches a second of `tacit serve` on 100,000 documents, while judgments are written and a version is trained.

    TACIT_DATA=… python benchmarks/service_load.py [--documents 100000] [--rate 100] [--seconds 30]

The documents are those of the linked collections, one after the other. Queries are the titles of documents. All traffic
stays on this machine, and the number of requests is bounded. Printed beside it: the same searches called in process,
one after the other; what idle connections, malformed requests and oversized bodies do to the service; its memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from tacit import Collection, Searcher, read_collection

CORPORA = ("debian_ja_en", "mdn_ja_en", "foldoc", "wikispeedia")
CONNECTIONS = 16
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


async def ask(
    host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes = b""
) -> int:
    """One request on an open connection; its status."""
    method = "POST" if body else "GET"
    head = f"{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(body)}\r\n"
    writer.write((head + "content-type: application/json\r\n\r\n").encode() + body)
    await writer.drain()
    header = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in header.decode().lower().split("\r\n") if line.startswith("content-length"))
    await reader.readexactly(length)
    return int(header.split()[1])


async def worker(queue: Any, latencies: Times, failures: Times, port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (job := await queue.get()) is not None:
        due, path, body = job
        status = await ask(f"127.0.0.1:{port}", reader, writer, path, body)
        (latencies if status == 200 else failures).append((path.split("?")[0], time.perf_counter() - due))
    writer.close()


async def drive(port: int, queries: list[str], document: str, rate: float, seconds: float) -> tuple[Times, Times]:
    """Searches at a fixed rate, a judgment after every tenth; latency counts from when a request was due."""
    queue: asyncio.Queue[Any] = asyncio.Queue()
    latencies, failures = Times(), Times()
    workers = [asyncio.create_task(worker(queue, latencies, failures, port)) for _ in range(CONNECTIONS)]
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
    return latencies, failures


def show(name: str, latencies: Times, seconds: float) -> None:
    for route in sorted({path for path, _ in latencies}):
        times = np.array([took for path, took in latencies if path == route])
        p50, p95, p99 = 1000 * np.quantile(times, [0.5, 0.95, 0.99])
        print(f"{name:34} {route:12} {len(times) / seconds:7.1f}/s  p50 {p50:6.1f}  p95 {p95:6.1f}  p99 {p99:6.1f} ms")


def resident(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def abuse(port: int) -> None:
    """A thousand connections opened and left, garbage, an oversized body."""
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(1000)]
    for garbage in (b"\x00\xff" * 1000, b"GET / HTTP/9.9\r\n\r\n", b"POST /judgments HTTP/1.1\r\nhost: x\r\n\r\n{"):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(garbage)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = f"POST /judgments HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: 1000000000\r\n\r\n"
        connection.sendall(head.encode())
        print("oversized body:", connection.recv(100).split(b"\r\n")[0].decode())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
        print("with 1,000 idle connections it answers:", json.load(answer)["status"])
    for connection in idle:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--method", default=None)
    args = parser.parse_args()
    documents = read_documents(args.documents)
    rng = np.random.default_rng(0)
    titles = [documents.titles[row] or documents.ids[row] for row in rng.permutation(len(documents))[:500].tolist()]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "load.model"
        searcher = (Searcher(args.method, stem=True) if args.method else Searcher()).fit(documents)
        searcher.save(model)
        times = []
        for title in titles[:200]:
            start = time.perf_counter()
            searcher.search(title)
            times.append(("search", time.perf_counter() - start))
        show("in process, one after the other", times, sum(took for _, took in times))
        command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
            port = int(service.stderr.readline().split(" at http://")[1].split("/ ")[0].rsplit(":", 1)[1])
            host = f"127.0.0.1:{port}"
            before = resident(service.pid)
            latencies, failures = asyncio.run(drive(port, titles, documents.ids[0], args.rate, args.seconds))
            show("served", latencies, args.seconds)
            print(f"failures: {len(failures)}")
            for title in titles[:20]:
                body = {"query": title, "document": documents.ids[0], "grade": 1, "judge": "load"}
                request = urllib.request.Request(f"http://{host}/judgments", json.dumps(body).encode())
                request.add_header("content-type", "application/json")
                urllib.request.urlopen(request).read()
            request = urllib.request.Request(f"http://{host}/train", b"{}", {"content-type": "application/json"})
            urllib.request.urlopen(request).read()
            latencies, failures = asyncio.run(drive(port, titles, documents.ids[0], args.rate, args.seconds))
            show("served, while a version is trained", latencies, args.seconds)
            print(f"failures: {len(failures)}")
            abuse(port)
            print(f"memory of the service: {before:.0f} MiB before, {resident(service.pid):.0f} MiB after")
            service.terminate()


if __name__ == "__main__":
    main()
