"""Families of optimizers, schedulers and rules: plug-ins of kshell's own, which nothing else imports."""
