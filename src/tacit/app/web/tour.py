"""The tour of `tacit serve` without a MODEL: BM25 on the embedded corpus, with sample queries and judgments.

The tour is a folder in the user's cache, so that it can be changed, trained and opened again. Its grades are not by
people: they were written from names and summaries of functions, with results of `blend` in view, which favours it. They
are stored as grades of a program, `sample`, which a training on the page names. They demonstrate the page and prove
nothing. Documents that are missing in the installed libraries are left out.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

from tacit.core import Collection, cache_folder
from tacit.data import read_pydocs
from tacit.data.pydocs.corpus import pydocs_versions
from tacit.judge import JudgmentStore
from tacit.search import Searcher

JUDGE, KIND = "sample", "program"
METHOD = "bm25"  # fast to fit, and the baseline of trained versions

# Grades by query and document: 3 answers the query fully, 2 in part, 1 is on the topic, 0 is not relevant.
SAMPLES: dict[str, dict[str, int]] = {
    "pseudo inverse of a singular matrix": {
        "numpy.linalg.pinv": 3, "scipy.linalg.pinv": 3, "scipy.linalg.pinvh": 2, "numpy.linalg.inv": 1,
        "scipy.linalg.inv": 1, "numpy.linalg.svd": 1, "numpy.linalg.lstsq": 1, "scipy.stats.multivariate_normal": 0,
        "scipy.linalg": 0, "numpy.matrix.I": 1, "numpy.linalg.cond": 0, "scipy.stats.matrix_normal": 0,
    },
    "interpolate scattered points": {
        "scipy.interpolate.griddata": 3, "scipy.interpolate.RBFInterpolator": 3, "scipy.interpolate.Rbf": 2,
        "scipy.interpolate.LinearNDInterpolator": 3, "scipy.interpolate.CloughTocher2DInterpolator": 3,
        "scipy.interpolate.NearestNDInterpolator": 3, "scipy.interpolate.lagrange": 0,
        "scipy.interpolate.RegularGridInterpolator": 1, "scipy.spatial.geometric_slerp": 0,
    },
    "cross validation that keeps groups together": {
        "sklearn.model_selection.GroupKFold": 3, "sklearn.model_selection.StratifiedGroupKFold": 3,
        "sklearn.model_selection.LeaveOneGroupOut": 3, "sklearn.model_selection.LeavePGroupsOut": 3,
        "sklearn.model_selection.GroupShuffleSplit": 3, "sklearn.model_selection.cross_val_score": 1,
        "sklearn.model_selection.cross_validate": 1, "sklearn.model_selection.permutation_test_score": 0,
        "sklearn.model_selection.KFold": 0, "sklearn.model_selection.LeavePGroupsOut.get_n_splits": 0,
    },
    "are two samples from the same distribution": {
        "scipy.stats.ks_2samp": 3, "scipy.stats.anderson_ksamp": 3, "scipy.stats.kstest": 3,
        "scipy.stats.cramervonmises_2samp": 3, "scipy.stats.epps_singleton_2samp": 3, "scipy.stats.mannwhitneyu": 2,
        "scipy.stats.bws_test": 3, "scipy.stats.ranksums": 2, "scipy.stats.energy_distance": 1,
        "scipy.stats.wasserstein_distance": 1, "scipy.stats.mstats.ttest_rel": 0, "scipy.stats.dunnett": 0,
        "scipy.stats.ttest_ind_from_stats": 0,
    },
    "remove noise without shifting the signal": {
        "scipy.signal.filtfilt": 3, "scipy.signal.sosfiltfilt": 3, "scipy.signal.savgol_filter": 3,
        "scipy.signal.medfilt": 2, "scipy.signal.wiener": 2, "scipy.signal.istft": 0, "scipy.signal.spectrogram": 0,
        "scipy.signal.find_peaks_cwt": 0, "scipy.signal.lfilter": 1, "scipy.signal.welch": 0,
    },
    "count how often each value occurs": {
        "numpy.unique_counts": 3, "numpy.bincount": 3, "numpy.unique": 3, "numpy.unique_all": 2,
        "scipy.stats.contingency.crosstab": 2, "numpy.histogram": 1, "numpy.count_nonzero": 1,
        "scipy.spatial.KDTree.count_neighbors": 0, "scipy.spatial.cKDTree.count_neighbors": 0,
        "scipy.stats.median_test": 0, "numpy.unpackbits": 0, "numpy.intc.bit_count": 0,
    },
    "smallest distance between two sets of points": {
        "sklearn.metrics.pairwise_distances_argmin_min": 3, "scipy.spatial.distance.cdist": 3,
        "sklearn.metrics.pairwise_distances_argmin": 2, "scipy.spatial.KDTree.query": 2,
        "sklearn.metrics.pairwise_distances": 2, "scipy.spatial.distance.directed_hausdorff": 1,
        "scipy.spatial.distance.pdist": 1, "scipy.spatial.Rectangle.max_distance_rectangle": 0,
        "scipy.cluster.hierarchy.cophenet": 0, "scipy.spatial.distance.seuclidean": 0,
    },
    "fit a line through noisy points": {
        "numpy.polyfit": 3, "scipy.stats.linregress": 3, "numpy.polynomial.polynomial.Polynomial.fit": 3,
        "scipy.optimize.curve_fit": 3, "sklearn.linear_model.LinearRegression": 2, "scipy.stats.siegelslopes": 2,
        "scipy.stats.theilslopes": 2, "sklearn.linear_model.RANSACRegressor": 2, "numpy.linalg.lstsq": 2,
        "scipy.signal.find_peaks_cwt": 0, "scipy.spatial.voronoi_plot_2d": 0,
        "sklearn.cluster.HDBSCAN.dbscan_clustering": 0, "sklearn.metrics.PredictionErrorDisplay": 0,
    },
    "turn categories into numbers": {
        "sklearn.preprocessing.OrdinalEncoder": 3, "sklearn.preprocessing.OneHotEncoder": 3,
        "sklearn.preprocessing.LabelEncoder": 3, "sklearn.preprocessing.TargetEncoder": 3,
        "sklearn.feature_extraction.DictVectorizer": 2, "sklearn.preprocessing.LabelBinarizer": 2,
        "sklearn.utils.check_random_state": 0, "sklearn.datasets.load_files": 0,
        "sklearn.naive_bayes.CategoricalNB": 0, "sklearn.datasets.fetch_openml": 0,
    },
    "fill in missing values": {
        "sklearn.impute.SimpleImputer": 3, "sklearn.impute.KNNImputer": 3, "sklearn.impute.IterativeImputer": 3,
        "sklearn.impute.MissingIndicator": 1, "numpy.nan_to_num": 2, "numpy.ma.MaskedArray.sort": 0,
        "numpy.ma.argsort": 0, "numpy.lib.recfunctions.merge_arrays": 0, "scipy.stats.mstats.argstoarray": 0,
        "sklearn.impute.SimpleImputer.transform": 2,
    },
    "solve a sparse system of linear equations": {
        "scipy.sparse.linalg.spsolve": 3, "scipy.sparse.linalg.factorized": 3, "scipy.sparse.linalg.cg": 3,
        "scipy.sparse.linalg.gmres": 3, "scipy.sparse.linalg.bicgstab": 2, "scipy.sparse.linalg.minres": 2,
        "scipy.sparse.linalg.splu": 3, "scipy.sparse.linalg.lsqr": 2, "scipy.sparse.linalg": 2,
        "numpy.linalg.solve": 1, "scipy.linalg": 0, "scipy.integrate.solve_ivp": 0,
    },
    "minimum of a function without derivatives": {
        "scipy.optimize.fmin": 3, "scipy.optimize.fmin_powell": 3, "scipy.optimize.minimize": 3,
        "scipy.optimize.differential_evolution": 2, "scipy.optimize.brute": 2, "scipy.optimize.minimize_scalar": 2,
        "scipy.signal.windows": 0, "scipy.special.pbdv_seq": 0, "scipy.special.pbvv_seq": 0,
        "scipy.interpolate.KroghInterpolator.derivatives": 0, "scipy.optimize.fmin_cobyla": 3,
    },
    "find clusters of any shape": {
        "sklearn.cluster.DBSCAN": 3, "sklearn.cluster.HDBSCAN": 3, "sklearn.cluster.OPTICS": 3,
        "sklearn.cluster.SpectralClustering": 3, "sklearn.cluster.HDBSCAN.fit": 1,
        "sklearn.cluster.AgglomerativeClustering": 2, "sklearn.cluster.get_bin_seeds": 0,
        "scipy.cluster.hierarchy.leaders": 0, "scipy.cluster.hierarchy.DisjointSet": 0, "sklearn.cluster.KMeans": 1,
    },
    "split a sentence into word counts": {
        "sklearn.feature_extraction.text.CountVectorizer": 3, "sklearn.feature_extraction.text.TfidfVectorizer": 2,
        "sklearn.feature_extraction.text.HashingVectorizer": 2, "numpy.char.split": 1, "numpy.char.rsplit": 0,
        "sklearn.model_selection.KFold.split": 0, "numpy.array_split": 0,
        "sklearn.model_selection.BaseShuffleSplit.split": 0, "numpy.strings.count": 0,
    },
    "how unbalanced classes are weighted": {
        "sklearn.utils.compute_class_weight": 3, "sklearn.utils.class_weight.compute_class_weight": 3,
        "sklearn.utils.compute_sample_weight": 3, "sklearn.utils.class_weight": 2,
        "sklearn.metrics.balanced_accuracy_score": 1, "sklearn.linear_model.SGDOneClassSVM.fit": 0,
        "sklearn.metrics.coverage_error": 0, "sklearn.naive_bayes.ComplementNB": 1,
    },
    "random numbers that can be repeated": {},
    "area under a curve from samples": {},
    "smooth curve through points": {},
    "join arrays side by side": {},
    "find peaks in a signal": {},
}  # fmt: skip


def tour_folder() -> Path:
    """Return the folder of the tour for the installed libraries."""
    name = hashlib.sha256(f"{pydocs_versions()} {sorted(SAMPLES.items())} {KIND}".encode()).hexdigest()[:12]
    return (cache_folder() or Path(tempfile.gettempdir())) / f"tour-{name}"


def open_tour(folder: Path | None = None) -> tuple[Path, Path, Searcher]:
    """Return model folder, judgment store and searcher of the tour, which are created on first use."""
    folder = folder or tour_folder()
    model, store = folder / "pydocs.model", folder / "pydocs.judgments"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
        folder.mkdir(parents=True)
        documents, _ = read_pydocs()
        Searcher(METHOD, stem=True).fit(documents).save(model)
        add_samples(store, documents)
        (folder / "complete").touch()
    sys.stderr.write(f"no MODEL given: serving the tour, stored in {folder}; delete that folder to start over\n")
    return model, store, Searcher.load(model)


def add_samples(path: Path, documents: Collection) -> None:
    """Add the sample queries and judgments, without documents that are not in the collection."""
    with JudgmentStore(path) as store:
        ids = [store.query_id(text) for text in SAMPLES]
        store.add_queries(Collection(ids, [""] * len(ids), list(SAMPLES)))
        for query, grades in SAMPLES.items():
            for document, grade in grades.items():
                if document in documents.row_of:
                    store.record(query, document, grade, JUDGE, kind=KIND)
