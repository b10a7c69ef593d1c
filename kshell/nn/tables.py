"""torch's embeddings, with a check that rejects and names invalid indices on any device."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from kshell.nn.bounds import within


class Embedding(nn.Embedding):
    """torch's embedding, with checked indices."""

    from_weights = False  # was it made from given weights?

    def forward(self, x: Tensor) -> Tensor:
        if not x.is_cpu:
            within("embed", x, self.num_embeddings, "rows")
        try:
            return F.embedding(
                x,
                self.weight,
                self.padding_idx,
                self.max_norm,
                self.norm_type,
                self.scale_grad_by_freq,
                self.sparse,
            )
        except IndexError:
            within("embed", x, self.num_embeddings, "rows")
            raise


class EmbeddingBag(nn.EmbeddingBag):
    """torch's embedding bag, with checked indices and offsets."""

    from_weights = False

    def forward(
        self, x: Tensor, offsets: Tensor | None = None, weights: Tensor | None = None
    ) -> Tensor:
        if not x.is_cpu:
            within("embedbag", x, self.num_embeddings, "rows")
            if offsets is not None:
                within("embedbag offsets", offsets, x.numel() + 1, "places")
        return super().forward(x, offsets, weights)
