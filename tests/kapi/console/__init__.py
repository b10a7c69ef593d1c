"""kshell/kapi/console: help, progress lines, curves and logs."""
