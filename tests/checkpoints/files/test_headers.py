"""Headers of .safetensors files: found by a pattern or parsed, they say the same; very many small tensors."""

from __future__ import annotations

import json
import random
import struct
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from kshell.checkpoints.files import safetensors
from kshell.checkpoints.trees.opening import opened, tensors_of
from kshell.errors import QError
from kshell.session import Session
from kshell.store.archive import WRONG, Room

NAMES = ("a", "layers.0.weight", "b:c", "ü", "__metadata", "x,y", "a b", "{", "]}}")
TYPES = ("F32", "U8", "I64", "BOOL", "BF16", "F8_E4M3", "F4", "F6_E2M3")
# what is put in the place of something else in a header
PARTS = ('"', "\\", "\\u0061", ",", ":", "{", "}", "[", "]", "]},", ":[", "0", "1", "-1", "01", "1.0", "1e0", "true", "null", " ", "\n", "\t",
         "\x00", "\xff", "F32", "__metadata__", '"a":', '"dtype":"U8",', "9" * 30, "9" * 5000, "١")


def entry(kind: str, shape: list[int], start: int, length: int) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [start, start + length]}


def made(draw: random.Random) -> str:
    """A header that a program may write."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt", 'q"': "\\"}} if draw.random() < 0.5 else {}
    start = 0
    for name in draw.sample(NAMES, draw.randint(0, 4)):
        kind, shape = draw.choice(TYPES), [draw.choice((0, 1, 2, 12)) for _ in range(draw.randint(0, 3))]
        count = 1
        for n in shape:
            count *= n
        length = count * safetensors._BITS[kind] // 8
        entries[name] = entry(kind, shape, start, length)
        start += length
    if draw.random() < 0.3:
        entries = dict(draw.sample(sorted(entries.items()), len(entries)))
    blank = draw.choice(((",", ":"), (",", ":"), (", ", ": ")))
    return json.dumps(entries, separators=blank, ensure_ascii=draw.random() < 0.5) + " " * draw.randint(0, 9)


def changed(draw: random.Random, text: str) -> str:
    """The same with something else in some place."""
    at, out = draw.randrange(len(text)), draw.choice((0, 0, 1, 1, 2, 8))
    return text[:at] + draw.choice(PARTS) + text[at + out:]


def parsed(data: bytes) -> Any:
    try:
        return safetensors._parsed(data, Room(len(data)))
    except (RecursionError, *WRONG):
        return None


def found(data: bytes) -> Any:
    return safetensors._found(data, data.count(b'"data_offsets"'), Room(len(data)))


def plain(columns: Any) -> list[Any]:
    """The columns of a header, with values in the place of forms."""
    names, forms, *rest = columns
    return [names, [(*asdict(form).values(),) for form in forms], *rest]


def test_found_or_parsed() -> None:
    """What is found is what is parsed: of headers as they are written, and of those with anything else somewhere."""
    draw, times, refused = random.Random(5), 0, 0
    for turn in range(6000):
        text = made(draw)
        for _ in range(turn % 3):
            text = changed(draw, text)
        data = text.encode(draw.choice(("utf-8", "utf-8", "latin-1")), "replace")
        columns, expected = found(data), parsed(data)
        refused += expected is None
        if columns is not None:
            times += 1
            assert expected is not None, data
            assert plain(columns) == plain(expected), data
    assert times > 150 and refused > 1000


def test_usual_headers_are_found(tmp_path: Path) -> None:
    """Those of the library, and of kshell."""
    tensors = {"a": torch.ones(2, 3), "b.c": torch.ones(3, dtype=torch.int8), "d": torch.tensor(1.0)}
    save_file(tensors, tmp_path / "a.safetensors", {"format": "pt", "x": "1"})
    save_file(tensors, tmp_path / "b.safetensors")
    Session().run(f'ckpt(`$":{tmp_path}/c.safetensors";ckpt`$":{tmp_path}/a.safetensors")')
    for name in "abc":
        data = (tmp_path / f"{name}.safetensors").read_bytes()
        assert found(data[8:8 + int.from_bytes(data[:8], "little")]) is not None


def file_of(path: Path, count: int, size: int, name: str = "t") -> None:
    """A file with many tensors of bytes."""
    entries = {f"{name}{i}": entry("U8", [size], i * size, size) for i in range(count)}
    text = json.dumps(entries, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(count * size))


def test_many_tensors_of_one_number(tmp_path: Path) -> None:
    file_of(tmp_path / "a.safetensors", 50_000, 1)
    made = opened(str(tmp_path / "a.safetensors"))
    assert len(made.value) == 50_000 and made.value["t49999"].read() == b"\0"
    s = Session()
    assert s.run(f'count ckpttable(`$":{tmp_path}/a.safetensors";0b)') == 50_000
    # also if its header is not as most are
    data = (tmp_path / "a.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    (tmp_path / "b.safetensors").write_bytes(struct.pack("<Q", length + 1) + b" " + data[8:])
    assert len(tensors_of(opened(str(tmp_path / "b.safetensors")).value)) == 50_000


def test_time_by_number_of_tensors(tmp_path: Path) -> None:
    """Eight times as many tensors take about eight times as long: names, columns, values and loading."""
    s = Session()

    def seconds(folder: Path, count: int) -> float:
        folder.mkdir()
        for half in range(2):
            file_of(folder / f"model-0000{half + 1}-of-00002.safetensors", count // 2, 8, f"of{half}.")
        index = {f"of{half}.{i}": f"model-0000{half + 1}-of-00002.safetensors" for i in range(count // 2) for half in range(2)}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
        start = time.process_time()
        s.run(f'd:ckpt f:`$":{folder}";t:ckpttable f')
        assert s.run(f"(count d;count t;sum exec bytes from t;sum exec bad from t)~{count} {count} {8 * count} 0")
        return time.process_time() - start

    seconds(tmp_path / "first", 100)
    few = seconds(tmp_path / "few", 1000)
    assert seconds(tmp_path / "many", 8000) < 30 * few


def test_a_name_in_two_files(tmp_path: Path) -> None:
    """The index says which; what it does not name is at the end, and what it names and no file has is an error."""
    for i, tensors in enumerate(({"a": torch.zeros(1), "b": torch.zeros(2)}, {"b": torch.ones(3), "c": torch.ones(4)})):
        save_file(tensors, tmp_path / f"{i}.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"c": "1.safetensors", "b": "1.safetensors", "a": "0.safetensors"}}))
    made = opened(str(tmp_path))
    assert {name: tensor.shape for name, tensor in made.value.items()} == {"c": (4,), "b": (3,), "a": (1,)}
    assert made.columns.names == [*made.value]
    assert [(form.dtype, form.shape, form.nbytes) for form in made.columns.forms] == [("float32", (n,), 4 * n) for n in (4, 3, 1)]
    index.write_text(json.dumps({"weight_map": {"c": "1.safetensors", "a": "0.safetensors"}}))
    made = opened(str(tmp_path))
    assert [(name, tensor.shape) for name, tensor in made.value.items()] == [("c", (4,)), ("a", (1,)), ("b", (3,))]
    assert made.columns.names == ["c", "a", "b"] and [form.nbytes for form in made.columns.forms] == [16, 4, 12]
    index.write_text(json.dumps({"weight_map": {"c": "1.safetensors", "a": "1.safetensors"}}))
    with pytest.raises(QError, match=r"1\.safetensors has no a"):
        opened(str(tmp_path))
