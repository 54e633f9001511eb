"""Number the words of texts with a hash table over bytes.

Input is UTF-8 in which words are separated by spaces and every text ends with the byte 255, which never occurs in
UTF-8. The table uses open addressing with linear probing:

    slots[h & (len(slots) - 1)] = number of the word with hash h, -1 if free; len(slots) is a power of 2
    hashes[w] = hash of word w;  spelled[starts[w]:starts[w + 1] - 1] = its bytes, then one space

Words are numbered in order of first appearance. The caller allocates arrays that are large enough.
"""

from tacit.kernels.loops import njit

SPACE, END_OF_TEXT = 32, 255
_FNV_START, _FNV_PRIME, _FNV_MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF  # 32-bit FNV-1a


@njit(cache=True, nogil=True)
def number_words(text, slots, hashes, starts, spelled, n_words, numbers, places, row_ends):
    """Write the number and position of each word, and the number of words before each end of a text.

    Return the number of words in the table and the number of words written.
    """
    n_written, row, at = 0, 0, 0
    while at < len(text):
        if text[at] == END_OF_TEXT:
            row_ends[row] = n_written
            row += 1
            at += 1
        elif text[at] == SPACE:
            at += 1
        else:
            end, word_hash = scan_word(text, at)
            slot = find_slot(text, at, end, word_hash, slots, hashes, starts, spelled)
            if slots[slot] < 0:
                slots[slot] = n_words
                hashes[n_words] = word_hash
                spell_word(text, at, end, starts, spelled, n_words)
                n_words += 1
            numbers[n_written], places[n_written] = slots[slot], at
            n_written += 1
            at = end
    return n_words, n_written


@njit(cache=True, nogil=True)
def scan_word(text, start):
    """Return the end of the word that begins at start, and its hash."""
    word_hash, at = _FNV_START, start
    while text[at] != SPACE and text[at] != END_OF_TEXT:
        # int() keeps the arithmetic in 64 bits: 32 bits of hash times 25 bits of prime fit.
        word_hash = ((word_hash ^ int(text[at])) * _FNV_PRIME) & _FNV_MASK
        at += 1
    return at, word_hash


@njit(cache=True, nogil=True)
def find_slot(text, start, end, word_hash, slots, hashes, starts, spelled):
    """Return the slot of the word text[start:end], or the free slot where it belongs."""
    slot = (word_hash ^ (word_hash >> 15)) & (len(slots) - 1)
    while True:
        word = slots[slot]
        if word < 0:
            return slot
        if hashes[word] == word_hash and starts[word + 1] - 1 - starts[word] == end - start:
            first, offset = starts[word], 0
            while offset < end - start and spelled[first + offset] == text[start + offset]:
                offset += 1
            if offset == end - start:
                return slot
        slot = (slot + 1) & (len(slots) - 1)


@njit(cache=True, nogil=True)
def spell_word(text, start, end, starts, spelled, word):
    """Append the bytes of a new word and a space to `spelled`."""
    to = starts[word]
    for at in range(start, end):
        spelled[to] = text[at]
        to += 1
    spelled[to] = SPACE
    starts[word + 1] = to + 1


@njit(cache=True, nogil=True)
def refill_slots(slots, hashes, n_words):
    """Insert all words into an empty table of another size."""
    for word in range(n_words):
        slot = (hashes[word] ^ (hashes[word] >> 15)) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = word
