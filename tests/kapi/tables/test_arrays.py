"""Folders of numpy's arrays and of images as data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kshell.errors import QError
from kshell.session import Session

BEGIN = "train(m;`batchsize`metrics;(4;`batchloss));got:();train(m;`transform;{got,:enlist tensor each x;x})"


@pytest.fixture
def s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session()


def batches(s: Session) -> list[tuple[np.ndarray, np.ndarray]]:
    """The inputs and targets of a pass."""
    s.run("got:();run m")
    return [(np.array(x.items[0].a), np.array(x.items[1].a)) for x in s.run("got").items]  # type: ignore[union-attr]


def whole(s: Session) -> tuple[np.ndarray, np.ndarray]:
    found = batches(s)
    return np.concatenate([x for x, _ in found]), np.concatenate([y for _, y in found])


def test_arrays_of_numpy_are_columns(s: Session) -> None:
    rng = np.random.default_rng(1)
    Path("a").mkdir()
    x, y = rng.random((30, 3), np.float32), rng.random(30)
    np.save("a/x.npy", x)
    np.save("a/y.npy", y)
    s.run(f"q:module enlist(`linear;3;1);m:model(q;loss`mse;opt(`sgd;q));{BEGIN}")
    assert s.run("train(m;`:a)") == 8
    a, b = whole(s)
    assert (a == x).all() and (b[:, 0] == y.astype(np.float32)).all()
    s.run("train(m;`shuffle;1b)")
    assert s.run("train(m;`:a)") == 8
    a, b = whole(s)
    again, _ = whole(s)
    order = [int(np.flatnonzero((x == row).all(1))[0]) for row in a]
    assert sorted(order) == list(range(30)) and order != list(range(30)) and (again != a).any()
    assert (b[:, 0] == y[order].astype(np.float32)).all()
    assert s.run('train(m;`:a;"select x,y from t")') == 8


def test_a_vector_of_integers_beside_rows_is_a_target_of_classes(s: Session) -> None:
    Path("a").mkdir()
    np.save("a/images.npy", np.arange(5 * 2 * 2, dtype=np.uint8).reshape(5, 2, 2))
    np.save("a/labels.npy", np.array([0, 1, 2, 0, 1], np.int32))
    s.run(f"q:module seq(`sequential;(`flatten;1);(`linear;4;3));m:model(q;loss`ce;opt(`sgd;q));{BEGIN}")
    s.run('train(m;`:a;"select `real$images,labels from t")')
    a, b = whole(s)
    assert a.shape == (5, 2, 2) and a.dtype == np.float32 and b.tolist() == [0, 1, 2, 0, 1]


def test_images_by_class(s: Session) -> None:
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(2)
    made = {}
    for name in ("cat", "dog"):
        Path("i", name).mkdir(parents=True)
        for k in range(3):
            pixels = rng.integers(0, 256, (5, 4, 3), np.uint8)
            image.fromarray(pixels).save(f"i/{name}/{k}.png")
            made[name, k] = pixels.transpose(2, 0, 1) / np.float32(255)
    s.run(f"q:module seq(`sequential;(`flatten;1);(`linear;60;2));m:model(q;loss`ce;opt(`sgd;q));{BEGIN}")
    assert s.run("train(m;`:i)") == 2
    a, b = whole(s)
    assert a.shape == (6, 3, 5, 4) and (a == np.stack(list(made.values()))).all() and b.tolist() == [0, 0, 0, 1, 1, 1]
    s.run("train(m;`shuffle;1b)")
    a, b = whole(s)
    classes = [int(next(i for i, v in enumerate(made.values()) if (v == row).all()) > 2) for row in a]
    assert b.tolist() == classes
    image.fromarray(np.zeros((4, 4, 3), np.uint8)).save("i/dog/7.png")
    s.run("train(m;`shuffle;0b)")
    with pytest.raises(QError, match=r"i/dog/7\.png: expected an image of 3x5x4 as the first one, given 3x4x4"):
        s.run("train(m;`:i)")
    Path("i/dog/7.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    with pytest.raises(QError, match=r"i/dog/7\.png: cannot identify image"):
        s.run("train(m;`:i)")


WRONG = {
    "lengths": ({"x": np.zeros((3, 2)), "y": np.zeros(4)}, "a/x.npy, a/y.npy: arrays of 3, 4 rows"),
    "a number": ({"x": np.float64(3)}, "a/x.npy: one number, expected rows"),
    "complex": ({"x": np.zeros(3, np.complex128)}, "a/x.npy: no numbers of q: complex128"),
    "objects": ({"x": np.array([None, 1], object)}, "a/x.npy: .*"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arrays(s: Session, name: str) -> None:
    Path("a").mkdir()
    arrays, message = WRONG[name]
    for stem, a in arrays.items():
        np.save(f"a/{stem}.npy", a, allow_pickle=True)
    s.run("q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q))")
    with pytest.raises(QError, match=message):
        s.run("train(m;`:a)")


def test_files_of_several_kinds_are_no_table(s: Session) -> None:
    Path("a").mkdir()
    np.save("a/x.npy", np.zeros(3))
    Path("a/t.csv").write_text("a,b\n1,2\n")
    s.run("q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q))")
    with pytest.raises(QError):
        s.run("train(m;`:a)")


def test_images_of_several_sizes_are_made_to_have_one(s: Session) -> None:
    """Resized so that they cover it; the middle is taken."""
    image = pytest.importorskip("PIL.Image")
    generator = np.random.default_rng(2)
    Path("i/cat").mkdir(parents=True)
    expected = []
    # rows and columns, those after resizing, and where the middle begins
    for k, (size, whole_size, top, left) in enumerate((
        ((4, 6), (4, 6), 0, 0), ((12, 18), (4, 6), 0, 0), ((4, 10), (4, 10), 0, 2), ((16, 12), (8, 6), 2, 0), ((2, 2), (6, 6), 1, 0),
    )):
        made = image.fromarray(generator.integers(0, 256, (*size, 3), np.uint8))
        made.save(f"i/cat/{k}.png")
        pixels = np.asarray(made.resize(whole_size[::-1], image.Resampling.BILINEAR))
        expected.append(pixels[top : top + 4, left : left + 6].transpose(2, 0, 1) / np.float32(255))
    s.run(f"q:module seq(`sequential;(`flatten;1);(`linear;72;2));m:model(q;loss`ce;opt(`sgd;q));{BEGIN}")
    s.run("train(m;`:i;enlist[`size]!enlist 4 6)")
    assert (whole(s)[0] == np.stack(expected)).all()
    with pytest.raises(QError, match=r"1\.png: expected an image of 3x4x6 as the first one, given 3x12x18"):
        s.run("train(m;`:i)")
    with pytest.raises(QError, match="size"):
        s.run("train(m;`:i;enlist[`size]!enlist 4 0)")
    with pytest.raises(QError, match="size"):
        s.run("train(m;([]a:1 2f;y:0 1);enlist[`size]!enlist 4)")
