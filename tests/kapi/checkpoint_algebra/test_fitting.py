"""Adapters put around layers of modules of any class: PEFT's formula, files and merged weights; taken off again."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kshell.kapi.base.args import names_of
from kshell.kapi.base.convert import as_tensor
from kshell.session import Session
from kshell.values.base.core import seq_items
from tests.support import warm

transformers = pytest.importorskip("transformers", reason="transformers is not installed: make setup-all")
LLAMA = ("c:`model_type`vocab_size`hidden_size`intermediate_size`num_hidden_layers`num_attention_heads`num_key_value_heads!"
         "(`llama;50;16;24;2;4;2);seed 2;m:hub c;x:2 6#til 12;")
GPT2 = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(3)
g = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32)).eval()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2)
        self.body = torch.nn.ModuleDict({'one': torch.nn.Linear(8, 6), 'two': torch.nn.Linear(6, 3)})
    def forward(self, x): return self.body['two'](torch.relu(self.body['one'](self.attention(x, x, x)[0])))
"""


@pytest.fixture
def s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    made = Session(out=io.StringIO(), err=io.StringIO())
    made.run(LLAMA)
    made.run(".p.e" + json.dumps(GPT2))
    made.run('g:.p.eval["g"]`;n:.p.eval["Net()"]`')
    made.run("drawn:{[m]seed 5;{[m;n]parm(m;n;tensor(`randn;size parm(m;n)))}[m]each exec name from parmtable m where name like\"*lora_*\";}")
    yield made


CASES = {  # module, pattern, options; the layers
    "a model of the hub": ("m", '"*self_attn.[qv]_proj"', "`rank`alpha!(4;8)", 4),
    "ends of names": ("m", "`q_proj`down_proj", "`rank`alpha!(3;6)", 4),
    "a root": ("m", '"*mlp*"', "`rank`alpha`rooted!(4;8;1b)", 6),
    "dora": ("m", '"*k_proj"', "`rank`alpha`dora!(2;8;1b)", 2),
    "GPT-2 of transformers": ("g", '"*attn*"', "`rank`alpha!(4;12)", 4),
    "GPT-2, dora": ("g", "`c_fc`c_proj", "`rank`dora!(4;1b)", 6),
    "a user's own": ("n", '"body.*"', "`rank`alpha!(2;3)", 2),
}


@pytest.mark.parametrize("case", CASES)
def test_the_formula_and_the_way_back(s: Session, case: str) -> None:
    """At first nothing changes; then each layer is W + alpha/r B A; merged in place, and by `ckptmerge`, to the same bits."""
    name, pattern, options, count = CASES[case]
    m: nn.Module = s.run(name).obj  # type: ignore[union-attr]
    plain = {key: t.detach().clone() for key, t in m.state_dict().items()}
    names = list(plain)
    x = "tensor(`randn;5 2 8)" if name == "n" else "x"
    s.run(f"x:{x};o:{{[m]r:eforward(m;x);$[99h=type r;r`logits;r]}};a:tensor o {name};ckpt(`:base.pt;{name})")
    table = s.run(f"w:adapt({name};{pattern};{options});count w")
    assert table == count
    assert s.run(f"(asc exec name from parmtable {name} where gradflag)~asc exec name from parmtable {name} where name like\"*lora_*\"") is True
    assert s.run(f"1e-6>max max max abs a-tensor o {name}") is True
    s.run(f"drawn {name};b:tensor o {name}")
    assert s.run("1e-3<max max max abs a-b") is True
    s.run(f"d:adapter {name};adapter({name};`:adapter/)")
    config = json.loads(Path("adapter/adapter_config.json").read_text())
    rank, alpha = config["r"], config["lora_alpha"]
    given = s.run("d`tensors")
    parts = {key.removeprefix("base_model.model."): as_tensor(t) for key, t in zip(names_of(given.k), seq_items(given.v), strict=True)}
    s.run(f"merged:ckptmerge[(`:base.pt;`:adapter)];u:unadapt {name}")
    found = {key: t.detach() for key, t in m.state_dict().items()}
    assert list(found) == names
    assert s.run(f"all{{(tensor merged x)~tensor parm({name};x)}}each key merged") is True
    for key, before in plain.items():
        module = key.removesuffix(".weight")
        if f"{module}.lora_A.weight" not in parts:
            assert torch.equal(found[key], before)
            continue
        a, b = parts[f"{module}.lora_A.weight"].double(), parts[f"{module}.lora_B.weight"].double()
        change = b @ a * (alpha / (math.sqrt(rank) if config["use_rslora"] else rank))
        total = (before.T if config["fan_in_fan_out"] else before).double() + change
        if config["use_dora"]:
            total = total * (parts[f"{module}.lora_magnitude_vector"].double() / total.norm(dim=1))[:, None]
        torch.testing.assert_close(found[key].T if config["fan_in_fan_out"] else found[key], total.float(), rtol=1e-5, atol=1e-5)
    assert s.run(f"2e-5>max max max abs b-tensor o {name}") is True
    assert s.run(f"all exec gradflag from parmtable {name}") is True


def test_a_is_drawn_as_a_linear_layer_and_b_is_zero(s: Session) -> None:
    s.run("adapt(m;\"*q_proj\";`rank`seed!(4;11))")
    layers = [p for p in s.run("m").obj.modules() if type(p).__name__ == "Lora"]  # type: ignore[union-attr]
    torch.manual_seed(11)
    for layer in layers:
        want = nn.Linear(16, 4, bias=False).weight
        nn.Linear(4, 16, bias=False)
        assert torch.equal(layer.lora_A.weight, want) and not layer.lora_B.weight.any()
        assert want.abs().max() <= math.sqrt(6 / (1 + 5) / 16)


def test_only_adapters_learn_and_optimizers_follow(s: Session) -> None:
    """Trained by `run` over an optimizer made before, as by hand over the formula written out."""
    s.run("y:2 6#1+til 12;o:opt(`adamw;m;.01);adapt(m;\"*v_proj\";`rank`alpha`seed!(2;4;3))")
    m: Any = s.run("m").obj  # type: ignore[union-attr]
    before = {name: p.detach().clone() for name, p in m.named_parameters()}
    s.run("k:model(m;{[p;t]ce(transpose(p;1;2);t)};o);do[3;run(k;x;y)]")
    changed = {name for name, p in m.named_parameters() if not torch.equal(p, before[name])}
    assert changed == {name for name in before if "lora_" in name} and len(changed) == 4


def test_a_tied_weight_becomes_its_own(s: Session) -> None:
    s.run("e:tensor parm(g;`transformer.wte.weight);adapt(g;`lm_head);drawn g;b:tensor eforward[(g;x)]`logits;unadapt g")
    assert s.run("(e~tensor parm(g;`transformer.wte.weight))&2e-5>max max max abs b-tensor eforward[(g;x)]`logits") is True


def test_attention_of_torch_is_left_alone(s: Session) -> None:
    """torch's attention takes the weight of its last layer and does not call it."""
    assert s.run("exec name from adapt(n;\"*\")").a.tolist() == s.run("`body.one`body.two").a.tolist()  # type: ignore[union-attr]
    s.run("eforward(n;tensor(`randn;5 2 8))")


def test_a_snapshot_goes_on(tmp_path: Path) -> None:
    make = LLAMA + "adapt(m;\"*_proj\";`rank`seed!(2;3));o:opt(`adamw;m;.01);f:{[i]zerograd o;backward mean forward(m;x);step o};f each til 2;"
    more = "f each til 2;-1 .Q.s1 md5 `char$-8!state m;unadapt m;-1 .Q.s1 md5 `char$-8!state m;-1 .Q.s1 all exec gradflag from parmtable m;"
    def run(*lines: str) -> str:
        done = warm.run([sys.executable, "-m", "kshell", "-q"], input="\n".join(lines) + "\n", capture_output=True, text=True,
                        cwd=tmp_path, check=False, timeout=100)
        assert not done.stderr, done.stderr
        return str(done.stdout)
    whole = run(make, more)
    run(make, "snapshot`:run.ks;")
    assert run("resume`:run.ks;", more) == whole and whole.endswith("1b\n")


def test_the_ways_are_the_same_for_a_wrapped_object(s: Session) -> None:
    s.run("w:.p.eval\"g\"")
    assert s.run("count adapt(w;\"*attn*\";4)") == 4
    assert s.run("count[adapter[w]`tensors]=8") is True
    assert s.run("count unadapt w") == 4
