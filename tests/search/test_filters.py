"""Filters against brute force over plain dictionaries; pages, facets, orders and groups against sorted lists."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from tacit.core import Collection, UsageError
from tacit.data import as_collection
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend.member import Limits
from tacit.search import Searcher
from tacit.search.filters import filter_mask

WORDS = ["cat", "dog", "cow", "hen", "fox", "owl", "bee", "ant", "elk", "emu", "yak", "ram", "pig", "rat", "bat"]
N_DOCUMENTS = 400


def make_rows(seed=0):
    rng = random.Random(seed)
    rows = []
    for number in range(N_DOCUMENTS):
        row = {"id": f"d{number}", "title": rng.choice(WORDS), "text": " ".join(rng.choices(WORDS, k=12))}
        row["price"] = rng.choice([None, 1, 2.5, 10, 10, 99])
        row["color"] = rng.choice([None, "red", "dark blue", "green"])
        row["tags"] = rng.choice([None, [], ["a"], ["a", "b"], ["b", "c c"]])
        row["stock"] = rng.choice([None, True, False])
        row["day"] = rng.choice([None, "2023-12-31", "2024-01-01", "2024-02-29", "2025-06-15"])
        rows.append(row)
    return rows


ROWS = make_rows()
DOCS = as_collection(ROWS)


@pytest.fixture(scope="module", params=["blend", "bm25", "lsi", "qe"])
def searcher(request):
    return Searcher(request.param).fit(DOCS)


def random_filter(rng, depth=0):
    """A filter and the function of a row that it means."""
    kind = rng.random()
    if depth < 3 and kind < 0.45:
        (left, of_left), (right, of_right) = random_filter(rng, depth + 1), random_filter(rng, depth + 1)
        if rng.random() < 0.5:
            return f"({left}) and ({right})", lambda row: of_left(row) and of_right(row)
        return f"({left} or {right})", lambda row: of_left(row) or of_right(row)
    if depth < 3 and kind < 0.6:
        inner, of_inner = random_filter(rng, depth + 1)
        return f"not ({inner})", lambda row: not of_inner(row)
    return rng.choice([number_filter, word_filter, list_filter, boolean_filter, date_filter, exists_filter])(rng)


def compare(sign, a, b):
    return {"=": a == b, ":": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]


def number_filter(rng):
    sign, value = rng.choice(["=", ":", "!=", "<", "<=", ">", ">="]), rng.choice([0, 1, 2.5, 10, 50])
    return f"price {sign} {value}", lambda row: row["price"] is not None and compare(sign, row["price"], value)


def word_filter(rng):
    sign, value = rng.choice(["=", "!=", "<", "<=", ">", ">="]), rng.choice(["red", "dark blue", "pink"])
    return f"color {sign} '{value}'", lambda row: row["color"] is not None and compare(sign, row["color"], value)


def list_filter(rng):
    values = rng.sample(["a", "b", "c c", "d"], 2)
    among = ", ".join(f'"{value}"' for value in values)
    if rng.random() < 0.5:
        return f"tags in ({among})", lambda row: bool(set(row["tags"] or ()) & set(values))
    return f"tags not in ({among})", lambda row: row["tags"] is not None and not set(row["tags"]) & set(values)


def boolean_filter(rng):
    value = rng.random() < 0.5
    return f"stock = {str(value).lower()}", lambda row: row["stock"] is value


def date_filter(rng):
    sign, value = rng.choice(["=", "<", "<=", ">", ">="]), rng.choice(["2024", "2024-01", "2024-02-29"])

    def means(row):
        day = row["day"]
        return day is not None and compare(sign, day[: len(value)], value)

    return f"day {sign} {value}", means


def exists_filter(rng):
    name = rng.choice(["price", "color", "tags", "stock", "day"])
    return f"{name} exists", lambda row: row[name] is not None


def test_random_filters_are_what_brute_force_says():
    rng = random.Random(1)
    for _ in range(400):
        text, means = random_filter(rng)
        assert filter_mask(text, DOCS).tolist() == [means(row) for row in ROWS], text


def test_the_ranking_with_a_filter_is_the_ranking_without_it_less_what_is_excluded(searcher):
    rng = random.Random(2)
    for _ in range(40):
        text, means = random_filter(rng)
        query, k, offset = " ".join(rng.sample(WORDS, 2)), rng.choice([1, 5, 30]), rng.choice([0, 0, 3])
        every = searcher.search(query, N_DOCUMENTS)
        wanted = [(hit.id, hit.score) for hit in every if means(ROWS[int(hit.id[1:])])][offset : offset + k]
        found = searcher.search(query, k, filter=text, offset=offset)
        assert [(hit.id, hit.score) for hit in found] == wanted, text
        assert [hit.rank for hit in found] == list(range(offset + 1, offset + 1 + len(found)))


@pytest.mark.parametrize("pruned", [False, True])
def test_few_documents_that_pass_have_the_bits_of_the_ranking(searcher, pruned, monkeypatch):
    monkeypatch.setattr(BlendRanker, "limits", Limits(per_result=1 if pruned else 300))
    rng = random.Random(3)
    for n_kept in (0, 1, 7, 20, 21, 60):
        ids = {f"d{row}" for row in rng.sample(range(N_DOCUMENTS), n_kept)}
        text = f"id in ({', '.join(ids or ['none'])})"
        query = " ".join(rng.sample(WORDS, 3))
        wanted = [(hit.id, hit.score) for hit in searcher.search(query, N_DOCUMENTS) if hit.id in ids]
        found = searcher.search(query, 10, filter=text)
        assert [(hit.id, hit.score) for hit in found] == wanted[:10]


def matches(searcher, query):
    """All hits that are counted and sorted: `blend` also ranks documents without any word of the query."""
    every, words = searcher.search(query, N_DOCUMENTS), set(query.split())
    texts = {row["id"]: f"{row['title']} {row['text']}" for row in ROWS}
    return [hit for hit in every if searcher.method != "blend" or words & set(texts[hit.id].split())]


def test_facets_count_all_matches(searcher):
    every = matches(searcher, "cat dog")
    found = searcher.search("cat dog", 3, facets=["color", "tags", "stock", "price", "day"])
    rows = [ROWS[int(hit.id[1:])] for hit in every]
    assert found.total == len(every)
    assert found.facets["color"] == Counter(row["color"] for row in rows if row["color"])
    assert found.facets["tags"] == Counter(tag for row in rows for tag in row["tags"] or ())
    assert found.facets["stock"] == Counter(row["stock"] for row in rows if row["stock"] is not None)
    assert found.facets["price"] == Counter(row["price"] for row in rows if row["price"] is not None)
    assert found.facets["day"] == Counter(row["day"] for row in rows if row["day"])
    assert list(found.facets["color"].values()) == sorted(found.facets["color"].values(), reverse=True)


@pytest.mark.parametrize("sort", ["price", "-price", "color", "-day"])
def test_orders_keep_relevance_among_equals_and_missing_values_last(searcher, sort):
    name, sign = sort.removeprefix("-"), sort.startswith("-")
    every = matches(searcher, "cat dog")
    given = [hit for hit in every if name in hit.fields]
    wanted = sorted(given, key=lambda hit: hit.fields[name], reverse=sign)
    wanted = [*wanted, *(hit for hit in every if name not in hit.fields)]
    found = searcher.search("cat dog", 50, sort=sort, offset=5)
    assert [hit.id for hit in found] == [hit.id for hit in wanted[5:55]]


def test_what_is_counted_and_sorted_has_a_content_word_of_the_query():
    rows = [
        {"id": "a", "text": "a laptop with a bag", "price": 900},
        {"id": "b", "text": "a bag to carry", "price": 20},
        {"id": "c", "text": "a notebook and a bag to carry", "price": 700},
        {"id": "d", "text": "what a phone", "price": 1},
        {"id": "e", "text": "laptop", "price": 500},
        *({"id": f"f{n}", "text": f"a thing {n} with a bag", "price": n} for n in range(30)),
    ]
    searcher = Searcher(dim=3, language="en").fit(rows)
    every = searcher.search("what is a laptop", 50)
    assert len(every) > 2
    found = searcher.search("what is a laptop", sort="price")
    assert ([hit.id for hit in found], found.total) == (["e", "a"], 2)
    score = {hit.id: hit.score for hit in every}
    assert [hit.score for hit in found] == [score[hit.id] for hit in found]
    counted = searcher.search("what is a laptop", 50, facets=["price"])
    assert (counted.total, counted.facets["price"]) == (2, {500: 1, 900: 1})
    assert [(hit.id, hit.score) for hit in counted] == [(hit.id, hit.score) for hit in every]  # the ranking stays
    assert [hit.id for hit in searcher.search("laptop", sort="price", filter="price < 600")] == ["e"]
    assert searcher.search("what", sort="price")[0].id == "d"  # nothing else was asked
    assert [hit.id for hit in searcher.search("laptp", sort="price")] == ["e", "a"]
    assert len(searcher.search("unknowable", sort="price")) == 0


def test_groups_show_the_best_of_each(searcher):
    every = searcher.search("cat dog", N_DOCUMENTS, filter="color exists")
    wanted = list({hit.fields["color"]: hit.id for hit in reversed(every)}.values())
    found = searcher.search("cat dog", 10, filter="color exists", group="color")
    assert {hit.id for hit in found} == set(wanted)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    loose = searcher.search("cat dog", N_DOCUMENTS, group="color")
    assert sum("color" not in hit.fields for hit in loose) == sum(
        "color" not in hit.fields for hit in searcher.search("cat dog", N_DOCUMENTS)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "filter is empty"),
        ("price", "filter ends after 'price', want =, !="),
        ("price <", "filter ends after 'price <', want a value"),
        ("price < 3 and", "filter ends after"),
        ("price < 3 color = red", "found 'color' in .* want and, or, or the end"),
        ("(price < 3", r"filter ends after .* want '\)'"),
        ("price like 3", "found 'like' in 'price like 3', want =, !="),
        ("colour = red", "field of the filter is 'colour', .*did you mean 'color'"),
        ("price = cheap", "price is a number, found 'cheap'"),
        ("price = nan", "price is a number, found 'nan'"),
        ("day = tomorrow", "day is a date, found 'tomorrow', want such as 2024"),
        ("day = 2024-13", "day is a date"),
        ("stock = maybe", "stock is true or false"),
        ("stock < true", "stock is true or false"),
        ("id < d3", "id is id, which can be compared by =, != and in only"),
        ("color < 5", "color is a keyword, such as 'dark blue', want a number to compare with 5; '5' in quotes"),
        ("tags >= 2.5", "tags is a keyword, such as 'a', want a number"),
        ("price = 'x", "cannot read"),
        ("price ! 3", "cannot read"),
        ("price in 3", r"found '3' in .* want '\('"),
        ("and = 3", "want the name of a field"),
        ("(" * 200, "nested more than 50 deep"),
        ("x" * 30_000, "filter has 30000 characters"),
        (3, "filter is of type int"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(UsageError, match=message):
        filter_mask(text, DOCS)


def test_mistakes_of_searches(searcher):
    for how, message in (
        ({"facets": "shape"}, "facet is 'shape', want one of price, color"),
        ({"sort": "tags"}, "tags is a list of keywords"),
        ({"group": "tags"}, "tags is a list of keywords"),
        ({"sort": "text"}, "sort is 'text', want one of"),
        ({"sort": "price:desc"}, "sort is 'price:desc', want 'price' for ascending and '-price' for descending"),
        ({"offset": -1}, "offset is -1, want a whole number >= 0"),
        ({"fliter": "x"}, "parameter of search is 'fliter', .*did you mean 'filter'"),
    ):
        with pytest.raises(UsageError, match=message):
            searcher.search("cat", **how)
    bare = Searcher("tfidf").fit(["cats purr", "dogs bark"])
    with pytest.raises(UsageError, match="the documents have no field 'price', nor any other"):
        bare.search("cats", filter="price = 3")
    assert bare.search("cats", filter="id = 0")[0].id == "0"
    assert not bare.search("cats", filter="id != 0")


def test_a_number_in_quotes_is_compared_with_words_as_text():
    sizes = as_collection([{"id": str(size), "size": size, "text": "shoe"} for size in ("38", "9", "M")])
    assert filter_mask("size > '4'", sizes).tolist() == [False, True, True]
    assert filter_mask("size = 38", sizes).tolist() == [True, False, False]


def messy_rows(seed=3):
    rng = random.Random(seed)
    zones = [UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-9, minutes=-30))]
    start = datetime(2024, 1, 30, 22, tzinfo=UTC)
    for number in range(200):
        at = (start + timedelta(minutes=45 * rng.randrange(200))).astimezone(rng.choice(zones))
        yield {
            "id": number,
            "text": "shoe",
            "cost": rng.choice([None, "9", "9.00", "10.5", "100", "-3"]),
            "sizes": rng.choice([None, [], [38], [9, 38.5], [100, 9]]),
            "at": rng.choice([None, at.isoformat()]),
        }


def test_numbers_in_quotes_lists_of_numbers_and_times_with_an_offset():
    rng, rows = random.Random(2), list(messy_rows())
    docs = as_collection(rows)
    assert {name: column.kind for name, column in docs.extras.items()} == {
        "cost": "keyword", "sizes": "keywords", "at": "date"
    }  # fmt: skip
    for _ in range(200):
        sign, value = rng.choice(["=", "<", "<=", ">", ">="]), rng.choice([9, 9.0, 38.5, 50, -3])
        costs = [row["cost"] is not None and compare(sign, float(row["cost"]), value) for row in rows]
        assert filter_mask(f"cost {sign} {value}", docs).tolist() == costs
        sizes = [any(compare(sign, size, value) for size in row["sizes"] or ()) for row in rows]
        assert filter_mask(f"sizes {sign} {value}", docs).tolist() == sizes
        time = rng.choice([datetime.fromisoformat(row["at"]) for row in rows if row["at"]])
        times = [row["at"] is not None and compare(sign, datetime.fromisoformat(row["at"]), time) for row in rows]
        assert filter_mask(f"at {sign} {time.isoformat()}", docs).tolist() == times
    unequal = [row["cost"] is not None and float(row["cost"]) != 9 for row in rows]
    assert filter_mask("cost != 9", docs).tolist() == filter_mask("cost not in (9)", docs).tolist() == unequal
    with pytest.raises(UsageError, match="cost is a number, found 'cheap'"):
        filter_mask("cost < cheap", docs)
    assert filter_mask("cost = '9'", docs).tolist() == [row["cost"] == "9" for row in rows]


def test_numbers_in_quotes_are_sorted_as_numbers():
    prices = ["100", None, "9.50", "20"]
    searcher = Searcher("bm25").fit([{"text": "shoe", "price": price} for price in prices])
    assert [hit.fields.get("price") for hit in searcher.search("shoe", sort="price")] == ["9.50", "20", "100", None]
    assert [hit.fields.get("price") for hit in searcher.search("shoe", sort="-price")] == ["100", "20", "9.50", None]


def test_a_field_that_is_not_a_number_everywhere(caplog):
    searcher = Searcher("bm25").fit([{"id": n, "text": "shoe", "price": n} for n in (1, 2)])
    searcher.add([{"id": 3, "text": "shoe", "price": "4.5"}])
    assert [hit.id for hit in searcher.search("shoe", filter="price > 1", sort="-price")] == ["3", "2"]
    assert not caplog.messages
    searcher.add([{"id": 4, "text": "shoe", "price": "call us"}])
    assert caplog.messages == ["field price was a number and becomes a keyword, with new values such as 'call us'"]
    with pytest.raises(UsageError, match="price is a keyword, such as 'call us', want a number to compare with 1;"):
        searcher.search("shoe", filter="price > 1")
    searcher.remove([4])
    assert [hit.id for hit in searcher.search("shoe", filter="price > 1")] == ["2", "3"]


def test_a_date_is_not_compared_with_other_words():
    docs = as_collection(
        [{"text": "a", "day": day, "month": day[6:] + "-" + day[3:5]} for day in ("31.12.2023", "01.05.2024")]
    )
    with pytest.raises(UsageError, match="day is a keyword, such as '01.05.2024', want a date to compare with 2024-01"):
        filter_mask("day > 2024-01", docs)
    assert filter_mask("month > 2024-01", docs).tolist() == [False, True]


def test_names_and_values_in_quotes():
    docs = Collection(["a", "b"], ["", ""], ["x", "y"], {"list price": [1, 2], "who": ['O\'Neil "Sam"', "and"]})
    assert filter_mask('"list price" = 2', docs).tolist() == [False, True]
    assert filter_mask(r'who = "O\'Neil \"Sam\""', docs).tolist() == [True, False]
    assert filter_mask("who = 'and'", docs).tolist() == [False, True]
    times = Collection(["a", "b"], ["", ""], ["x", "y"], {"t": ["2024-01-01T10:30:00", "2024-01-01T10:31:00"]})
    assert filter_mask("t > 2024-01-01T10:30:00", times).tolist() == [False, True]
    assert filter_mask("t = 2024-01-01", times).tolist() == [True, True]


def test_a_wide_filter_looks_a_little_deeper_and_a_narrow_one_scores_what_it_leaves(monkeypatch):
    searcher, depths = Searcher("blend").fit(DOCS), []
    rank = searcher.ranker_.rank
    monkeypatch.setattr(searcher.ranker_, "rank", lambda rows, k: depths.append(k) or rank(rows, k), raising=False)
    searcher.search("cat", 5, filter="price exists")
    assert len(depths) == 1
    assert depths[0] < 60
    searcher.search("cat", 5, filter="id = d7")
    assert len(depths) == 1
    searcher.ranker_.n_candidates = 100  # the ranking chooses its candidates, so it has to look at all of it
    searcher.search("cat", 5, filter="id = d7")
    assert depths[-1] == N_DOCUMENTS


def test_hits_in_a_notebook(searcher):
    hits = searcher.search("cat dog", 4, filter="price < 50")
    frame = hits.to_frame()
    assert list(frame.columns[:5]) == ["rank", "id", "score", "title", "snippet"]
    assert list(frame.id) == [hit.id for hit in hits]
    assert "price" in frame.columns
    assert len(repr(hits).splitlines()) == 4
    assert "<table>" in hits._repr_html_()
    shop = Searcher("bm25", language="en").fit([{"id": "a", "text": "cat", "price": 12_345.5, "tags": ["x", "y"]}])
    assert "<td>12345.5</td><td>x, y</td>" in shop.search("cat")._repr_html_()
    many = searcher.search(["cat", "dog"], 2, snippets=False)
    assert [[hit.id for hit in found] for found in many] == [
        [hit.id for hit in searcher.search(query, 2)] for query in ("cat", "dog")
    ]
    assert many[0][0].snippet.text == ""
    assert np.isfinite(frame.score).all()


def test_the_mask_of_a_filter_is_kept_until_the_documents_change(monkeypatch):
    made = Searcher("bm25", language="en").fit(as_collection(ROWS[:50]))
    first = [hit.id for hit in made.search("cat", 50, filter="price < 50")]
    with monkeypatch.context() as patched:
        patched.setattr("tacit.search.querying.filter_mask", lambda *given: pytest.fail("made twice"))
        assert [hit.id for hit in made.search("cat", 50, filter="price < 50")] == first
    made.add([{"id": "new", "title": "cat", "text": "cat", "price": 7}]).remove(first[:1])
    assert {hit.id for hit in made.search("cat", 60, filter="price < 50")} == {*first[1:], "new"}
    for number in range(40):
        made.search("cat", filter=f"price < {number}")
    assert len(made._recent[1]) <= 16


def test_texts_are_read_once_for_all_searches_with_a_phrase(monkeypatch):
    made = Searcher("bm25", language="en").fit(
        as_collection([{"id": str(n), "text": f"red shoe {n}"} for n in range(30)])
    )
    first = made.search('"red shoe"', 5)
    monkeypatch.setattr("tacit.search.query.restrictions.Contains.__call__", lambda *given: pytest.fail("read twice"))
    assert [hit.id for hit in made.search('"red shoe"', 3)] == [hit.id for hit in first[:3]]


@pytest.mark.parametrize("method", ["blend", "bm25"])
def test_fields_survive_add_remove_save_and_load(tmp_path, method):
    fitted = Searcher(method).fit(as_collection(ROWS[:300]))
    fitted.add([*ROWS[300:], {"id": "new", "title": "cat", "text": "cat", "price": 7, "weight": 3}])
    fitted.remove(["d5"])
    fitted.save(tmp_path / "m")
    loaded = Searcher.load(tmp_path / "m")
    for one in (fitted, loaded):
        documents = one.documents_
        wanted = {row["id"]: row for row in ROWS} | {"new": {"price": 7, "weight": 3}}
        for row, name in enumerate(documents.ids):
            fields = {key: wanted[name].get(key) for key in ("price", "color", "tags", "stock", "day", "weight")}
            assert documents.fields(row) == {key: value for key, value in fields.items() if value is not None}
        assert [hit.id for hit in one.search("cat", filter="weight = 3")] == ["new"]
        assert one.search("cat", 1, filter="id = new")[0].fields == {"price": 7, "weight": 3}
    assert type(loaded.documents_.extras["price"].values.base) is not type(None)
    kinds = {name: column.kind for name, column in loaded.documents_.extras.items()}
    assert kinds == {
        "price": "number", "color": "keyword", "tags": "keywords", "stock": "boolean", "day": "date", "weight": "number"
    }  # fmt: skip
