"""What a model begins with: the sum of tokens, places and types; patches of an image."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kshell.errors import said
from kshell.nn.blocks.context import CURRENT
from kshell.nn.blocks.positions import LearnedPositions
from kshell.nn.tables import Embedding


class TypedEmbeddings(nn.Module):
    """The normalized sum of the embeddings of tokens, of their places and of their types, which are 0 unless given."""

    most_inputs = 2

    def __init__(
        self,
        rows: int,
        cols: int,
        length: int,
        types: int = 2,
        eps: float = 1e-12,
        dropout: float = 0.0,
        padindex: int | None = None,
    ) -> None:
        super().__init__()
        self.rows, self.cols, self.length, self.types = rows, cols, length, types
        self.eps, self.p, self.padindex = eps, dropout, padindex
        self.word_embeddings = Embedding(rows, cols, padding_idx=padindex)
        self.position_embeddings = LearnedPositions(length, cols)
        self.token_type_embeddings = Embedding(types, cols)
        self.LayerNorm = nn.LayerNorm(cols, eps)
        if dropout:
            self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, types: Tensor | None = None) -> Tensor:
        context = CURRENT.get()
        if types is None and context is not None:
            types = context.types
        kinds = (
            self.token_type_embeddings.weight[0]
            if types is None
            else self.token_type_embeddings(types)
        )
        out = self.LayerNorm(self.position_embeddings(self.word_embeddings(x) + kinds))
        found: Tensor = self.dropout(out) if self.p else out
        return found

    def extra_repr(self) -> str:
        return f"rows={self.rows}, cols={self.cols}, length={self.length}, types={self.types}"


class PatchEmbeddings(nn.Module):
    """Images as a sequence: a learned vector, then a vector for each patch, each plus one for its place."""

    def __init__(
        self,
        size: tuple[int, int],
        patch: tuple[int, int],
        dim: int,
        channels: int = 3,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.size, self.patch, self.dim, self.channels, self.p = size, patch, dim, channels, dropout
        if size[0] % patch[0] or size[1] % patch[1]:
            raise said(
                ValueError(
                    f"patches: images of {size[0]}x{size[1]} are not divisible into {patch[0]}x{patch[1]}"
                )
            )
        count = size[0] // patch[0] * (size[1] // patch[1])
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.position_embeddings = nn.Parameter(torch.zeros(1, count + 1, dim))
        nn.init.trunc_normal_(self.position_embeddings, std=0.02)
        self.patch_embeddings = nn.ModuleDict(
            {"projection": nn.Conv2d(channels, dim, patch, patch, bias=bias)}
        )
        if dropout:
            self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 4 or tuple(x.shape[1:]) != (self.channels, *self.size):
            raise said(
                ValueError(
                    f"patches: expecting images of {self.channels}x{self.size[0]}x{self.size[1]}, "
                    f"given {'x'.join(map(str, x.shape))}"
                )
            )
        patches = self.patch_embeddings["projection"](x).flatten(2).transpose(1, 2)
        first = self.cls_token.expand(len(x), -1, -1)
        out = torch.cat((first, patches), 1) + self.position_embeddings
        found: Tensor = self.dropout(out) if self.p else out
        return found

    def extra_repr(self) -> str:
        return f"size={self.size}, patch={self.patch}, dim={self.dim}, channels={self.channels}"
