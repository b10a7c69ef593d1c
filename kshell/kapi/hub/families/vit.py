"""ViT: an image as a sequence of patches."""

from __future__ import annotations

from typing import Any

from kshell.kapi.hub.families.bert import labels
from kshell.kapi.hub.family import Node, Plan, Settings, activation, dropouts, family, node


def _pair(c: Settings, name: str) -> tuple[int, int]:
    """A height and width."""
    found = c.get(name)
    if (
        isinstance(found, list)
        and len(found) == 2
        and all(isinstance(n, int) and n > 0 for n in found)
    ):
        return found[0], found[1]
    size = c.size(name)
    return size, size


def _layer(c: Settings, i: int) -> Node:
    dim, hidden = c.size("hidden_size"), c.size("intermediate_size")
    eps, p = c.number("layer_norm_eps", 1e-12), c.number("hidden_dropout_prob", 0.0)
    around: dict[str, Any] = {"in": dim, "out": dim}
    attention = node(
        "gqa",
        "attention",
        dim=dim,
        heads=c.size("num_attention_heads"),
        causal=False,
        bias=c.flag("qkv_bias", True),
        dropout=c.number("attention_probs_dropout_prob", 0.0),
        project=False,
        names=("query", "key", "value"),
    )
    first = (
        node("layernorm", "layernorm_before", shape=dim, eps=eps),
        node(
            "seqnest",
            "attention",
            attention,
            node("seqnest", "output", node("linear", "dense", **around), *dropouts(p, "dropout")),
        ),
    )
    second = (
        node("layernorm", "layernorm_after", shape=dim, eps=eps),
        node(
            "seqnest",
            "intermediate",
            node("linear", "dense", **{"in": dim, "out": hidden}),
            activation(c.function("hidden_act", "gelu")),
        ),
        node(
            "seqnest",
            "output",
            node("linear", "dense", **{"in": hidden, "out": dim}),
            *dropouts(p, "dropout"),
        ),
    )
    return node("block", str(i), *first, *second, sizes=(2, 3))


def _parts(c: Settings) -> tuple[Node, ...]:
    embeddings = node(
        "patches",
        "embeddings",
        size=_pair(c, "image_size"),
        patch=_pair(c, "patch_size"),
        dim=c.size("hidden_size"),
        channels=c.size("num_channels", 3),
        dropout=c.number("hidden_dropout_prob", 0.0),
    )
    layers = node("seqnest", "layer", *(_layer(c, i) for i in c.layers("num_hidden_layers")))
    norm = node(
        "layernorm", "layernorm", shape=c.size("hidden_size"), eps=c.number("layer_norm_eps", 1e-12)
    )
    return embeddings, node("seqnest", "encoder", layers), norm


def _bare(c: Settings) -> Plan:
    c.refuse(pooler_act="tanh", pooler_output_size=c.size("hidden_size"))
    return Plan(
        node("seqmask", "", *_parts(c), node("pooler", "pooler", dim=c.size("hidden_size")))
    )


def _classifier(c: Settings) -> Plan:
    sizes: dict[str, Any] = {"in": c.size("hidden_size"), "out": labels(c)}
    vit = node("seqnest", "vit", *_parts(c))
    first = node("select", "first", dim=1, ind=0)
    return Plan(
        node("seqmask", "", vit, first, node("linear", "classifier", **sizes)),
        {},
        (r"vit\.pooler\..*",),
    )


family("vit", "vit", "Vision Transformer", ForImageClassification=_classifier, Model=_bare)
