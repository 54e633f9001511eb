"""The language of a collection: real paragraphs in 12 languages, mixed collections, and English of every kind."""

import logging

import pytest

from tacit.core import Collection, TacitError
from tacit.features import find_language, has_stemmer
from tacit.features.text import languages

SENTENCES = {
    "en": "The committee will publish its report on the new railway next month.",
    "de": "Der Ausschuss veröffentlicht seinen Bericht über die neue Eisenbahn im nächsten Monat.",
    "fr": "Le comité publiera son rapport sur la nouvelle ligne de chemin de fer le mois prochain.",
    "fi": "Valiokunta julkaisee ensi kuussa raporttinsa uudesta rautatiestä.",
    "ru": "Комитет опубликует свой доклад о новой железной дороге в следующем месяце.",
    "zh": "委员会将在下个月公布关于新铁路的报告。",
    "th": "คณะกรรมการจะเผยแพร่รายงานเกี่ยวกับทางรถไฟสายใหม่ในเดือนหน้า",
    "bg": "Комисията ще публикува доклада си за новата железопътна линия следващия месец.",
    "vi": "Ủy ban sẽ công bố báo cáo về tuyến đường sắt mới vào tháng tới.",
}


def collection(*texts: str) -> Collection:
    return Collection([str(number) for number in range(len(texts))], [""] * len(texts), list(texts))


@pytest.mark.parametrize("language", SENTENCES)
def test_finds_the_language_or_says_any_where_there_is_no_tokenizer(language):
    found = find_language(collection(SENTENCES[language], SENTENCES[language].upper(), "2.4.1"))
    assert found == ("any" if language in ("bg", "vi") else language)


def test_several_languages_are_any_and_a_majority_decides():
    some = [SENTENCES[name] for name in ("en", "de", "fr", "ru")]
    assert find_language(collection(*some)) == "any"
    assert find_language(collection(*some, *[SENTENCES["fr"]] * 4)) == "fr"


def test_undecided_ascii_is_read_as_english():
    assert find_language(collection("a dog runs", "barks", "x1 y2", "Cat")) == "en"


def test_a_given_language_is_kept():
    assert find_language(collection(SENTENCES["de"]), "french") == "french"


def test_japanese_without_sudachi_is_read_as_characters(monkeypatch, caplog):
    texts = collection("委員会は新しい鉄道についての報告書を来月公表する予定です。")
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    with caplog.at_level(logging.WARNING, "tacit"):
        assert find_language(texts) == "any"
    assert "sudachipy is not installed" in caplog.text
    monkeypatch.setattr(languages, "find_spec", lambda name: object())
    assert find_language(texts) == "ja"


def test_stemmers_by_language():
    assert has_stemmer("pt-BR")
    assert not has_stemmer("any")


def test_a_full_disk_for_temporary_files_is_named(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(28, "No space left on device")

    languages._identifier.cache_clear()
    monkeypatch.setattr("py3langid.langid.LanguageIdentifier.from_model_file", refuse)
    with pytest.raises(TacitError, match=r"language cannot be found: .*: No space left .*; name it \(--language\)"):
        find_language(collection("a dog runs"))
    languages._identifier.cache_clear()
