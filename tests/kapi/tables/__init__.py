"""Tables as the data of models: where they are, their order, the place in a pass, what is wrong with them."""
