"""Merging adapters into checkpoints and extracting them, in q; with peft where it is installed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from kshell.errors import QError
from kshell.kapi.checkpoint.trees import tensors_in
from kshell.kapi.checkpoint_algebra.sources import TreeSource
from kshell.session import Session

BASE = "base_model.model."


def tensors(session: Session, line: str) -> dict[str, torch.Tensor]:
    return dict(tensors_in(session.run(line)))


def randn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def adapter(folder: str, parts: dict[str, torch.Tensor], **settings: Any) -> None:
    os.makedirs(folder, exist_ok=True)
    save_file(parts, f"{folder}/adapter_model.safetensors")
    Path(folder, "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 4, **settings}))


def pair(module: str, seed: int, out: int, size: int, r: int = 2) -> dict[str, torch.Tensor]:
    return {f"{BASE}{module}.lora_A.weight": randn(seed, r, size), f"{BASE}{module}.lora_B.weight": randn(seed + 1, out, r)}


def test_adapters_are_added_one_after_the_other(session: Session) -> None:
    w, bias, other = randn(1, 4, 3), randn(2, 4), randn(3, 5)
    save_file({"model.q.weight": w, "model.q.bias": bias, "norm.weight": other}, "base.safetensors")
    one, two = pair("model.q", 10, 4, 3), pair("model.q", 20, 4, 3)
    adapter("one", one)
    adapter("two", {**two, BASE + "norm.weight": other + 1}, modules_to_save=["norm"], use_rslora=True)
    a, b = ([p[f"{BASE}model.q.lora_{x}.weight"] for x in "BA"] for p in (one, two))
    got = tensors(session, "ckptmerge(`:base.safetensors;`:one)")
    assert torch.equal(got["model.q.weight"], w + (a[0] @ a[1]) * 2.0) and torch.equal(got["model.q.bias"], bias)
    got = tensors(session, "ckptmerge(`:base.safetensors;`:one`:two;.5 -1)")
    want = w + (a[0] @ a[1]) * 1.0 + (b[0] @ b[1]) * (-4 / 2**0.5)
    assert torch.allclose(got["model.q.weight"], want, atol=1e-6) and torch.equal(got["norm.weight"], other + 1)
    # the same from dictionaries, into files and folders
    session.run("c:.j.k raze read0`:one/adapter_config.json;l:ckpt`:one/adapter_model.safetensors;b:ckpt`:base.safetensors")
    session.run("ckptmerge(b;l;1;c;`:out.safetensors);ckptmerge(b;`config`tensors!(c;l);(`to`bytes!(`:out;60)))")
    first = tensors(session, "ckptmerge(b;`:one)")
    for again in (load_file("out.safetensors"), tensors(session, "ckpt`:out"), tensors(session, "ckptmerge(b;enlist`:one)")):
        assert again.keys() == first.keys() and all(torch.equal(again[k], first[k]) for k in first)


def test_a_module_gets_an_adapter(session: Session) -> None:
    session.run("m:module seq(`sequential;(`linear;`a;3;4);(`linear;`b;4;2))")
    m = session["m"].obj
    before = {k: v.clone() for k, v in m.state_dict().items()}
    parts = pair("b", 5, 2, 4)
    adapter("b", parts)
    session.run("ckptmerge(m;`:b;(`to;m))")
    assert torch.equal(m[1].weight, before["b.weight"] + parts[f"{BASE}b.lora_B.weight"] @ parts[f"{BASE}b.lora_A.weight"] * 2.0)
    assert torch.equal(m[0].weight, before["a.weight"])


def test_what_is_tied_is_merged_once(session: Session) -> None:
    w = randn(1, 6, 3)
    torch.save({"emb.weight": w, "head.weight": w, "x": w + 1}, "base.pt")
    adapter("one", {f"{BASE}emb.lora_embedding_A": randn(2, 2, 6), f"{BASE}emb.lora_embedding_B": randn(3, 3, 2)})
    got = tensors(session, "ckptmerge(`:base.pt;`:one)")
    assert torch.equal(got["emb.weight"], w + (randn(3, 3, 2) @ randn(2, 2, 6)).T * 2.0)
    assert got["emb.weight"].data_ptr() == got["head.weight"].data_ptr() and torch.equal(got["x"], w + 1)


def test_names_are_found_by_their_end(session: Session) -> None:
    torch.save({"model": {"layers.q.weight": randn(1, 4, 3), "layers.k.weight": randn(2, 4, 3)}, "epoch": 3}, "run.pt")
    adapter("one", pair("layers.q", 5, 4, 3))
    adapter("two", pair("q", 5, 4, 3))
    a, b = (tensors(session, f"ckptmerge(`:run.pt;`:{x})") for x in ("one", "two"))
    assert torch.equal(a["model.layers.q.weight"], b["model.layers.q.weight"])
    assert session.run("ckptmerge[(`:run.pt;`:one)]`epoch") == 3
    assert not torch.equal(a["model.layers.q.weight"], randn(1, 4, 3))


@pytest.mark.parametrize(("parts", "settings", "text"), [
    (pair("q", 1, 4, 3), {"peft_type": "LOHA"}, "ckptmerge: an adapter of type LOHA cannot be merged, only LORA"),
    (pair("q", 1, 4, 3), {"target_parameters": ["x"]}, "ckptmerge: an adapter with target_parameters cannot be merged"),
    (pair("nosuch", 1, 4, 3), {}, "ckptmerge: the model has no nosuch.weight"),
    (pair("q", 1, 4, 5), {}, "ckptmerge: q.weight: parts of sizes [2, 5] and [4, 2] do not fit a weight of size [4, 3]"),
    (pair("q", 1, 4, 3), {"r": 3}, "ckptmerge: the rank of q is 2, and 3 in the adapter's settings"),
    (pair("q", 1, 4, 3), {"rank_pattern": {"(q": 2}}, "ckptmerge: the pattern (?:.*\\.)?(?:(q) is not complete"),
    ({f"{BASE}q.lora_A.weight": randn(1, 2, 3)}, {}, "ckptmerge: the adapter has no B for q"),
    ({f"{BASE}q.hada_w1": randn(1, 2, 3)}, {}, "ckptmerge: base_model.model.q.hada_w1 of the adapter is of a kind that cannot be merged"),
    ({f"{BASE}q.weight": randn(1, 2, 3)}, {}, "ckptmerge: q.weight: size mismatch, [4, 3], given [2, 3]")])
def test_adapters_that_do_not_fit(parts: dict[str, Any], settings: dict[str, Any], text: str, session: Session) -> None:
    save_file({"q.weight": randn(1, 4, 3)}, "base.safetensors")
    adapter("one", parts, **settings)
    for line in ("ckptmerge(`:base.safetensors;`:one;(`to;`:out.safetensors))", "ckptmerge(`:base.safetensors;`:one)"):
        with pytest.raises(QError) as error:
            session.run(line)
        assert error.value.text.startswith(text)
    assert sorted(os.listdir()) == ["base.safetensors", "one"]


def test_nothing_is_read_before_all_is_known_to_fit(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({"k.weight": randn(1, 4, 3), "q.weight": randn(1, 4, 3)}, "base.safetensors")
    adapter("one", {**pair("k", 1, 4, 3), **pair("q", 1, 4, 5)})
    monkeypatch.setattr(TreeSource, "tensor", None)
    with pytest.raises(QError, match=r"^ckptmerge: q.weight: parts of sizes"):
        session.run("ckptmerge(`:base.safetensors;`:one;(`to;`:out.safetensors))")
    session.run("ckpt(`:int.safetensors;`k.weight`q.weight!(tensor 4 3#1;tensor 4 3#1e))")
    with pytest.raises(QError, match=r"^ckptmerge: k.weight: a weight of type long cannot be merged"):
        session.run("ckptmerge(`:int.safetensors;`:one)")


def test_other_errors(session: Session) -> None:
    save_file({"q.weight": randn(1, 4, 3)}, "base.safetensors")
    os.mkdir("empty")
    for line, text in (("ckptmerge(`:base.safetensors;`:empty)", "ckptmerge: empty is no adapter: it has no adapter_model.safetensors"),
                       ("ckptmerge(`:base.safetensors;`:base.safetensors)", "ckptmerge: the settings of the adapter are not there"),
                       ("ckptmerge(`:base.safetensors;7)", "ckptmerge: expected an adapter or a list of them, given long scalar"),
                       ("ckptmerge(`:base.safetensors;`:empty;`q)", "ckptmerge scale: expected"),
                       ("ckptlora(`:base.safetensors;`:base.safetensors;0)", "ckptlora rank: expected a rank of at least 1"),
                       ("ckptlora((enlist`x)!enlist tensor 1e;`:base.safetensors;1)", "ckptlora: the base has no x")):
        with pytest.raises(QError) as error:
            session.run(line)
        assert text in error.value.text, error.value.text


def tuned_pair() -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    base = {"a.weight": randn(1, 8, 6), "a.bias": randn(2, 8), "c.weight": randn(3, 5, 4, 3), "embed.weight": randn(4, 9, 6), "norm.weight": randn(5, 6),
            "same.weight": randn(6, 3, 3)}
    tuned = {k: v + (0 if k == "same.weight" else 0.1 * randn(9, *v.shape)) for k, v in base.items()}
    tuned["a.weight"] = base["a.weight"] + randn(7, 8, 2) @ randn(8, 2, 6)
    return base, tuned


def test_what_is_extracted_is_merged_again(session: Session) -> None:
    base, tuned = tuned_pair()
    torch.save(base, "base.pt")
    torch.save(tuned, "tuned.pt")
    session.run("ckptlora(`:tuned.pt;`:base.pt;0N;(`to;`:all));a:ckptlora(`:tuned.pt;`:base.pt;2)")
    whole = tensors(session, "ckptmerge(`:base.pt;`:all)")
    assert all(torch.allclose(whole[k], tuned[k], atol=1e-5) for k in tuned)
    config = json.loads(Path("all/adapter_config.json").read_text())
    assert config["target_modules"] == ["a", "c"] and sorted(config["modules_to_save"]) == ["embed", "norm"] and config["bias"] == "lora_only"
    assert config["r"] == 6 and config["rank_pattern"] == {"c": 5} == config["alpha_pattern"]
    two = tensors(session, "ckptmerge(`:base.pt;a)")
    assert torch.allclose(two["a.weight"], tuned["a.weight"], atol=1e-4)  # its rank is 2
    s = torch.linalg.svdvals((tuned["c.weight"] - base["c.weight"]).flatten(1))
    assert torch.allclose((two["c.weight"] - tuned["c.weight"]).norm(), s[2:].norm(), atol=1e-5)
    assert torch.equal(two["embed.weight"], tuned["embed.weight"]) and torch.equal(two["same.weight"], base["same.weight"])
    assert session.run("a[`config;`r]~2") is True
    few = tensors(session, f"ckptlora[(`:tuned.pt;`:base.pt;0N;{float(s[0] + s[1]) / 2!r})]`tensors")
    assert few[f"{BASE}c.lora_A.weight"].shape == (1, 4, 3)


def test_whole_weights_by_pattern(session: Session) -> None:
    base, tuned = tuned_pair()
    torch.save(base, "base.pt")
    torch.save(tuned, "tuned.pt")
    got = tensors(session, "ckptlora[(`:tuned.pt;`:base.pt;1;(`whole;\"c.*\"))]`tensors")
    assert f"{BASE}c.weight" in got and f"{BASE}embed.lora_A.weight" in got


# ------------------------------------------------------------------ peft


@pytest.fixture
def model() -> Any:
    pytest.importorskip("peft")
    from tests.kapi.checkpoint_algebra.test_lora import Turned

    torch.manual_seed(3)
    return Turned()


SETTINGS: list[dict[str, Any]] = [
    {"target_modules": ["lin", "conv1d", "c2"], "modules_to_save": ["head"]},
    {"target_modules": "all-linear", "use_rslora": True, "bias": "all"},
    {"target_modules": ["lin", "emb", "c1"], "use_dora": True, "bias": "lora_only"},
    {"target_modules": ["lin", "square"], "rank_pattern": {"l.n": 2}, "alpha_pattern": {"square": 9}, "lora_bias": True}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_folder_of_peft_is_merged_as_there(settings: dict[str, Any], model: Any, session: Session) -> None:
    import peft

    torch.save(model.state_dict(), "base.pt")
    wrapped = peft.get_peft_model(model, peft.LoraConfig(r=3, lora_alpha=5, **settings))
    for p in wrapped.parameters():
        if p.requires_grad:
            p.data = p.data + torch.randn(p.shape).abs()
    wrapped.save_pretrained("adapter")
    got = tensors(session, "ckptmerge(`:base.pt;`:adapter)")
    want = wrapped.merge_and_unload().state_dict()
    assert list(got) == list(want)
    for name, t in want.items():
        assert torch.equal(got[name], t), name


@pytest.mark.filterwarnings("ignore")
def test_peft_loads_what_was_extracted(model: Any, session: Session) -> None:
    import peft

    torch.save(model.state_dict(), "base.pt")
    tuned = {k: v + 0.1 * torch.randn(v.shape) if k.startswith(("lin.", "square.", "c2.", "head.")) else v for k, v in model.state_dict().items()}
    torch.save(tuned, "tuned.pt")
    session.run("ckptlora(`:tuned.pt;`:base.pt;2;(`whole`to!(`head.weight;`:adapter)))")
    merged = peft.PeftModel.from_pretrained(model, "adapter").merge_and_unload().state_dict()
    got = tensors(session, "ckptmerge(`:base.pt;`:adapter)")
    assert list(merged) == list(got)
    for name, t in merged.items():
        assert torch.equal(got[name], t), name
    assert torch.equal(got["head.weight"], tuned["head.weight"]) and torch.equal(got["lin.bias"], tuned["lin.bias"])


@pytest.mark.filterwarnings("ignore")
def test_adapters_of_16_bits_as_peft_loads_them(model: Any, session: Session) -> None:
    """from_pretrained makes them float32 first; in the program that has trained them they are as they are."""
    import peft

    model = model.to(torch.bfloat16)
    torch.save(model.state_dict(), "base.pt")
    config = peft.LoraConfig(r=3, lora_alpha=5, target_modules=["lin", "square", "c2"])
    wrapped = peft.get_peft_model(model, config, autocast_adapter_dtype=False)
    for p in wrapped.parameters():
        if p.requires_grad:
            p.data = torch.randn(p.shape).to(torch.bfloat16)
    wrapped.save_pretrained("adapter")
    there = {k: v.clone() for k, v in wrapped.merge_and_unload().state_dict().items()}
    model.load_state_dict(torch.load("base.pt"))
    loaded = peft.PeftModel.from_pretrained(model, "adapter").merge_and_unload().state_dict()
    session.run("c:.j.k raze read0`:adapter/adapter_config.json;a:ckptcast(`:adapter/adapter_model.safetensors;`float)")
    for line, want in (("ckptmerge(`:base.pt;`:adapter)", there), ("ckptmerge(`:base.pt;a;(`config;c))", loaded)):
        got = tensors(session, line)
        assert all(torch.equal(got[k], t) for k, t in want.items()), line
    assert not torch.equal(there["lin.weight"], loaded["lin.weight"])
