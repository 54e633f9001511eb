"""The experiments by name and their needs.

An experiment is a module of its name with `run(request) -> Report` (in `collections`, `lists` or this package), and one
entry here. Modules are imported when they run, so that the list of experiments is fast. Other packages add experiments
by entry points of the group `tacit.methods`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from tacit.core import UsageError, check_choice, load_plugins
from tacit.experiments.report import Report
from tacit.experiments.request import Request

TWO_LANGUAGES = "TACIT_DATA with linked/ (mdn_ja_en, debian_ja_en), and the extra ja"
LINKED = "TACIT_DATA with linked/ (mdn_ja_en, wikispeedia, debian_ja_en, foldoc)"

LETOR_NEEDS = "TACIT_DATA with letor/ (OHSUMED-letor2, OHSUMED-letor3-QueryLevelNorm, MQ2008)"


@dataclass(frozen=True)
class Experiment:
    """An experiment that can be reproduced.

    Parameters
    ----------
    name : str
        Name on the command line.
    summary : str
        One line.
    needs : str
        Required data and extras.
    home : str, default=""
        Module with `run`.
    has_printed : bool, default=False
        Whether it has rows trained by a paper's own recipe, with `as_printed` or always.
    has_seeds : bool, default=False
        Whether it can run several seeds (`n_seeds`); others have one, or a fixed number.
    """

    name: str
    summary: str
    needs: str
    home: str = ""
    has_printed: bool = False
    has_seeds: bool = False

    def run(self, request: Request) -> Report:
        """Run the request."""
        if request.as_printed and not self.has_printed:
            names = ", ".join(name for name, experiment in EXPERIMENTS.items() if experiment.has_printed)
            raise UsageError(f"{self.name} has no rows of a printed recipe, want --as-printed with one of {names}")
        if request.n_seeds is not None and not self.has_seeds:
            names = ", ".join(name for name, experiment in EXPERIMENTS.items() if experiment.has_seeds)
            raise UsageError(f"{self.name} runs one --seed, want --seeds with one of {names}")
        if request.check and self.name != "papers":
            raise UsageError(f"--check compares the numbers of the papers page: give it to papers, not to {self.name}")
        report: Report = import_module(self.home).run(request)
        return report


def _ours(module: str, summary: str, needs: str, **options: bool) -> Experiment:
    """Return the entry of a module of this package, whose name is the experiment's with "_" for "-"."""
    name = module.rpartition(".")[2].replace("_", "-")
    return Experiment(name, summary, needs, f"tacit.experiments.{module}", **options)


PRINTED_AND_SEEDS = {"has_printed": True, "has_seeds": True}
EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        _ours(
            "papers",
            "numbers of the papers page with their commands; --check computes them again and compares",
            "nothing; with --check, TACIT_DATA with linked/ (mdn_ja_en, foldoc), text/ (reuters21578, usps) and letor/",
        ),
        _ours(
            "collections.links",
            "rank the documents that a document links to (HTR tables 2-3, SSI tables 1-4)",
            LINKED,
            **PRINTED_AND_SEEDS,
        ),
        _ours(
            "collections.htr_over_ssi",
            "when free vectors of items are better than their words: by known links, dimension, gamma, recipe",
            f"{LINKED}; nothing with --corpus generated",
            **PRINTED_AND_SEEDS,
        ),
        _ours(
            "collections.keywords",
            "the same for queries of 5, 10 and 20 words (SSI tables 5-6)",
            LINKED,
            **PRINTED_AND_SEEDS,
        ),
        _ours(
            "collections.questions",
            "typed queries of which few are judged, measured over the whole collection",
            "TACIT_DATA with text/ (collections with queries and judgments), or --corpus FOLDER of the same form",
            has_seeds=True,
        ),
        _ours(
            "collections.crosslang",
            "Japanese documents as queries for English ones (SSI table 9, figure 2, mate finding)",
            TWO_LANGUAGES,
            has_seeds=True,
        ),
        _ours(
            "collections.content",
            "match a page's body to titles and first sentences (SSI table 11)",
            LINKED,
            **PRINTED_AND_SEEDS,
        ),
        _ours(
            "collections.usps",
            "place unseen digits in an embedding of the training digits (HTR table 1, figure 2)",
            "TACIT_DATA with text/usps",
            **PRINTED_AND_SEEDS,
        ),
        _ours(
            "collections.reuters",
            "unseen news stories as queries for stories of their topics, without labels (HTR figure 1)",
            "TACIT_DATA with text/reuters21578",
            **PRINTED_AND_SEEDS,
        ),
        _ours(
            "lists.transduction",
            "a ranker trained for each test list (TRANS tables 2-5, figures 3-6)",
            LETOR_NEEDS,
            has_printed=True,
        ),
        _ours(
            "lists.semi_auc",
            "one relevant document of a query is known, and a tenth of the others (AUC table 1)",
            "TACIT_DATA with text/cacm",
        ),
        _ours(
            "lists.feedback",
            "the first results of a query are judged, the rest is ranked again (PREF figure 6)",
            "TACIT_DATA with text/ (cranfield, cacm, cisi)",
            has_printed=True,
        ),
        _ours("lists.spiral", "one preference between the ends of a spiral (PREF figures 2-4)", "nothing"),
        _ours(
            "lists.preference",
            "few labels of feature lists, with and without the unjudged rows (PREF figures 5 and 7)",
            f"{LETOR_NEEDS}, or text/ (cranfield, cacm, cisi)",
            **PRINTED_AND_SEEDS,
        ),
        _ours(
            "lists.label",
            "which documents to judge first: labels needed to reach random labelling",
            "TACIT_DATA with letor/ (three sets and WTR), text/ (cacm, cranfield, cisi)",
        ),
        _ours(
            "fuse",
            "weights over results of several systems: how often they lose to the default, and to the best of a grid",
            "TACIT_DATA with runs/dl21; texts: text/ (cranfield, cacm, cisi, cystic_fibrosis), vectors/",
        ),
        _ours(
            "judges",
            "program judges with few human-judged queries: intervals of differences, and training on lists",
            "TACIT_DATA with judges/ and runs/ (dl21), or letor/WTR and judges/wtr_gpt (--corpus WTR)",
        ),
    )
}


def all_experiments() -> dict[str, Experiment]:
    """Return the experiments by name, followed by the experiments of installed packages."""
    plugins = {plugin.name: plugin for plugin in load_plugins() if isinstance(plugin, Experiment)}
    return EXPERIMENTS | {name: plugin for name, plugin in plugins.items() if name not in EXPERIMENTS}


def get_experiment(name: str) -> Experiment:
    """Return the experiment with that name; raise an error that lists the names."""
    experiments = all_experiments()
    return experiments[check_choice("experiment", name, experiments)]
