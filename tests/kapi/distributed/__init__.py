"""kshell/kapi/distributed: modules that several processes share."""
