"""Serve, judge 40 queries, train and read the verdict over HTTP, on Cranfield.

    TACIT_DATA=… python examples/judge_and_learn.py [--queries 40] [--unseen 185] [--seed 0]

Grades come from the collection's own judgments; a document without a judgment is graded 0. The verdict compares the
trained version with the live version by cross-validation over the judged queries. Then both versions rank documents for
the other queries, which neither has seen. That comparison is printed last, and does not depend on the verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

import tacit

N_EACH = 10  # documents judged per query


def ask(address: str, path: str, body: object = None) -> Any:
    """Send one request with a JSON body and return the JSON response."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def judge(address: str, texts: dict[str, str], grades: dict[str, dict[str, float]], n_wanted: int) -> int:
    """Judge the documents that the service offers, at most `n_wanted`, and return their number."""
    ask(address, "/queries", [{"id": query, "text": text} for query, text in texts.items()])
    n_judged = 0
    while n_judged < n_wanted and not (offer := ask(address, "/next?judge=cranfield"))["finished"]:
        query, document = offer["query"]["id"], offer["document"]["id"]
        grade = max(0.0, grades[query].get(document, 0))
        body = {"query": query, "document": document, "grade": grade, "judge": "cranfield", "ticket": offer["ticket"]}
        ask(address, "/judgments", body)
        n_judged += 1
    return n_judged


def train(address: str) -> dict[str, Any]:
    """Train a version and wait for its verdict."""
    ask(address, "/train", {})
    while (state := ask(address, "/train"))["state"] == "running":
        time.sleep(0.5)
    if state["state"] != "done":
        raise SystemExit(f"the training failed: {state['message']}")
    return state


def answers(address: str, texts: dict[str, str], version: str) -> tacit.Run:
    """Return the run of a version for the queries."""
    found = {}
    for query, text in texts.items():
        asked = urllib.parse.urlencode({"q": text, "k": 100, "model": version})
        found[query] = {hit["id"]: hit["score"] for hit in ask(address, f"/search?{asked}")["hits"]}
    return tacit.Run.from_dict(found, f"version {version}")


def main() -> None:
    """Serve, judge, train, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--unseen", type=int, help="number of queries that both versions rank (default: all others)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    data = Path(os.environ["TACIT_DATA"]) / "text" / "cranfield"
    documents = tacit.read_collection(data / "docs.jsonl.gz")
    queries, qrels = tacit.read_queries(data / "queries.jsonl"), tacit.read_qrels(data / "qrels.txt")
    grades = qrels.to_dict()
    texts = {query: text for query, text in zip(queries.ids, queries.texts, strict=True) if query in grades}
    shuffled = np.random.default_rng(args.seed).permutation(list(texts)).tolist()
    known = {query: texts[query] for query in shuffled[: args.queries]}
    unseen = {query: texts[query] for query in shuffled[args.queries :][: args.unseen]}
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "cranfield.model"
        tacit.Searcher().fit(documents).save(model)
        command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
            try:
                address = service.stderr.readline().split(" at ")[1].split("/ ")[0]  # type: ignore[union-attr]
                print(f"{judge(address, known, grades, N_EACH * len(known))} judgments of {len(known)} queries")
                state = train(address)
                print(f"verdict: {state['verdict']['text']}")
                judged = tacit.Judgments.from_dict({query: grades[query] for query in unseen})
                runs = [answers(address, unseen, version) for version in ("1", state["version"])]
                values = [tacit.evaluate(judged, run, ["nDCG@10", "AP"]).values for run in runs]
                for measure in ("nDCG@10", "AP"):
                    before, after = (found[measure] for found in values)
                    p = tacit.compare(before, after).t
                    change = f"{before.mean():.3f} -> {after.mean():.3f} (p {p:.2g})"
                    print(f"{len(unseen)} unseen queries, {measure}: {change}")
            finally:
                service.terminate()


if __name__ == "__main__":
    main()
