"""Draw the pictures of result pages from the tables printed on them: `python docs/figures.py`, part of `make docs`.

Each picture has one row in FIGURES: its file, the page, a function that reads numbers from the page, and a function
that draws them. The PNG file also stores the numbers, and `tests/test_figures.py` compares them with the page, so a
picture and its table cannot disagree. Needs matplotlib (extra `plot`). `--check` names outdated pictures and draws
nothing.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tacit.experiments.figures import new_figure

DOCS = Path(__file__).parent
COLOURS = ["#8a8a8a", "#d98c3f", "#2f7fb8", "#1b7f79"]  # grey for the baseline; told apart in grey scale too
Numbers = dict[str, Any]


def table(page: str, *columns: str) -> list[dict[str, str]]:
    """Rows of the first Markdown table of the page that has all these columns.

    An empty first cell repeats the one above. Of two columns with the same name, the first counts.
    """
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        header, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
        if set(columns) <= set(header):
            rows = [dict(zip(header[::-1], line[::-1], strict=True)) for line in lines]
            for above, row in pairwise(rows):
                row[header[0]] = row[header[0]] or above[header[0]]
            return rows
    raise SystemExit(f"docs/figures.py: no table with the columns {', '.join(columns)}")


def printed(page: str, header: str) -> list[list[str]]:
    """Cells of the rows that a program printed below the line that begins with `header`, up to the end of the block."""
    start = re.search(rf"^ *{re.escape(header)}.*\n", page, re.MULTILINE)
    if not start:
        raise SystemExit(f"docs/figures.py: no printed table that begins with {header!r}")
    return [
        re.split(r"\s{2,}", line.strip()) for line in page[start.end() :].split("```")[0].splitlines() if line.strip()
    ]


def number(cell: str) -> float:
    """The number that a cell begins with: '+.035', '1,000', '.346 (+.1 to +.2)', '**61%**'."""
    found = re.match(r"\**([+-]?[\d,]*\.?\d+)", cell)
    assert found, cell
    return float(found[1].replace(",", ""))


def with_half_width(cell: str) -> list[float]:
    """A number and the half-width of its interval: '.408 ± .063'."""
    return [number(part) for part in cell.split(" ± ")]


def interval(cell: str) -> list[float]:
    """Both ends of an interval 'LOW to HIGH', the last one in the cell."""
    low, high = re.findall(r"([+-]?\d*\.\d+) to ([+-]?\d*\.\d+)", cell)[-1]
    return [float(low), float(high)]


def read_questions(page: str) -> Numbers:
    """Gain of `blend` over BM25 without labels, and its interval, by collection."""
    rows = table(page, "collection", "bm25", "blend", "95% interval")
    return {row["collection"]: [number(row["gain"]), *interval(row["95% interval"])] for row in rows}


def draw_questions(numbers: Numbers) -> Any:
    """A dot and its interval for each collection."""
    figure, axes = new_figure(7, 3.6)
    names = list(numbers)[::-1]
    for place, name in enumerate(names):
        gain, low, high = numbers[name]
        axes.plot([low, high], [place, place], color=COLOURS[2], lw=2)
        axes.plot(gain, place, "o", color=COLOURS[2])
    axes.axvline(0, color="black", lw=0.8)
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="gain in average precision over BM25, 95% interval")
    return figure


def read_label(page: str) -> Numbers:
    """nDCG@10 by number of labels, for each set and strategy."""
    rows = table(page, "strategy", "15", "480")
    numbers: Numbers = {}
    for row in rows:
        numbers.setdefault(row["set"], {})[row["strategy"]] = [number(row[n]) for n in LABELS]
    return numbers


LABELS = ["15", "30", "60", "120", "240", "480"]


def draw_label(numbers: Numbers) -> Any:
    """A panel for each set, a line for each strategy."""
    figure, grid = new_figure(11, 5, n_columns=4, n_rows=2)
    for axes, (name, strategies) in zip(grid.flat, numbers.items(), strict=False):
        for colour, marker, (strategy, values) in zip(COLOURS, "sov", strategies.items(), strict=False):
            axes.plot(range(len(LABELS)), values, marker=marker, color=colour, label=strategy)
        axes.set(title=name, xticks=range(len(LABELS)), xticklabels=LABELS)
    for axes in grid.flat[len(numbers) :]:
        axes.axis("off")
    figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="lower right", bbox_to_anchor=(0.95, 0.2))
    figure.supxlabel("judged documents")
    figure.supylabel("nDCG@10")
    return figure


def read_scale(page: str) -> Numbers:
    """Times and memory by number of documents."""
    rows = [cells for cells in printed(page, "documents      read, s") if cells[0] != "slope"]
    columns = {"documents": 0, "read, s": 1, "epoch, s": 2, "search, ms": 5, "fit, GiB": 6, "search, GiB": 7}
    return {name: [number(cells[column]) for cells in rows] for name, column in columns.items()}


def draw_scale(numbers: Numbers) -> Any:
    """Seconds, milliseconds and memory, on logarithmic axes."""
    figure, grid = new_figure(10, 3.2, n_columns=3)
    panels = [
        ("seconds of processor time", ["read, s", "epoch, s"], [1, 10, 100]),
        ("ms", ["search, ms"], [0.5, 1, 2, 5, 10, 20]),
        ("GiB", ["fit, GiB", "search, GiB"], [0.25, 0.5, 1, 2, 4]),
    ]
    for axes, (unit, names, ticks) in zip(grid, panels, strict=True):
        for colour, marker, name in zip(COLOURS[1:], "os", names, strict=False):
            axes.loglog(numbers["documents"], numbers[name], marker=marker, color=colour, label=name.split(",")[0])
        axes.set(xlabel="documents", ylabel=unit, yticks=ticks, yticklabels=[f"{tick:g}" for tick in ticks])
        axes.set(xticks=[1e4, 1e5, 1e6], xticklabels=["10,000", "100,000", "1,000,000"])
        axes.minorticks_off()
        axes.legend()
    return figure


def read_benchmarks(page: str) -> Numbers:
    """Milliseconds of a search, next to peers; and of a ranking, by form of `blend`."""
    peers = table(page, "system", "times tantivy")
    blend = table(page, "system", "drawn: ms a query", "times bm25")
    return {
        "search ms": {row["system"]: number(row["search ms"]) for row in peers},
        "ms a query": {row["system"]: number(row["drawn: ms a query"]) for row in blend},
    }


def draw_benchmarks(numbers: Numbers) -> Any:
    """Bars with their values."""
    figure, grid = new_figure(10, 2.8, n_columns=2)
    titles = ["10 hits with snippets, 10,000 documents", "ranking alone, 100,000 documents"]
    for axes, title, bars in zip(grid, titles, numbers.values(), strict=True):
        names = [name.replace("`", "") for name in bars][::-1]
        axes.grid(visible=False, axis="y")
        drawn = axes.barh(names, list(bars.values())[::-1], color=COLOURS[2])
        axes.bar_label(drawn, fmt="%.2f", padding=3)
        axes.margins(x=0.12)
        axes.set(title=title, xlabel="ms of processor time per query")
    return figure


SAMPLES = ["10 queries", "20 queries", "30 queries", "50 queries"]


def read_advise(page: str) -> Numbers:
    """Upper limits of false claims, and coverage by number of queries."""
    claims = table(page, "drawn from", "upper limit")
    candidates = [row for row in claims if row["drawn from"] == "candidates"]
    rows = table(page, "collection", *SAMPLES, "sequence, every look")
    return {
        "upper limit": {row["collection"]: number(row["upper limit"]) for row in candidates},
        "coverage": {row["collection"]: [number(row[n]) for n in SAMPLES] for row in rows},
    }


def draw_advise(numbers: Numbers) -> Any:
    """Both with their aims as dashed lines."""
    figure, (left, right) = new_figure(10, 3.4, n_columns=2)
    limits = numbers["upper limit"]
    left.barh(list(limits)[::-1], list(limits.values())[::-1], color=COLOURS[2])
    left.axvline(0.07, color="black", ls="--", lw=1)
    left.grid(visible=False, axis="y")
    left.set(title="False claims of a better system (aim: below .07)", xlabel="upper limit of the rate")
    for marker, (name, values) in zip("osv^Dx", numbers["coverage"].items(), strict=True):
        right.plot([int(n.split()[0]) for n in SAMPLES], values, marker=marker, label=name)
    right.axhline(0.93, color="black", ls="--", lw=1)
    right.set(title="Coverage of 95% intervals (aim: .93)", xlabel="judged queries", ylim=(0.9, 1.0))
    right.legend(fontsize=7, ncols=2)
    return figure


SYSTEMS = {
    "BM25 on stems": "BM25",
    "blend": "blend",
    "encoder alone": "encoder alone",
    "RRF of the two": "RRF of BM25 and encoder",
    "blend with encoder": "blend with encoder",
}
KINDS = {
    "cacm": "computing",
    "cisi": "library",
    "cranfield": "aerodynamics",
    "cystic_fibrosis": "medicine",
    "scifact": "claims",
    "cosqa_code": "code",
    "stackfaq": "FAQ",
    "traceability": "use cases",
    "chorus_products": "products",
}


def read_systems(page: str) -> Numbers:
    """Average precision of five systems with the half-widths of their intervals, by collection."""
    rows = table(page, "collection", *SYSTEMS)
    return {row["collection"]: [with_half_width(row[name]) for name in SYSTEMS] for row in rows}


def draw_systems(numbers: Numbers) -> Any:
    """Five bars for each collection with their intervals, and the means over collections with their values."""
    figure, axes = new_figure(11, 4)
    colours = [COLOURS[0], COLOURS[2], "#f0c9a0", COLOURS[1], COLOURS[3]]
    places = [*range(len(numbers)), len(numbers) + 0.6]
    for place, (colour, name) in enumerate(zip(colours, SYSTEMS.values(), strict=True)):
        values, widths = zip(*(systems[place] for systems in numbers.values()), strict=True)
        mean = sum(values) / len(values)
        at = [collection + 0.17 * (place - 2) for collection in places]
        axes.bar(at, [*values, mean], 0.16, color=colour, label=name)
        axes.errorbar(at[:-1], values, widths, fmt="none", ecolor="black", elinewidth=0.7)
        axes.text(at[-1], mean + 0.012, f"{mean:.3f}"[1:], ha="center", fontsize=7, rotation=90)
    axes.axvline(len(numbers) - 0.2, color="#8a8a8a", lw=0.8)
    axes.grid(visible=False, axis="x")
    labels = [*(f"{KINDS.get(name, '')}\n({name})" for name in numbers), "mean"]
    axes.set(ylabel="average precision, 95% interval", ylim=(0, 1))
    axes.set_xticks(places, labels, fontsize=8)
    figure.legend(ncols=5, loc="outside upper center", frameon=False)
    return figure


def read_links_per_word(page: str) -> Numbers:
    """Links for each word and difference in MAP, by collection."""
    numbers: Numbers = {}
    for row in table(page, "documents", "links for each word", "HTR minus SSI, MAP"):
        point = [number(row["links for each word"]), number(row["HTR minus SSI, MAP"])]
        numbers.setdefault(row["documents"], []).append(point)
    return numbers


def draw_links_per_word(numbers: Numbers) -> Any:
    """A line for each collection with several numbers of links, a point for the others."""
    figure, axes = new_figure(6.5, 3.6)
    for place, (name, points) in enumerate(numbers.items()):
        axes.semilogx(
            *zip(*points, strict=True),
            marker="osD^vP"[place],
            color=[*COLOURS, "#9467bd", "#000000"][place],
            label=name,
        )
    axes.axhline(0, color="black", lw=0.8)
    axes.set(xlabel="training links for each word", ylabel="HTR minus SSI, MAP")
    axes.set(xticks=[1, 3, 10, 30], xticklabels=["1", "3", "10", "30"])
    axes.minorticks_off()
    axes.legend(fontsize=7)
    return figure


@dataclass(frozen=True)
class Picture:
    """A picture file, the page whose table it shows, how to read it, and how to draw what was read."""

    file: str
    page: str
    read: Callable[[str], Numbers]
    draw: Callable[[Numbers], Any]
    shown_on: tuple[str, ...] = ()  # pages that show it besides its own

    def numbers(self) -> Numbers:
        """What the page prints now."""
        return self.read((DOCS / self.page).read_text("utf-8").replace(" %", "%"))

    def write(self) -> None:
        """Draw the picture, with its numbers in the file."""
        numbers = self.numbers()
        metadata = {"Software": None, "Description": json.dumps(numbers)}
        self.draw(numbers).savefig(DOCS / self.file, dpi=120, metadata=metadata)

    def stored(self) -> Numbers | None:
        """The numbers in the picture file, None if there is no file."""
        from PIL import Image

        if not (DOCS / self.file).exists():
            return None
        with Image.open(DOCS / self.file) as image:
            return dict(json.loads(image.info["Description"]))


def read_fuse(page: str) -> Numbers:
    """Harmful choices in percent and mean gain, by system, kind of draw and number of judged queries."""
    rows, found = table(page, "harmful by the grid"), Numbers()
    for kind in ("pairs", "triples"):
        mine = [row for row in rows if row["runs"] == kind]
        for name, suffix in (("tacit", ""), ("grid", " of the grid")):
            harmful = "harmful" if name == "tacit" else "harmful by the grid"
            found[f"{name}, {kind}"] = {
                "queries": [number(row["judged queries"]) for row in mine],
                "harmful": [number(row[harmful]) for row in mine],
                "gain": [number(row[f"gain{suffix}"]) for row in mine],
            }
    return found


def draw_fuse(numbers: Numbers) -> Any:
    """Two panels: harmful choices, and gains."""
    figure, (left, right) = new_figure(9, 3.6, n_columns=2)
    for name, values in numbers.items():
        colour = COLOURS[3] if name.startswith("tacit") else COLOURS[1]
        style = "-" if name.endswith("pairs") else "--"
        for axis, key in ((left, "harmful"), (right, "gain")):
            axis.plot(values["queries"], values[key], style, color=colour, marker="o", label=name)
    left.axhline(10, color=COLOURS[0], linewidth=1)
    left.set(title="Harmful choices (aim: at most 10%)", ylabel="%", xlabel="judged queries", ylim=(0, None))
    right.set(title="Mean gain on other queries", ylabel="nDCG@10", xlabel="judged queries", ylim=(0, None))
    right.legend()
    return figure


def read_judges(page: str) -> Numbers:
    """Coverage with 15 human-judged queries and of the program alone, and labels saved, in percent, by judge."""
    rows = table(page, "judge", "15 human queries", "program alone: coverage")
    judges = [row for row in rows if " · " in row["15 human queries"] and number(row["program alone: coverage"] or "0")]
    cells = {row["judge"]: row["15 human queries"].split(" · ") for row in judges if row["judge"] != "mean"}
    alone = {row["judge"]: number(row["program alone: coverage"]) for row in judges}
    return {name: [number(parts[0]), alone[name], number(parts[2])] for name, parts in cells.items()}


def draw_judges(numbers: Numbers) -> Any:
    """Two panels: coverage of the two kinds of intervals, and labels saved."""
    figure, (left, right) = new_figure(10, 3.8, n_columns=2)
    names = list(numbers)[::-1]
    assisted, alone, saved = zip(*(numbers[name] for name in names), strict=True)
    left.plot(alone, range(len(names)), "s", color=COLOURS[1], label="program alone")
    left.plot(assisted, range(len(names)), "o", color=COLOURS[3], label="with 15 human-judged queries")
    left.axvline(95, color="black", ls="--", lw=1)
    left.set(yticks=range(len(names)), yticklabels=names, xlim=(0, 103), title="Coverage of 95% intervals", xlabel="%")
    left.legend(loc="upper left", fontsize=8)
    right.barh(range(len(names)), saved, color=COLOURS[3])
    right.grid(visible=False, axis="y")
    right.set(
        yticks=range(len(names)),
        yticklabels=[],
        ylim=left.get_ylim(),
        title="Human labels saved, 15 human-judged queries",
        xlabel="%",
    )
    return figure


def read_preference(page: str) -> Numbers:
    """Share of fewer different grades in percent, gain and p of PREF's regularizer, by corpus and number of labels."""
    numbers: Numbers = {}
    for row in table(page, "corpus, labels", "fewer different grades", "gain", "p"):
        name = row["corpus, labels"].split(",")[0]
        fewer = number(row["fewer different grades"].removeprefix("by "))
        gains, chances = ([float(cell) for cell in row[column].split(", ")] for column in ("gain", "p"))
        numbers[name] = [[fewer, *found] for found in zip(gains, chances, strict=True)]
    for row in table(page, "K", "fewer different grades", "gain", "p"):
        found = [number(row["fewer different grades"].removeprefix("by ")), float(row["gain"]), float(row["p"])]
        numbers.setdefault("CACM by features, other K", []).append(found)
    return numbers


def draw_preference(numbers: Numbers) -> Any:
    """A point for each gain, filled if it is significant."""
    figure, axes = new_figure(7, 3.4)
    for marker, (name, points) in zip("osD^v", numbers.items(), strict=False):
        for place, (fewer, gain, p) in enumerate(points):
            face = COLOURS[3] if p < 0.05 else "white"
            label = name if place == 0 else None
            axes.plot(fewer, gain, marker, color=COLOURS[3], markerfacecolor=face, label=label)
    axes.axhline(0, color="black", lw=0.8)
    axes.set(xlabel="fewer different grades among neighbours than among any rows, %", ylabel="gain in nDCG@10")
    axes.legend(fontsize=8, title="filled: p < .05", title_fontsize=8)
    return figure


SESSIONS = ["100", "300", "1,000", "3,000", "10,000"]


def read_clicks(page: str) -> Numbers:
    """Gain in nDCG@10 over the shown ranking: without clicks, then by number of sessions; users look by position."""
    rows = table(page, "set", "user", "without clicks", *SESSIONS)
    columns = ["without clicks", *SESSIONS]
    return {row["set"]: [number(row[name]) for name in columns] for row in rows if row["user"] == "position"}


def draw_clicks(numbers: Numbers) -> Any:
    """A line by number of sessions for each collection."""
    figure, axes = new_figure(6, 3.2)
    for name, gains in numbers.items():
        axes.plot(range(len(gains)), gains, "o-", label=name)
    axes.set(xticks=range(1 + len(SESSIONS)), xticklabels=["none", *SESSIONS], ylim=(0, None))
    axes.set(xlabel="sessions in the click log", ylabel="gain in nDCG@10")
    axes.legend(fontsize=8)
    return figure


FIGURES = [
    Picture(
        "pictures/systems.png",
        "guides/encoder.md",
        read_systems,
        draw_systems,
        shown_on=("../README.md", "index.md"),
    ),
    Picture("pictures/clicks.png", "features.md", read_clicks, draw_clicks, shown_on=("guides/clicks.md",)),
    Picture("results/questions-gain.png", "results/questions.md", read_questions, draw_questions),
    Picture("results/label-curves.png", "results/label.md", read_label, draw_label),
    Picture("results/scale-cost.png", "results/scale.md", read_scale, draw_scale),
    Picture("results/benchmarks-speed.png", "results/benchmarks.md", read_benchmarks, draw_benchmarks),
    Picture(
        "results/htr-over-ssi-links-per-word.png", "results/htr-over-ssi.md", read_links_per_word, draw_links_per_word
    ),
    Picture("results/preference-agreement.png", "results/preference.md", read_preference, draw_preference),
    Picture("results/fuse-harm.png", "results/fuse.md", read_fuse, draw_fuse),
    Picture("results/advise-claims.png", "results/advise.md", read_advise, draw_advise),
    Picture(
        "results/judges-coverage.png", "results/judges.md", read_judges, draw_judges, ("guides/program-judges.md",)
    ),
]


def outdated() -> list[Picture]:
    """Pictures whose numbers differ from their page."""
    return [picture for picture in FIGURES if picture.stored() != picture.numbers()]


def main(arguments: list[str]) -> int:
    """Draw or name the outdated pictures."""
    pictures = outdated()
    for picture in pictures:
        sys.stdout.write(f"{picture.file}: differs from the table in {picture.page}\n")
        if "--check" not in arguments:
            picture.write()
    return 1 if pictures and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
