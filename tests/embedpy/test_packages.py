"""Packages of Python in q programs: scikit-learn, scipy, matplotlib. What is the same computation has the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kshell.python.session import Session
from tests import ROOT

pytestmark = pytest.mark.extra
learn = pytest.importorskip("sklearn")
scipy = pytest.importorskip("scipy")
matplotlib = pytest.importorskip("matplotlib")

DIGITS = """
d:.p.import[`sklearn.datasets;`:load_digits][]
x:d[`:data;`]; y:d[`:target;`]
i:til[count y]mod 4
fit:.p.import[`sklearn.linear_model;`:LogisticRegression][`max_iter pykw 400;`C pykw .5]
fit[`:fit;x where i>0;y where i>0];
guess:fit[`:predict;<]x where i=0
t:([]is:y where i=0;guess:guess)
accuracy:exec avg is=guess from t
wrong:select n:count i by is,guess from t where is<>guess
table:exec(`$string til 10)#count each group`$string guess by is:is from t
"""


def test_scikit_learn_in_a_query(tmp_path: Path) -> None:
    """The digits, learned in q and in Python: the same answers."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    s = Session()
    for line in DIGITS.strip().splitlines():
        s.run(line)
    data = load_digits()
    part = np.arange(len(data.target)) % 4
    model = LogisticRegression(max_iter=400, C=0.5).fit(data.data[part > 0], data.target[part > 0])
    expected = model.predict(data.data[part == 0])
    assert s("guess").tolist() == expected.tolist()
    assert s("accuracy") > 0.95
    assert s("exec sum n from wrong") == int((expected != data.target[part == 0]).sum())
    assert s("sum sum 0^value flip value table") == len(expected)


def test_q_functions_in_scikit_learn() -> None:
    """Libraries that copy what they are given, and look at its name and signature."""
    s = Session()
    s.run("half:{x%2}")
    s.run("t:.p.import[`sklearn.preprocessing;`:FunctionTransformer]half")
    s.run("c:.p.import[`sklearn.base;`:clone]t")
    assert s("c[`:fit_transform;(1 2f;3 4f)]`").tolist() == [[0.5, 1], [1.5, 2]]
    s.run("score:{[y;p]neg sum abs y-p}")
    s.run("m:.p.import[`sklearn.metrics;`:make_scorer]score")
    s.run("r:.p.import[`sklearn.linear_model;`:LinearRegression][]")
    s.run("x:flip enlist til[10]*1f")
    s.run("cv:.p.import[`sklearn.model_selection;`:cross_val_score][r;x;2*til[10]*1f;`scoring pykw m;`cv pykw 3]")
    assert s("all 1e-9>abs cv`") is True


def test_q_functions_in_scipy() -> None:
    import numpy as np
    from scipy.optimize import curve_fit, minimize

    s = Session()
    s.run("f:{[p](p[0]-1)*(p[0]-1)+(p[1]-2)*p[1]-2}")
    s.run("w:{[p]((p[0]-1)*p[0]-1)+(p[1]-2)*p[1]-2}")
    s.run("r:.p.import[`scipy.optimize;`:minimize][w;0 0f;`method pykw\"BFGS\"]")
    expected = minimize(lambda p: (p[0] - 1) * (p[0] - 1) + (p[1] - 2) * (p[1] - 2), np.zeros(2), method="BFGS")
    assert s("r[`:x;`]").tolist() == expected.x.tolist()
    s.run("g:{[x;a;b]b+a*x}")
    s.run("x:til[20]*.5;y:1+2*x")
    s.run("p:.p.import[`scipy.optimize;`:curve_fit][g;x;y]`")
    x = np.arange(20) * 0.5
    assert s("first p").tolist() == curve_fit(lambda x, a, b: b + a * x, x, 1 + 2 * x)[0].tolist()


CURVE = """
plt:.p.import`matplotlib.pyplot
losses:exp neg .1*til 50
plt[`:plot;losses];
plt[`:title;"loss"];
plt[`:savefig;"curve.png"];
t:([]k:`a`b`c;v:3 1 2)
plt[`:figure][];
plt[`:bar;t`k;t`v];
plt[`:savefig;"bar.png"];
-1 .Q.s1 0x89504e470d0a1a0a~/:8#'read1 each`:curve.png`:bar.png;
plt[`:show][];
"""


def run(folder: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "s.q").write_text(text)
    clean = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")}
    return subprocess.run([sys.executable, "-m", "kshell", "s.q"], cwd=folder, capture_output=True, text=True, timeout=100,
                          env=clean | {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)} | environment)


def test_pictures_are_written_and_shown(tmp_path: Path) -> None:
    """Where there are no windows, `show` names the file of each figure."""
    found = run(tmp_path, CURVE)
    assert found.stderr == ""
    same, *shown = found.stdout.splitlines()
    assert same == "11b" and len(shown) == 2
    for number, line in enumerate(shown, 1):
        label, path = line.split(": ")
        assert label == f"figure {number}" and Path(path).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert Path(path).stat().st_mode & 0o077 == 0


def test_the_users_own_backend_stays(tmp_path: Path) -> None:
    found = run(tmp_path, "-1 .p.import[`matplotlib;`:get_backend;<][];\n", MPLBACKEND="svg")
    assert found.stdout.strip().lower() == "svg"


def test_pictures_where_the_session_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    s = Session()
    shown: list[tuple[bytes, str]] = []
    s.picture = lambda data, text: shown.append((data, text))
    before = plt.get_backend()
    plt.switch_backend("module://kshell.python.figures")
    try:
        s.run("plt:.p.import`matplotlib.pyplot")
        s.run("plt[`:plot;1 2 3];")
        s.run("plt[`:show][];")
    finally:
        plt.switch_backend(before)
    assert [text for _, text in shown] == ["figure 1"]
    assert shown[0][0].startswith(b"\x89PNG")
