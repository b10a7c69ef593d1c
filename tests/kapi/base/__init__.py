"""kshell/kapi/base: handles, arguments and conversions, and what calls leave behind that fail."""
