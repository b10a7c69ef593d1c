"""The foundation of the k-api: handles, arguments, conversions, errors, and lazy import of torch.

May import nothing else from kapi.
"""
