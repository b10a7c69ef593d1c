"""GPT-2: learned positions, queries, keys and values in one matrix."""

from __future__ import annotations

from typing import Any

from kshell.kapi.hub.family import Node, Plan, Settings, activation, dropouts, family, node

# masks and numbers of places, which older files hold
_IGNORED = (r".*attn\.(masked_)?bias", r".*position_ids")


def _block(c: Settings, i: int) -> Node:
    dim, eps = c.size("n_embd"), c.number("layer_norm_epsilon", 1e-5)
    hidden, p = c.size("n_inner", 4 * dim), c.number("resid_pdrop", 0.1)
    attention = node(
        "gqa",
        "attn",
        dim=dim,
        heads=c.size("n_head"),
        bias=True,
        outbias=True,
        dropout=c.number("attn_pdrop", 0.1),
        scale=None if c.flag("scale_attn_weights", True) else 1.0,
        fused=True,
        layer="lineart",
        names=("c_attn", "c_proj"),
    )
    feed = node(
        "seqnest",
        "mlp",
        node("lineart", "c_fc", **{"in": dim, "out": hidden}),
        activation(c.function("activation_function", "gelu_new")),
        node("lineart", "c_proj", **{"in": hidden, "out": dim}),
    )
    first = node("layernorm", "ln_1", shape=dim, eps=eps), attention, *dropouts(p, "drop_1")
    second = node("layernorm", "ln_2", shape=dim, eps=eps), feed, *dropouts(p, "drop_2")
    return node("block", str(i), *first, *second, sizes=(len(first), len(second)))


def _model(c: Settings, name: str) -> Node:
    c.refuse(add_cross_attention=False, scale_attn_by_inverse_layer_idx=False)
    dim = c.size("n_embd")
    return node(
        "seqmask",
        name,
        node("embed", "wte", rows=c.size("vocab_size"), cols=dim),
        node("positions", "wpe", rows=c.size("n_positions"), cols=dim),
        *dropouts(c.number("embd_pdrop", 0.1), "drop"),
        node("seqnest", "h", *(_block(c, i) for i in c.layers("n_layer"))),
        node("layernorm", "ln_f", shape=dim, eps=c.number("layer_norm_epsilon", 1e-5)),
    )


def _causal(c: Settings) -> Plan:
    sizes: dict[str, Any] = {"in": c.size("n_embd"), "out": c.size("vocab_size")}
    root = node(
        "seqmask", "", _model(c, "transformer"), node("linear", "lm_head", bias=False, **sizes)
    )
    is_tied = c.flag("tie_word_embeddings", True)
    return Plan(root, {"lm_head.weight": "transformer.wte.weight"} if is_tied else {}, _IGNORED)


def _bare(c: Settings) -> Plan:
    return Plan(_model(c, ""), {}, _IGNORED)


family("gpt2", "transformer", "GPT-2 and those built alike", LMHeadModel=_causal, Model=_bare)
