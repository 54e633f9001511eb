"""Japanese words: what is cut, dropped and kept; many texts give what each gives alone; a lost cache is no loss."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import MissingExtraError, UsageError
from tacit.features import TextVectorizer, tokenizer_for, tokenizer_from_spec
from tacit.features.text import japanese as module

pytest.importorskip("sudachipy")

TEXT = "ＪａｖａＳｃｒｉｐｔのArray.prototype.splice()は、配列の要素を取り除いたりします。"


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def japanese():
    return module.JapaneseWords()


def test_latin_words_stay_as_they_are_written(japanese):
    # Sudachi alone would make アレイ of Array: an untranslated word in disguise.
    assert japanese.words(TEXT) == [
        "javascript",
        "array",
        "prototype",
        "splice",
        "配列",
        "要素",
        "取る",
        "除く",
        "為る",
    ]


def test_scripts_within_one_word_are_parted(japanese):
    assert japanese.words("utf8の文字列とñandúへのアクセス") == ["utf8", "文字", "列", "ñandú", "アクセス"]


def test_spellings_of_a_word_become_one(japanese):
    assert japanese.words("サーバ") == japanese.words("サーバー") == japanese.words("ｻｰﾊﾞｰ")


def test_no_particle_auxiliary_or_sign_is_left(japanese):
    assert not {"の", "は", "、", "を", "。", "ます"} & set(japanese.words(TEXT))


@given(st.text(alphabet="配列のを取り除くｱﾊﾞー々〆ab1é、。 \n", max_size=30))
@settings(max_examples=60, deadline=None)
def test_spans_hold_the_words_and_their_places(text):
    japanese = module.JapaneseWords()
    spans = japanese.spans(text)
    assert [span.token for span in spans] == japanese.words(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(not any(char.isspace() for char in span.token) for span in spans)


def test_a_run_longer_than_sudachi_takes_is_cut_in_pieces(japanese):
    assert len(japanese.words("配列" * 12_000)) == 12_000


def test_many_texts_give_what_each_gives_alone(japanese, monkeypatch):
    monkeypatch.setattr("tacit.features.text.japanese.CHUNK_CHARACTERS", 50)
    texts = [f"{TEXT} {number}番目" for number in range(30)] + ["", "plain text"]
    alone = [japanese.joined(text) for text in texts]
    for threads in (1, 3):
        assert list(module.JapaneseWords().joined_many(iter(texts), threads)) == alone


def test_what_was_cut_once_comes_from_the_cache_unless_it_is_damaged(japanese, monkeypatch, tmp_path):
    monkeypatch.setattr("tacit.features.text.japanese.FEWEST_KEPT", 10)
    first = list(japanese.joined_many([TEXT, ""]))
    (kept,) = (tmp_path / "cache" / "japanese").iterdir()

    def fail(*args):
        raise AssertionError("cut again")

    with monkeypatch.context() as patch:
        patch.setattr(module.JapaneseWords, "words", fail)
        assert list(japanese.joined_many([TEXT, ""])) == first
        with pytest.raises(AssertionError, match="cut again"):
            list(japanese.joined_many([TEXT, "!"]))
    kept.write_bytes(kept.read_bytes()[:-3])
    assert list(japanese.joined_many([TEXT, ""])) == first


def test_a_cache_that_cannot_be_written_is_no_error(japanese, monkeypatch, tmp_path):
    monkeypatch.setattr("tacit.features.text.japanese.FEWEST_KEPT", 10)
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert list(japanese.joined_many([TEXT])) == [japanese.joined(TEXT)]


def test_a_vectorizer_of_japanese_comes_back_from_its_parts():
    first = TextVectorizer(language="ja").fit([TEXT, "配列を作る"])
    again = TextVectorizer.from_vocabulary(first.vocabulary_, first.idf_, first.n_docs_, language="ja")
    assert again.language == "ja"
    assert (again.transform(["要素を作った"]) != first.transform(["要素を作った"])).nnz == 0
    assert tokenizer_from_spec(first.tokenizer_.spec())(TEXT) == first.tokenizer_(TEXT)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    module._dictionary.cache_clear()
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "sudachidict_core" else sys)
    with pytest.raises(MissingExtraError, match=r"sudachidict-core.*pip install 'tacit-rank\[ja\]'"):
        tokenizer_for("ja")
    monkeypatch.undo()
    assert tokenizer_for("ja-JP").language == "ja"


def test_japanese_has_no_stems():
    with pytest.raises(UsageError, match="no Snowball stemmer"):
        tokenizer_for("ja", stem=True)
