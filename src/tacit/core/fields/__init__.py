"""Typed columns for document fields other than title and text: the kinds (`columns`) and the choice of a kind."""

from tacit.core.fields.columns import NUMBER as NUMBER
from tacit.core.fields.columns import BooleanColumn as BooleanColumn
from tacit.core.fields.columns import Column as Column
from tacit.core.fields.columns import DateColumn as DateColumn
from tacit.core.fields.columns import KeywordColumn as KeywordColumn
from tacit.core.fields.columns import KeywordsColumn as KeywordsColumn
from tacit.core.fields.columns import NumberColumn as NumberColumn
from tacit.core.fields.columns import TextColumn as TextColumn
from tacit.core.fields.columns import join_fields as join_fields
from tacit.core.fields.columns import parse_time as parse_time
from tacit.core.fields.columns import take_column as take_column
from tacit.core.fields.making import Written as Written
from tacit.core.fields.making import make_column as make_column
from tacit.core.fields.making import typed_fields as typed_fields
