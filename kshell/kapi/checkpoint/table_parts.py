"""Tables as the data of models in a snapshot: the path and the query, or the rows of one in memory; and the place in
the pass, with which a run goes on. A query is evaluated when a run asks for rows, not before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kshell.kapi.tables.opening import place_of
from kshell.kapi.train.table_data import TableData, is_table
from kshell.kapi.train.table_reading import Given
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, Table, Vec, seq_items, sym_names, sym_vec
from kshell.values.base.narrow import names_in
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from kshell.kapi.checkpoint.from_records import Loader
    from kshell.kapi.checkpoint.to_records import Saver
    from kshell.kapi.train.model import Model

Record = dict[str, Any]


def record(saver: Saver, d: TableData) -> Record:
    """The record of a table that is data."""
    given, name = d.table.source, d.table.name
    place = place_of(given) if isinstance(given, Table) else None
    if place is not None:
        given, name = sym(f":{place[0]}"), place[1]
    elif isinstance(given, Sym):
        given = sym(_absolute(given.s))
    elif given.__class__ is Vec:
        given = sym_vec(_absolute(path) for path in sym_names(given))
    options = {**d.table.options, **d.learned()}
    return {
        "table": saver.value(given),
        "name": name,
        "query": d.table.query,
        "options": saver.value(symdict(list(options), list(options.values()))),
        "place": [d.seed, d.epoch, d.at],
    }


def _absolute(path: str) -> str:
    return f":{os.path.abspath(path[1:])}"


def made(loader: Loader, rec: Record, what: str) -> TableData:
    """The data of a record; `given_to` says of which model."""
    source, options = loader.value(rec["table"]), loader.value(rec["options"])
    texts = rec["name"], rec["query"]
    if not is_table(source) or not isinstance(options, Dict):
        raise ValueError("a wrong table")
    if any(text is not None and text.__class__ is not str for text in texts):
        raise ValueError("a wrong query")
    names = names_in(options.k)
    given = Given(source, rec["query"], dict(zip(names, seq_items(options.v), strict=True)))
    data = TableData(given._replace(name=rec["name"]), None, what)
    seed, epoch, at = rec["place"]
    data.seed = None if seed is None else int(seed)
    data.epoch, data.at = int(epoch), max(0, int(at))
    return data


def given_to(model: Model) -> None:
    """Let the tables of a model know its module, whose parameters say which type their numbers become, and options."""
    for data, settings in ((model.data, model.train), (model.testdata, model.test)):
        if isinstance(data, TableData):
            data.module, data.settings = model.module, settings
