"""Folders that `hub` opens and refuses, without transformers: weights are maps of the files, errors name what is wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell.errors import QError
from kshell.kapi.base.convert import as_tensor
from kshell.kapi.base.handles import tensor_handle
from kshell.kapi.hub.family import FAMILIES
from kshell.session import Session

LLAMA: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 30, "hidden_size": 16, "intermediate_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "rope_theta": 500.0}


@pytest.fixture
def session() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


def weights(c: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The weights of a Llama by the names of its files."""
    torch.manual_seed(3)
    dim, hidden, few = c["hidden_size"], c["intermediate_size"], c["hidden_size"] // c["num_attention_heads"] * c["num_key_value_heads"]
    sizes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c["vocab_size"], dim)}
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        sizes |= {at + "input_layernorm.weight": (dim,), at + "post_attention_layernorm.weight": (dim,),
                  at + "self_attn.q_proj.weight": (dim, dim), at + "self_attn.k_proj.weight": (few, dim),
                  at + "self_attn.v_proj.weight": (few, dim), at + "self_attn.o_proj.weight": (dim, dim),
                  at + "mlp.gate_proj.weight": (hidden, dim), at + "mlp.up_proj.weight": (hidden, dim),
                  at + "mlp.down_proj.weight": (dim, hidden)}
    sizes |= {"model.norm.weight": (dim,), "lm_head.weight": (c["vocab_size"], dim)}
    return {name: torch.randn(size) / 4 for name, size in sizes.items()}


def folder(s: Session, path: Path, c: dict[str, Any] | None = None, given: dict[str, torch.Tensor] | None = None) -> Path:
    """A folder with settings and weights."""
    path.mkdir(exist_ok=True)
    c = LLAMA if c is None else c
    (path / "config.json").write_text(json.dumps(c))
    given = weights(LLAMA) if given is None else given
    s.run("d:()!()")
    for name, t in given.items():
        s["t"] = tensor_handle(t)
        s.run(f"d[`$\"{name}\"]:t")
    s.run(f'ckpt(`$":{path}/model.safetensors";d)')
    return path


def opened(s: Session, path: Path, more: str = "") -> None:
    s.run(f'm:hub(`$":{path}"{more})')


def test_what_it_is(session: Session, tmp_path: Path) -> None:
    """Its parts have types, names and options, and parameters the numbers of the files."""
    opened(session, folder(session, tmp_path))
    session.run("d:module m;p:parmtable m")
    assert session.run("(exec distinct module from d)~`seqmask`embed`seqnest`block`rmsnorm`gqa`linear`rope`swiglu") is True
    assert session.run("(`dim`heads`kvheads#first exec options from d where module=`gqa)~`dim`heads`kvheads!16 4 2") is True
    assert session.run("500f~(first exec options from d where module=`rope)`base") is True
    assert {n.s for n in session.run("exec name from p").items} == set(weights(LLAMA))
    m = session.run("m").obj
    assert all(torch.equal(m.get_parameter(n), t) for n, t in weights(LLAMA).items())
    assert session.run("2 3 30~size forward(m;2 3#til 6)") is True
    assert "knn::GroupedAttention" in session.run("str m").s if hasattr(session.run("str m"), "s") else True


def test_weights_are_maps_of_the_file(session: Session, tmp_path: Path) -> None:
    """Nothing is copied of large ones until it is written, and then the file stays as it was."""
    c = LLAMA | {"vocab_size": 8000}
    path = folder(session, tmp_path, c, weights(c))
    before = (path / "model.safetensors").read_bytes()
    opened(session, path)
    m = session.run("m").obj
    spans = [line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("model.safetensors")]
    places = [(int(a, 16), int(b, 16)) for a, b in spans]
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        at = m.get_parameter(name).data_ptr()
        assert any(a <= at < b for a, b in places), name
    session.run("o:opt(`sgd;m;1f);backward Sum forward(m;2 3#til 6);step o")
    assert not torch.equal(m.get_parameter("lm_head.weight"), weights(c)["lm_head.weight"])
    assert (path / "model.safetensors").read_bytes() == before


def test_other_places_of_weights(session: Session, tmp_path: Path) -> None:
    """A .bin, and a tied head that is in no file."""
    c = LLAMA | {"tie_word_embeddings": True}
    given = weights(LLAMA)
    del given["lm_head.weight"]
    path = folder(session, tmp_path, c, given)
    opened(session, path)
    x = as_tensor(session.run("eforward(m;2 3#til 6)"))
    m = session.run("m").obj
    assert m.get_parameter("lm_head.weight") is m.get_parameter("model.embed_tokens.weight")
    assert session.run("(state m)~state module state m") is True
    (path / "model.safetensors").unlink()
    torch.save(given | {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)}, path / "pytorch_model.bin")
    opened(session, path)
    assert torch.equal(x, as_tensor(session.run("eforward(m;2 3#til 6)")))
    opened(session, path, ";`LlamaModel")
    assert session.run("2 3 16~size forward(m;2 3#til 6)") is True
    opened(session, path, ";`model")
    assert session.run("2 3 16~size forward(m;2 3#til 6)") is True


def changed(**settings: Any) -> dict[str, Any]:
    return {key: value for key, value in (LLAMA | settings).items() if value != "absent"}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "type": (changed(model_type="gemma9"), "has the model_type gemma9, known are " + " ".join(FAMILIES)),
    "no type": (changed(model_type="absent"), "has no model_type, known are"),
    "architecture": (changed(architectures=["LlamaForSight"]),
                     "hub: the architecture LlamaForSight is not known, those of llama are LlamaForCausalLM LlamaModel"),
    "no size": (changed(hidden_size="absent"), "config.json has no hidden_size"),
    "a wrong size": (changed(hidden_size="big"), "hidden_size of {}/config.json is 'big', expecting a positive whole number"),
    "zero": (changed(vocab_size=0), "vocab_size of {}/config.json is 0"),
    "too many": (changed(num_hidden_layers=10**9), "num_hidden_layers of {}/config.json is 1000000000, above 10000"),
    "function": (changed(hidden_act="sin"), "hidden_act of {}/config.json is sin, the functions known are silu"),
    "rope": (changed(rope_scaling={"type": "spiral", "factor": 2.0}), "hub: rotary positions of type spiral are not known"),
    "no factor": (changed(rope_scaling={"type": "linear"}), "config.json has no factor"),
    "rope of another kind": (changed(rope_scaling=3), "the rotary positions of {}/config.json are 3"),
    "heads": (changed(num_attention_heads=3, num_key_value_heads=2), "heads"),
    "more layers": (changed(num_hidden_layers=3), "hub: the files have no model.layers.2.input_layernorm.weight "
                    "model.layers.2.self_attn.q_proj.weight model.layers.2.self_attn.k_proj.weight "
                    "model.layers.2.self_attn.v_proj.weight model.layers.2.self_attn.o_proj.weight and 4 others"),
    "fewer layers": (changed(num_hidden_layers=1), "hub: the files have model.layers.1.input_layernorm.weight"),
    "sizes": (changed(intermediate_size=20), r"hub: model.layers.0.mlp.gate_proj.weight of the files is [24, 16], expecting [20, 16]"),
    "a bias": (changed(mlp_bias=True), "hub: the files have no model.layers.0.mlp.gate_proj.bias"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_settings(session: Session, tmp_path: Path, name: str) -> None:
    settings, message = WRONG[name]
    path = folder(session, tmp_path / "a", settings)
    with pytest.raises(QError) as e:
        opened(session, path)
    assert message.replace("{}", str(path)) in str(e.value)


def test_wrong_folders(session: Session, tmp_path: Path) -> None:
    for call, message in (("hub 3", "hub: expecting a folder or settings, and optionally an architecture"),
                          ("hub[]", "hub: expecting a folder or settings"), ("hub(`:a;`b;`c)", "hub: expecting a folder or settings"),
                          ("hub(`:a;3)", "hub architecture: expecting a symbol"), ("hub`:nosuch", "hub: nosuch is not a folder"),
                          (f'hub`$":{tmp_path}"', f"hub: {tmp_path} has no config.json")):
        with pytest.raises(QError) as e:
            session.run(call)
        assert str(e.value).startswith(message), call
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    with pytest.raises(QError, match="has no checkpoint in it"):
        opened(session, tmp_path)
    (tmp_path / "config.json").write_text("{not json")
    with pytest.raises(QError, match=r"config\.json"):
        opened(session, tmp_path)
    path = folder(session, tmp_path / "b")
    (path / "model.safetensors").write_bytes((path / "model.safetensors").read_bytes()[:-100])
    with pytest.raises(QError, match=r"model\.safetensors"):
        opened(session, path)
    (path / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(QError, match=r"model\.safetensors"):
        opened(session, path)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_settings_but_the_type(session: Session, tmp_path: Path, name: str) -> None:
    """A setting that a model needs is named, whichever family it is."""
    path = folder(session, tmp_path / "a", {"model_type": name}, {"a": torch.ones(2)})
    with pytest.raises(QError, match=r"config\.json has no "):
        opened(session, path)


def test_reval_refuses(session: Session, tmp_path: Path) -> None:
    path = folder(session, tmp_path / "a")
    with pytest.raises(QError):
        session.run(f'reval(hub;`$":{path}")')
