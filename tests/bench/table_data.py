"""A pass over a table: in memory against the same rows as arrays; in files against a DataLoader, as it is usually
written over them, with the same model and optimizer. One thread for torch; medians of pairs, with two processors."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec
from tests.bench.timing import paired, row

ROWS, WIDTH, BATCH = 100_000, 20, 256
GROUP = 20_000  # rows of a row group
NAMES = [f"x{i}" for i in range(WIDTH)]
TEXT = (
    f"q:module enlist(`linear;{WIDTH};1);m:model(q;loss`mse;opt(`sgd;q;.01));train(m;`batchsize;{BATCH});"
    f"k:model(q;loss`mse;opt(`sgd;q;.01));train(k;`batchsize;{BATCH});"
)


class Mapped(Dataset[Any]):
    """Rows of an array that is a map of a file."""

    def __init__(self, path: str) -> None:
        self.rows = np.load(path, mmap_mode="r")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        r = torch.from_numpy(self.rows[i].copy())
        return r[:-1], r[-1:]


class Groups(IterableDataset[Any]):
    """Batches of the row groups of a Parquet file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __iter__(self) -> Iterator[Any]:
        import pyarrow.parquet

        file = pyarrow.parquet.ParquetFile(self.path)
        worker = torch.utils.data.get_worker_info()
        groups = range(file.num_row_groups)
        for g in groups if worker is None else groups[worker.id :: worker.num_workers]:
            for batch in file.iter_batches(BATCH, row_groups=[g]):
                columns = [torch.from_numpy(c.to_numpy(zero_copy_only=False).copy()) for c in batch.columns]
                yield torch.stack(columns[:-1], 1), columns[-1].unsqueeze(1)


def report() -> Iterator[str]:
    folder = tempfile.mkdtemp()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield from _rows(folder)
        yield from _images(folder)
        yield from _wide(folder)
        yield from _questions(folder)
    finally:
        torch.set_num_threads(threads)
        shutil.rmtree(folder)


def _rows(folder: str) -> Iterator[str]:
    generator = np.random.default_rng(1)
    rows = generator.random((ROWS, WIDTH + 1), np.float32)
    path = os.path.join(folder, "rows.npy")
    np.save(path, rows)
    s = Session()
    s.run(TEXT)
    names = [*NAMES, "y"]
    s.names.set("t", Table(names, [Vec(T.E, np.ascontiguousarray(column)) for column in rows.T]))
    s.run(f"(`$\":{folder}/t/\")set t;train(m;t);")
    s.run("x:tensor flip value flip delete y from t;y:tensor enlist each t`y;train(k;x;y);")
    yield row("a table in memory", *paired(lambda: s.run("run m"), lambda: s.run("run k")), 1.3, "arrays")

    s.run(f"train(m;`$\":{folder}/t\")")
    for workers in (0, 2):
        peer = _loop(DataLoader(Mapped(path), BATCH, num_workers=workers))
        yield row("a splayed table", *paired(lambda: s.run("run m"), peer, 3), 0.67, f"DataLoader, {workers} workers")
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        yield "skip Parquet: pyarrow is not installed"
        return
    file = os.path.join(folder, "t.parquet")
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, rows.T, strict=True))), file, row_group_size=GROUP)
    s.run(f"train(m;`$\":{file}\")")
    for workers in (0, 2):
        peer = _loop(DataLoader(Groups(file), None, num_workers=workers))
        yield row("a Parquet file", *paired(lambda: s.run("run m"), peer, 3), 0.67, f"DataLoader, {workers} workers")


IMAGES, SIZE = 400, 64


class Pictures(Dataset[Any]):
    """Images of a folder, resized and cut as torchvision's Resize and CenterCrop do it."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        from PIL import Image

        with Image.open(self.files[i]) as image:
            found = image.convert("RGB")
        scale = SIZE / min(found.size)
        found = found.resize((round(found.width * scale), round(found.height * scale)), Image.Resampling.BILINEAR)
        left, top = (found.width - SIZE) // 2, (found.height - SIZE) // 2
        pixels = np.asarray(found.crop((left, top, left + SIZE, top + SIZE)))
        tensor = torch.from_numpy(pixels.copy()).permute(2, 0, 1).contiguous().float().div(255)
        return tensor.flatten(), torch.zeros(1)


def _images(folder: str) -> Iterator[str]:
    """Photographs of several sizes, as JPEG, made to have one size."""
    try:
        from PIL import Image
    except ImportError:
        yield "skip images: Pillow is not installed"
        return
    generator, files = np.random.default_rng(3), []
    os.makedirs(f"{folder}/images/one")
    for i in range(IMAGES):
        rough = generator.integers(0, 256, (8, 8, 3), np.uint8)
        size = tuple(generator.integers(200, 400, 2).tolist())
        files.append(f"{folder}/images/one/{i:04}.jpg")
        Image.fromarray(rough).resize(size, Image.Resampling.BICUBIC).save(files[-1])
    s = Session()
    s.run(f"q:module seq(`sequential;(`flatten;1);(`linear;{3 * SIZE * SIZE};2));m:model(q;loss`ce;opt(`sgd;q;.001));train(m;`batchsize;32)")
    s.run(f"train(m;`$\":{folder}/images\";enlist[`size]!enlist {SIZE})")
    for workers in (0, 2):
        peer = _loop(DataLoader(Pictures(files), 32, num_workers=workers), 3 * SIZE * SIZE)
        yield row("images of several sizes", *paired(lambda: s.run("run m"), peer, 3), 0.67, f"DataLoader, {workers} workers")


DAYS, DAY_ROWS, WIDE = 10, 50_000, 200


class Scanned(IterableDataset[Any]):
    """Batches of Parquet files, one a day, as polars scans them."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def __iter__(self) -> Iterator[Any]:
        import polars as pl

        worker = torch.utils.data.get_worker_info()
        for file in self.files if worker is None else self.files[worker.id :: worker.num_workers]:
            day = pl.scan_parquet(file).collect().to_torch(dtype=pl.Float32)
            for start in range(0, len(day), BATCH):
                rows = day[start : start + BATCH]
                yield rows[:, :-1], rows[:, -1:]


def _wide(folder: str) -> Iterator[str]:
    """A partitioned table of 200 columns, against a scan of the same rows as Parquet."""
    try:
        import polars as pl
    except ImportError:
        yield "skip a wide table: polars is not installed"
        return
    generator, files = np.random.default_rng(2), []
    names = [*(f"x{i}" for i in range(WIDE)), "y"]
    s = Session()
    s.run(f"q:module enlist(`linear;{WIDE};1);m:model(q;loss`mse;opt(`sgd;q;.001));train(m;`batchsize;{BATCH})")
    for day in range(DAYS):
        columns = [generator.random(DAY_ROWS, np.float32) for _ in names]
        s.names.set("t", Table(names, [Vec(T.E, column) for column in columns]))
        s.run(f"(`$\":{folder}/wide/\",string[2024.01.01+{day}],\"/t/\")set t")
        files.append(os.path.join(folder, f"{day}.parquet"))
        pl.DataFrame(dict(zip(names, columns, strict=True))).write_parquet(files[-1])
    s.run(f"train(m;`$\":{folder}/wide\";\"select {','.join(names)} from t\")")
    for workers in (0, 2):
        peer = _loop(DataLoader(Scanned(files), None, num_workers=workers), WIDE)
        yield row("a partitioned table, 200 columns", *paired(lambda: s.run("run m"), peer, 3), 0.67, f"polars scan, {workers} workers")


# h2o.ai's first five questions by group, in q, and as polars and duckdb write them
QUESTIONS = (
    ("select sum v1 by id1 from", ["id1"], {"v1": "sum"}),
    ("select sum v1 by id1,id2 from", ["id1", "id2"], {"v1": "sum"}),
    ("select sum v1,avg v3 by id3 from", ["id3"], {"v1": "sum", "v3": "mean"}),
    ("select avg v1,avg v2,avg v3 by id4 from", ["id4"], {"v1": "mean", "v2": "mean", "v3": "mean"}),
    ("select sum v1,sum v2,sum v3 by id6 from", ["id6"], {"v1": "sum", "v2": "sum", "v3": "sum"}),
)
QUESTION_ROWS = 10_000_000


def _questions(folder: str) -> Iterator[str]:
    """On a file of ten million rows, against the faster of polars and duckdb, with all processors."""
    try:
        import duckdb
        import polars as pl
    except ImportError:
        yield "skip questions on Parquet: polars or duckdb is not installed"
        return
    file = _written(folder)
    s = Session()
    for q, keys, columns in QUESTIONS:
        text = f"count {q} get`$\":{file}\""
        values = [getattr(pl.col(name), how)() for name, how in columns.items()]
        sql = f"select {','.join([*keys, *(f'{how}({c})' for c, how in columns.items())])} from '{file}' group by {','.join(keys)}"
        polars = lambda: pl.scan_parquet(file).group_by(keys).agg(values).collect()  # noqa: B023, E731
        duck = lambda: duckdb.sql(sql.replace("mean(", "avg(")).to_arrow_table()  # noqa: B023, E731
        assert s.run(text) == len(polars())
        by_polars, by_duck = (paired(lambda: s.run(text), peer, 3) for peer in (polars, duck))  # noqa: B023
        name, times = min(("polars", by_polars), ("duckdb", by_duck), key=lambda peer: peer[1][1])
        yield row(q.removesuffix(" from"), *times, 2, name)


def _written(folder: str) -> str:
    """The table of the questions: words of 100 and of 100,000 kinds, whole numbers and numbers."""
    import pyarrow
    import pyarrow.parquet

    generator, n = np.random.default_rng(0), QUESTION_ROWS

    def words(form: str, kinds: int) -> Any:
        places = pyarrow.array(generator.integers(0, kinds, n, dtype=np.int32))
        return pyarrow.DictionaryArray.from_arrays(places, pyarrow.array([form % i for i in range(kinds)])).cast(pyarrow.string())

    columns = {"id1": words("id%03d", 100), "id2": words("id%03d", 100), "id3": words("id%010d", n // 100)}
    columns |= {f"id{i}": generator.integers(1, k, n) for i, k in ((4, 101), (5, 101), (6, n // 100))}
    columns |= {"v1": generator.integers(1, 6, n), "v2": generator.integers(1, 16, n), "v3": generator.random(n) * 100}
    file = os.path.join(folder, "questions.parquet")
    pyarrow.parquet.write_table(pyarrow.table(columns), file, row_group_size=1_000_000)
    return file


def _loop(loader: DataLoader[Any], width: int = WIDTH) -> Callable[[], None]:
    """The loop that most people write."""
    net = nn.Linear(width, 1)
    optimizer, loss_of = torch.optim.SGD(net.parameters(), lr=0.01), nn.MSELoss()

    def run() -> None:
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(net(x), y).backward()
            optimizer.step()

    return run
