"""The experiments by name and their needs.

An experiment is a sub-package with a module `experiment` that has `run(request) -> Report`, and one entry here. Modules
are imported when they run, so that the list of experiments is fast. Other packages add experiments by entry points of
the group `tacit.methods`.
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
        Name on the command line; the sub-package has the same name, with "_" for "-".
    summary : str
        One line.
    needs : str
        Required data and extras.
    home : str, default=""
        Module with `run`; "" for the module of that name in this package.
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
        home = self.home or f"tacit.experiments.{self.name.replace('-', '_')}.experiment"
        report: Report = import_module(home).run(request)
        return report


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "papers",
            "numbers of the papers page with their commands; --check computes them again and compares",
            "nothing; with --check, TACIT_DATA with linked/ (mdn_ja_en, foldoc), text/ (reuters21578, usps) and letor/",
        ),
        Experiment(
            "links",
            "rank the documents that a document links to (HTR tables 2-3, SSI tables 1-4)",
            LINKED,
            has_printed=True,
            has_seeds=True,
        ),
        Experiment(
            "htr-over-ssi",
            "when free vectors of items are better than their words: by known links, dimension, gamma, recipe",
            f"{LINKED}; nothing with --corpus generated",
            has_printed=True,
            has_seeds=True,
        ),
        Experiment(
            "keywords",
            "the same for queries of 5, 10 and 20 words (SSI tables 5-6)",
            LINKED,
            has_printed=True,
            has_seeds=True,
        ),
        Experiment(
            "questions",
            "typed queries of which few are judged, measured over the whole collection",
            "TACIT_DATA with text/ (collections with queries and judgments), or --corpus FOLDER of the same form",
            has_seeds=True,
        ),
        Experiment(
            "crosslang",
            "Japanese documents as queries for English ones (SSI table 9, figure 2, mate finding)",
            TWO_LANGUAGES,
            has_seeds=True,
        ),
        Experiment(
            "content",
            "match a page's body to titles and first sentences (SSI table 11)",
            LINKED,
            has_printed=True,
            has_seeds=True,
        ),
        Experiment(
            "usps",
            "place unseen digits in an embedding of the training digits (HTR table 1, figure 2)",
            "TACIT_DATA with text/usps",
            has_printed=True,
            has_seeds=True,
        ),
        Experiment(
            "reuters",
            "unseen news stories as queries for stories of their topics, without labels (HTR figure 1)",
            "TACIT_DATA with text/reuters21578",
            has_printed=True,
            has_seeds=True,
        ),
        Experiment(
            "transduction",
            "a ranker trained for each test list (TRANS tables 2-5, figures 3-6)",
            LETOR_NEEDS,
            has_printed=True,
        ),
        Experiment(
            "semi-auc",
            "one relevant document of a query is known, and a tenth of the others (AUC table 1)",
            "TACIT_DATA with text/cacm",
        ),
        Experiment(
            "feedback",
            "the first results of a query are judged, the rest is ranked again (PREF figure 6)",
            "TACIT_DATA with text/ (cranfield, cacm, cisi)",
            has_printed=True,
        ),
        Experiment("spiral", "one preference between the ends of a spiral (PREF figures 2-4)", "nothing"),
        Experiment(
            "preference",
            "few labels of feature lists, with and without the unjudged rows (PREF figures 5 and 7)",
            f"{LETOR_NEEDS}, or text/ (cranfield, cacm, cisi)",
            has_printed=True,
            has_seeds=True,
        ),
        Experiment(
            "label",
            "which documents to judge first: labels needed to reach random labelling",
            "TACIT_DATA with letor/ (three sets and WTR), text/ (cacm, cranfield, cisi)",
        ),
        Experiment(
            "fuse",
            "weights over results of several systems: how often they lose to the default, and to the best of a grid",
            "TACIT_DATA with runs/dl21; texts: text/ (cranfield, cacm, cisi, cystic_fibrosis), vectors/",
        ),
        Experiment(
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
