"""Tables as the data of models: read part by part, in an order that a seed and an epoch give, as tensors."""
