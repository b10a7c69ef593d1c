"""torch's tables of vectors, which refuse what is no row of theirs wherever they are, and say which."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from kshell.nn.bounds import within


class Embedding(nn.Embedding):
    """torch's, for indices that are rows."""

    from_weights = False  # was it made of given ones?

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
    """torch's, for indices that are rows and offsets that are places among them."""

    from_weights = False

    def forward(
        self, x: Tensor, offsets: Tensor | None = None, weights: Tensor | None = None
    ) -> Tensor:
        if not x.is_cpu:
            within("embedbag", x, self.num_embeddings, "rows")
            if offsets is not None:
                within("embedbag offsets", offsets, x.numel() + 1, "places")
        return super().forward(x, offsets, weights)
