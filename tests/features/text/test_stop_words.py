"""Stop words from each of their sources, and what each refuses."""

import pytest

from tacit.core import DataError, TacitError, UsageError
from tacit.features.text.tokenizers import load_stop_words


def test_none_words_english_and_files(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text("und oder\n\nnicht\n", encoding="utf-8")
    assert load_stop_words(None) == []
    assert load_stop_words({"der"}) == ["der"]
    assert load_stop_words(path) == load_stop_words(str(path)) == ["und", "oder", "nicht"]
    assert {"the", "of"} <= set(load_stop_words("english")) == set(load_stop_words("en"))


def test_a_missing_file_is_named_with_what_is_wanted():
    with pytest.raises(UsageError, match="stop_words is 'de', want 'en'"):
        load_stop_words("de")


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "stop.bin"
    path.write_bytes(b"und \xff oder")
    with pytest.raises(DataError, match=r"stop\.bin: is not UTF-8 text: .* at byte 4"):
        load_stop_words(path)


@pytest.mark.parametrize("bad", [["the", 3], [None], 7])
def test_words_must_be_strings(bad):
    with pytest.raises(TacitError, match="stop_words (contains|is 7, want words)"):
        load_stop_words(bad)


def test_the_stop_list_of_cacm(data_folder):
    words = load_stop_words(data_folder / "text" / "cacm" / "common_words.txt")
    assert len(words) > 400
    assert {"a", "the", "which"} <= set(words)
