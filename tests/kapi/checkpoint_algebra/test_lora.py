"""Adapters on tensors: golden numbers, products in float64, and the bits of peft where it is installed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.checkpoint_algebra import lora


def randn(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def test_golden_numbers() -> None:
    a, b, w = torch.tensor([[1.0, 2, 3]]), torch.tensor([[1.0], [-1]]), torch.ones(2, 3)
    assert lora.kind_of(w, a, b, False, False) == lora.LINEAR
    d = lora.delta(a, b, 2.0, lora.LINEAR)
    assert d.tolist() == [[2, 4, 6], [-2, -4, -6]]
    assert lora.merged(w, d, lora.LINEAR).tolist() == [[3, 5, 7], [-1, -3, -5]]
    assert lora.kind_of(w.T, a, b, False, True) == lora.TRANSPOSED
    assert torch.equal(lora.delta(a, b, 2.0, lora.TRANSPOSED), d.T)
    assert lora.kind_of(w.T, a, b, True, False) == lora.EMBEDDING
    m = torch.tensor([2.0, 3])
    turned = lora.merged(torch.tensor([[3.0, 0], [0, 4]]), torch.tensor([[0.0, 4], [3, 0]]), lora.LINEAR, m)
    assert torch.allclose(turned, torch.tensor([[1.2, 1.6], [1.8, 2.4]]))  # rows of norm 5
    assert lora.merged_bias(torch.tensor([1.0]), torch.tensor([3.0]), 0.5).tolist() == [2.5]


def test_scales() -> None:
    config = {"r": 4, "lora_alpha": 8, "rank_pattern": {"q_proj": 2}, "alpha_pattern": {r"layers\.1\..*": 3, "q_proj": 5}}
    assert lora.scale_of(config, "layers.0.k_proj", 4) == 2
    assert lora.scale_of(config, "layers.0.q_proj", 2) == 2.5
    assert lora.scale_of(config, "layers.1.q_proj", 2) == 1.5
    assert lora.scale_of({**config, "use_rslora": True}, "k", 4) == 4
    with pytest.raises(QError, match=r"the rank of layers.0.q_proj is 4, and 2 in"):
        lora.scale_of(config, "layers.0.q_proj", 4)
    with pytest.raises(QError, match="no numbers above 0"):
        lora.scale_of({"r": "x"}, "k", 4)
    with pytest.raises(QError, match="rank_pattern of the adapter is no dictionary"):
        lora.scale_of({"rank_pattern": [1]}, "k", 4)


def test_parts_that_do_not_fit() -> None:
    for shape, a, b, emb in (((2, 3), (1, 4), (2, 1), False), ((2, 3), (1, 3), (2, 2), False), ((4, 2, 3, 3), (2, 4, 3, 3), (4, 1, 1, 1), False),
                             ((5, 3), (2, 3), (5, 2), True), ((3,), (1, 3), (1, 1), False)):
        with pytest.raises(ValueError, match="do not fit a weight of size"):
            lora.kind_of(torch.zeros(shape), torch.zeros(a), torch.zeros(b), emb, False)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.floats(0.1, 4))
def test_products_in_float64(seed: int, out: int, size: int, r: int, scale: float) -> None:
    a, b, w, m = randn(seed, r, size), randn(seed + 1, out, r), randn(seed + 2, out, size), randn(seed + 3, out)
    want = w.double() + scale * (b.double() @ a.double())
    d = lora.delta(a, b, scale, lora.LINEAR)
    assert torch.allclose(lora.merged(w, d, lora.LINEAR).double(), want, rtol=1e-5, atol=1e-5)
    turned = lora.merged(w.T, d.T, lora.TRANSPOSED, m)
    dora = m.double()[:, None] * want / want.norm(dim=1, keepdim=True)
    assert torch.allclose(lora.merged(w, d, lora.LINEAR, m).double(), dora, rtol=1e-3, atol=1e-4)
    assert torch.allclose(turned.T, lora.merged(w, d, lora.LINEAR, m), rtol=1e-4, atol=1e-5)


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 8), st.integers(1, 8))
def test_what_is_extracted_is_the_nearest(seed: int, out: int, size: int, rank: int) -> None:
    change = randn(seed, out, size, dtype=torch.float64)
    a, b, rest = lora.extracted(change, rank)
    s = torch.linalg.svdvals(change)
    assert a.shape == (min(rank, out, size), size) and torch.allclose(torch.tensor(rest).double(), s[len(a):], atol=1e-6)
    assert torch.allclose((b @ a - change).norm(), s[len(a):].norm(), atol=1e-9)
    a, b, _ = lora.extracted(change, None, float(s[0]) * 0.5)
    assert len(a) == max(1, int((s > float(s[0]) * 0.5).sum()))
    assert torch.allclose(lora.extracted(change)[1] @ lora.extracted(change)[0], change)


def test_a_convolution_is_extracted_and_merged_again() -> None:
    w, change = randn(1, 6, 4, 3, 3), randn(2, 6, 4, 3, 3)
    a, b, rest = lora.extracted(change)
    assert not rest and lora.kind_of(w, a, b, False, False) == lora.CONVOLUTION
    assert torch.allclose(lora.delta(a, b, 1.0, lora.CONVOLUTION), change, atol=1e-5)


# ------------------------------------------------------------------ peft


class Turned(torch.nn.Module):
    """All kinds of layers; its forward is not used."""

    def __init__(self) -> None:
        super().__init__()
        from transformers.pytorch_utils import Conv1D

        self.lin, self.square = torch.nn.Linear(12, 20), torch.nn.Linear(16, 16)
        self.conv1d, self.emb = Conv1D(24, 10), torch.nn.Embedding(30, 8)
        self.c1, self.c2, self.c3 = torch.nn.Conv1d(4, 6, 3), torch.nn.Conv2d(4, 6, (3, 2)), torch.nn.Conv3d(2, 3, 2)
        self.c1x1, self.head = torch.nn.Conv2d(5, 7, 1), torch.nn.Linear(8, 3)


LAYERS = ["lin", "square", "conv1d", "emb", "c1", "c2", "c3", "c1x1"]


def adapted(seed: int, dtype: torch.dtype, adapter: torch.dtype | None = None, **settings: Any) -> tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """peft's model with random adapters; the weights before, the adapter's tensors as in its file, and its settings."""
    peft = pytest.importorskip("peft")
    torch.manual_seed(seed)
    base = Turned().to(dtype)
    before = {k: v.clone() for k, v in base.state_dict().items()}
    config = peft.LoraConfig(**{"r": 3, "lora_alpha": 5, "target_modules": LAYERS, **settings})
    model = peft.get_peft_model(base, config, autocast_adapter_dtype=adapter is None)
    for name, p in model.named_parameters():
        if "lora" in name:
            p.data = (torch.randn(p.shape).abs() + 0.5 if "magnitude" in name else torch.randn(p.shape)).to(adapter or p.dtype)
    tensors = peft.get_peft_model_state_dict(model)
    return model, before, {k: v.clone() for k, v in tensors.items()}, config.to_dict()


def merged_here(before: dict[str, Any], tensors: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    out = dict(before)
    for name in LAYERS:
        key = f"base_model.model.{name}."
        part = "lora_embedding_{}" if name == "emb" else "lora_{}.weight"
        if key + part.format("A") not in tensors:
            continue
        a, b = (tensors[key + part.format(x)] for x in "AB")
        w = before[f"{name}.weight"]
        kind = lora.kind_of(w, a, b, name == "emb", name == "conv1d")
        scale = lora.scale_of(config, name, len(a))
        magnitude = tensors.get(key + "lora_magnitude_vector", tensors.get(key + "lora_magnitude_vector.weight"))
        out[f"{name}.weight"] = lora.merged(w, lora.delta(a, b, scale, kind), kind, magnitude)
        if key + "lora_B.bias" in tensors:
            out[f"{name}.bias"] = lora.merged_bias(before[f"{name}.bias"], tensors[key + "lora_B.bias"], scale)
    return out


SETTINGS: list[dict[str, Any]] = [
    {}, {"use_rslora": True}, {"use_dora": True}, {"use_dora": True, "use_rslora": True},
    {"rank_pattern": {"lin": 5, "^c2": 2}, "alpha_pattern": {"square|emb": 7, "c.*": 2}},
    {"lora_bias": True, "target_modules": ["lin", "square", "c2"]}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(("dtype", "adapter"), [(torch.float32, None), (torch.bfloat16, None), (torch.bfloat16, torch.bfloat16),
                                                (torch.float16, torch.float16), (torch.float64, torch.float32)])
def test_peft_has_the_same_bits(settings: dict[str, Any], dtype: torch.dtype, adapter: torch.dtype | None) -> None:
    model, before, tensors, config = adapted(1, dtype, adapter, **settings)
    got = merged_here(before, tensors, config)
    want = model.merge_and_unload().state_dict()
    assert list(want) == list(got)
    for name, t in want.items():
        assert t.dtype == got[name].dtype, name
        assert torch.equal(t, got[name]), (name, float((t.double() - got[name].double()).abs().max()))
    assert sum(not torch.equal(before[name], t) for name, t in want.items()) >= len(settings.get("target_modules", LAYERS))
