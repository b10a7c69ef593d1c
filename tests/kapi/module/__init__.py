"""kshell/kapi/module: module types and layers against torch."""
