"""The golden cases through q in kshell, and that a wrong number in a file is seen.

KSHELL_GOLDEN names another folder of case files. Cases of several processes start `kshell -n`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import runner

FOLDER = runner.folder_of_cases()
KNOWN = runner.families()
FILES = sorted(p.stem for p in FOLDER.glob("*.json") if p.stem in KNOWN)


def leaves(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of the finite numbers in a case's `out`."""
    if isinstance(x, dict | list):
        for k, v in x.items() if isinstance(x, dict) else enumerate(x):
            yield from leaves(v, (*path, k))
    elif isinstance(x, int | float):
        yield path


def spoilt(case: runner.Case, family: runner.Family) -> runner.Case | None:
    """A case with one of the numbers changed that count; None if it has none."""
    world = family.processes(case)
    want = family.expected(case, world)
    places = list(leaves(case["out"]))
    for path in places[len(places) // 2:] + places[:len(places) // 2]:
        bad = copy.deepcopy(case)
        at = bad["out"]
        for k in path[:-1]:
            at = at[k]
        at[path[-1]] = 1 - at[path[-1]] if path[-1] == "raises" else at[path[-1]] + 1
        try:
            if family.expected(bad, world) != want and family.keep(bad):
                return bad
        except (KeyError, ValueError):  # seen without kshell: test_a_file_that_contradicts_itself_fails
            pass
    return None


def test_every_family_has_cases() -> None:
    assert not set(KNOWN) - {p.stem for p in runner.CASES.glob("*.json")}


@pytest.mark.sampled(4)
def test_all_cases(capsys: pytest.CaptureFixture[str]) -> None:
    code = runner.main()
    said = capsys.readouterr().out.splitlines()
    n = len(runner.load(FOLDER))
    assert n and said[-1] == f"golden: {n} of {n} cases", "\n".join(said[-30:])
    assert code == 0


@pytest.mark.slow
def test_a_changed_number_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    """One number in one case of each file: exactly that case must fail."""
    wrong = []
    for stem in FILES:
        about = json.loads((FOLDER / f"{stem}.json").read_text())
        cases = sorted(about["cases"], key=KNOWN[stem].processes)
        bad = next(c for c in (spoilt(c, KNOWN[stem]) for c in cases) if c is not None)
        good = next(c for c in cases if c["name"] == bad["name"])
        (tmp_path / f"{stem}.json").write_text(json.dumps({"about": "", "cases": [good, bad]}))
        wrong.append(stem)
    monkeypatch.setenv("KSHELL_GOLDEN", str(tmp_path))
    outcomes = runner.run(tmp_path)
    assert [o.file for o in outcomes if o.wrong] == wrong, [(o.file, o.case, o.wrong[:1]) for o in outcomes]
    assert [bool(o.wrong) for o in outcomes] == [False, True] * len(FILES)


def test_a_file_of_no_family_and_a_broken_function_fail(tmp_path: Path) -> None:
    (tmp_path / "unheard_of.json").write_text('{"about":"","cases":[{"name":"a","in":{},"out":1}]}')
    (tmp_path / "sched_ctor.json").write_text('{"about":"","cases":[{"name":"a","in":{},"out":{"raises":0}}]}')
    outcomes = runner.run(tmp_path)
    assert [o.wrong for o in outcomes] == [[outcomes[0].wrong[0]], ["no such family"]]


@pytest.mark.parametrize(("stem", "change"), [
    ("mlbench_sparse", lambda out: out[1].update(picked=[[b + 1 for b in out[1]["picked"]]])),
    ("mlbench_power", lambda out: out[1].update(q=[[[9.0]]])),
    ("mlbench_power_matrix", lambda out: out[0].update(q=[])),
    ("sched_overrides", lambda out: out.update(raises=0)),
    ("streamer_runs", lambda out: out[0].pop("t") and out.append(3)),
])
def test_a_file_that_contradicts_itself_fails(stem: str, change: Any) -> None:
    """Draws that lead to something else, or a row that is no row: told as the fault of the case, not as a traceback."""
    family = KNOWN[stem]
    cases = json.loads((runner.CASES / f"{stem}.json").read_text())["cases"]
    case = next(c for c in cases if family.processes(c) > 1 or not stem.startswith("mlbench_power"))
    if stem == "mlbench_sparse":
        case["in"]["cfg"] = {"sparse_grad_size": 1}
        case["in"]["d"] = 2
        case["out"] = [{"t": 0}, {"t": 1, "picked": [0], "memory": [[0.0, 1.5]]}]
        assert not runner.judge(runner.Family("", "", family.expected, keep=lambda case: False), case, 1, [])
    if stem == "sched_overrides":
        case = next(c for c in cases if c["out"]["raises"])
    change(case["out"])
    world = family.processes(case)
    said = runner.judge(family, case, world, [("value", None)] * world)
    assert said and (stem == "sched_overrides" or said[0].startswith(f"not a case of {stem}: ")), said


def test_numbers_are_compared_to_the_tolerance() -> None:
    assert not list(runner.differences([1.0, "nan", {"a": "inf"}], [1 + 1e-9, float("nan"), {"a": float("inf")}],
                                       1e-8, 0))
    assert len(list(runner.differences([1.0, 2.0], [1.001, 2.0], 1e-4, 0))) == 1
    assert list(runner.differences([1.0], [1.0, 2.0], 1, 1)) == ["result: 2 items instead of 1"]
    assert list(runner.differences({"a": 1}, {"b": 1}, 0, 0)) == [".a: missing"]


def test_the_projects_cases_are_what_the_oracles_say() -> None:
    import importlib
    import pkgutil

    from tests.golden import oracles

    seen = set()
    for found in pkgutil.iter_modules(oracles.__path__):
        if found.name != "__main__":
            for stem, content in importlib.import_module(f"{oracles.__name__}.{found.name}").files().items():
                kept = json.loads((runner.CASES / f"{stem}.json").read_text())
                assert [c["in"] for c in kept["cases"]] == [c["in"] for c in json.loads(json.dumps(content))["cases"]]
                for case, other in zip(kept["cases"], content["cases"], strict=True):
                    assert not list(runner.differences(case["out"], other["out"], 1e-9, 1e-12)), (stem, case["name"])
                seen.add(stem)
    assert {"sched_table", "adaptdl_runs"} <= seen
