"""A small package with one right answer; the real libraries: counts, links to check by eye, repetition."""

import hashlib
import os
import re
import subprocess
import sys
import textwrap
import warnings
from types import SimpleNamespace

import pytest

from tacit.core import Collection, Links, TacitError, UsageError
from tacit.data.pydocs import corpus as module
from tacit.data.pydocs.corpus import document_packages, pydocs_versions, read_packages, read_pydocs

FILES = {
    "__init__.py": '''
        """Shapes and their measures."""
        import warnings
        from tinydocs import figures as shapes
        from tinydocs._impl import Base, Square, area, hidden, unit

        surface = area
        __all__ = ["Base", "Square", "area", "gone", "shapes", "surface", "unit"]

        def __getattr__(name):
            if name == "gone":
                warnings.warn("gone is deprecated", DeprecationWarning)
                return area
            raise AttributeError(name)
    ''',
    "_impl.py": '''
        from functools import cached_property

        def area(shape):
            """Measure the inside.

            See Also
            --------
            surface : the same under another name
            Square.side, unit : what it depends on
            :func:`~tinydocs.figures.draw`
            math.prod : not among the packages

            Notes
            -----
            See also the *guide*.
            """

        def hidden():
            """Not listed."""

        class _Root:
            def grow(self):
                """Make it larger.

                See Also
                --------
                shrink
                """

            def shrink(self):
                """Make it smaller.

                See Also
                --------
                grow
                tinydocs.shapes.draw
                """

        class Base(_Root):
            """What all shapes share."""

            @classmethod
            def parse(cls):
                """Read a shape."""

            @property
            def side(self):
                """Length of a side.

                See Also
                --------
                area
                Base
                """
                raise AssertionError("a property was run")

            def _private(self):
                """Nobody's business."""

            def silent(self): ...

        class Square(Base):
            """Four equal sides."""

            colour = "red"

            def parse(self): ...

            @cached_property
            def diagonal(self):
                """From corner to corner."""
                raise AssertionError("a property was run")

            @staticmethod
            def make():
                """Read a shape."""

        class _Unit:
            """The square of side 1."""

            def __getattr__(self, name):
                raise AssertionError(f"{name} was looked up")

        unit = _Unit()
        another_square = Square()
    ''',
    "figures.py": '''
        """Drawing.

        .. seealso:: `area`
        """
        from os.path import join
        from tinydocs._impl import area

        def draw():
            """Draw <function draw at 0x7f00>.

            See Also
            --------
            tinydocs.figures
            nothing.like.it
            """

        def erase():
            """
            See Also
            --------
            draw
            """
    ''',
    "noisy.py": '''
        """Warns."""
        import warnings
        warnings.warn("do not import me", DeprecationWarning)
    ''',
    "needy.py": "import a_package_that_nobody_has",
    "quitter.py": "raise SystemExit(3)",
    "conftest.py": '"""Not for users."""',
    "_hidden.py": '"""Not for users."""',
    "tests/__init__.py": '"""Not for users."""',
    "deep/__init__.py": "",
    "deep/er.py": '"""Far inside."""',
}


@pytest.fixture
def tinydocs(tmp_path, monkeypatch):
    for name, source in FILES.items():
        path = tmp_path / "tinydocs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    yield "tinydocs"
    for name in [name for name in sys.modules if name.partition(".")[0] == "tinydocs"]:
        del sys.modules[name]


def test_the_small_package_gives_exactly_these_objects_and_links(tinydocs):
    docs = read_packages([tinydocs])
    assert docs.texts == {
        "tinydocs": "Shapes and their measures.",
        "tinydocs.Base": "What all shapes share.",
        "tinydocs.Base.grow": "Make it larger.",
        "tinydocs.Base.parse": "Read a shape.",
        "tinydocs.Base.shrink": "Make it smaller.",
        "tinydocs.Base.side": "Length of a side.",
        "tinydocs.Square": "Four equal sides.",
        "tinydocs.Square.diagonal": "From corner to corner.",
        "tinydocs.area": "Measure the inside.\nNotes\nSee also the guide.",
        "tinydocs.deep.er": "Far inside.",
        "tinydocs.figures": "Drawing.",
        "tinydocs.figures.draw": "Draw <function draw>.",
        "tinydocs.noisy": "Warns.",
        "tinydocs.unit": "The square of side 1.",
    }
    assert docs.links == [
        ("tinydocs.Base.grow", "tinydocs.Base.shrink"),
        ("tinydocs.Base.shrink", "tinydocs.Base.grow"),
        ("tinydocs.Base.shrink", "tinydocs.figures.draw"),
        ("tinydocs.Base.side", "tinydocs.Base"),
        ("tinydocs.Base.side", "tinydocs.area"),
        ("tinydocs.area", "tinydocs.Base.side"),
        ("tinydocs.area", "tinydocs.figures.draw"),
        ("tinydocs.area", "tinydocs.unit"),
        ("tinydocs.figures", "tinydocs.area"),
        ("tinydocs.figures.draw", "tinydocs.figures"),
    ]
    assert docs.unresolved == [("tinydocs.area", "math.prod"), ("tinydocs.figures.draw", "nothing.like.it")]


def test_rows_follow_the_names(tinydocs):
    docs, (documents, links) = read_packages([tinydocs]), document_packages([tinydocs])
    assert documents.ids == sorted(docs.texts)
    assert list(documents.full_texts()) == [f"{name}: {docs.texts[name]}" + "\n" * ("\n" not in docs.texts[name])
                                            for name in documents.ids]  # fmt: skip
    assert [
        (documents.ids[s], documents.ids[t]) for s, t in zip(links.sources, links.targets, strict=True)
    ] == docs.links


def test_no_warning_leaves_and_the_filters_stay(tinydocs):
    before = warnings.filters[:]
    document_packages([tinydocs])  # pytest turns a warning into an error
    assert warnings.filters == before


@pytest.mark.parametrize("names", [["no_such_package"], [""], [".x"], "json"])
def test_names_of_no_package_are_refused(names):
    with pytest.raises(UsageError, match="want"):
        document_packages(names)


def test_a_run_without_docstrings_is_refused(tmp_path, monkeypatch):
    flags = SimpleNamespace(optimize=2)
    monkeypatch.setattr(module, "sys", SimpleNamespace(flags=flags, version_info=sys.version_info))
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    with pytest.raises(TacitError, match="-OO"):
        read_pydocs()
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def real():
    return read_packages(("numpy", "scipy", "sklearn"))


def test_the_real_libraries_are_there_in_full(real):
    assert 4500 < len(real.texts) < 8000
    assert 4500 < len(real.links) < 9000
    assert len(real.unresolved) < 0.03 * len(real.links)
    roots = [name.partition(".")[0] for name in real.texts]
    assert all(roots.count(root) > 1000 for root in ("numpy", "scipy", "sklearn"))


def test_texts_are_clean_and_each_is_there_once(real):
    header = re.compile(r"^\s*(see also|references):?\s*$", re.IGNORECASE | re.MULTILINE)
    for name, text in real.texts.items():
        assert text.strip(), name
        assert not header.search(text), name
        assert not re.search(r" at 0x|`|>>>|\0", text), name
    assert len(set(real.texts.values())) == len(real.texts)
    assert not any(part.startswith("_") for name in real.texts for part in name.split("."))


@pytest.mark.parametrize(
    ("name", "summary", "targets"),
    [
        (
            "numpy.linalg.pinv",
            "Compute the (Moore-Penrose) pseudo-inverse of a matrix.",
            "scipy.linalg.pinv scipy.linalg.pinvh",
        ),
        ("scipy.linalg.pinv", "Compute the (Moore-Penrose) pseudo-inverse of a matrix.", "scipy.linalg.pinvh"),
        ("numpy.ndarray.sum", "Return the sum of the array elements over the given axis.", "numpy.sum"),
        ("numpy.r_", "Translates slice objects to concatenation along the first axis.", "numpy.c_ numpy.concatenate"),
        ("sklearn.cluster.MiniBatchKMeans", "Mini-Batch K-Means clustering.", "sklearn.cluster.KMeans"),
        ("scipy.stats.norm", "A normal continuous random variable.", ""),
    ],
)
def test_objects_that_can_be_looked_up_in_any_manual(real, name, summary, targets):
    assert real.texts[name].split("\n")[0] == summary
    assert [target for source, target in real.links if source == name] == targets.split()


def test_names_that_stand_for_others(real):
    assert {"numpy.absolute", "numpy.float64", "numpy.random.rand", "numpy.emath.log"} <= real.texts.keys()
    aliases = {"numpy.abs", "numpy.double", "numpy.random.RandomState.rand", "numpy.lib.scimath.log"}
    assert not aliases & real.texts.keys()
    inherited = [name for name in real.texts if name.endswith(".set_params")]
    assert "sklearn.base.BaseEstimator.set_params" in inherited
    assert len(inherited) < 10  # of two hundred classes; some say it in words of their own


def digest(documents, links):
    content = repr((list(documents), links.sources.tolist(), links.targets.tolist()))
    return hashlib.sha256(content.encode()).hexdigest()


OTHER_ORDER = """
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer
import hashlib, scipy.stats.mstats
from tacit.data.pydocs.corpus import read_packages
docs = read_packages(("sklearn", "scipy", "numpy"))
print(hashlib.sha256(repr((sorted(docs.texts.items()), docs.links, docs.unresolved)).encode()).hexdigest())
"""


def test_hash_seeds_and_the_order_of_imports_change_nothing(real):
    here = hashlib.sha256(repr((sorted(real.texts.items()), real.links, real.unresolved)).encode()).hexdigest()
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    command = [sys.executable, "-c", OTHER_ORDER]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
    )
    assert done.stdout.strip() == here


TINY = Collection(["a", "b"], ["a", "b"], ["x", "y"], name="pydocs"), Links([0], [1], 2, 2)


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """A list that grows by one whenever the corpus is built, with a cache of its own."""
    calls = []
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "document_packages", lambda names: calls.append(names) or TINY)
    return calls


def test_built_once_then_kept(builds, tmp_path):
    first, again = read_pydocs(), read_pydocs()
    assert builds == [("numpy", "scipy", "sklearn")]
    assert digest(*first) == digest(*again) == digest(*TINY)
    (file,) = tmp_path.iterdir()
    assert all(version in file.name for version in re.findall(r"[\d.]+\d", pydocs_versions()))


def test_a_damaged_cache_is_built_again_and_mended(builds, tmp_path):
    read_pydocs()
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert digest(*read_pydocs()) == digest(*TINY)
    assert len(builds) == 2
    assert digest(*read_pydocs()) == digest(*TINY)
    assert len(builds) == 2


def test_other_versions_and_other_formats_are_built_anew(builds, monkeypatch):
    read_pydocs()
    monkeypatch.setattr(module, "_FORMAT", 0)
    read_pydocs()
    monkeypatch.setattr(module.importlib.metadata, "version", lambda name: "99.0")
    read_pydocs()
    assert len(builds) == 3


def test_without_cache_nothing_is_read_or_written(builds, tmp_path):
    read_pydocs(cache=False)
    assert not list(tmp_path.iterdir())
    read_pydocs()
    read_pydocs(cache=False)
    assert len(builds) == 3


def test_an_unwritable_cache_is_no_error(builds, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "file" / "inside"))
    assert digest(*read_pydocs()) == digest(*read_pydocs()) == digest(*TINY)
    assert len(builds) == 2


def test_versions_are_those_that_are_imported():
    import numpy
    import scipy
    import sklearn

    wanted = f"numpy {numpy.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    assert pydocs_versions() == wanted


def test_versions_without_metadata_come_from_the_package(monkeypatch):
    wanted = pydocs_versions()

    def unknown(name):
        raise module.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.importlib.metadata, "version", unknown)
    assert pydocs_versions() == wanted
