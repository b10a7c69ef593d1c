"""Families of optimizers, schedulers and rules: kshell's own plug-ins, which nothing else imports."""
