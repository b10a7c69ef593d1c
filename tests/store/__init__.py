"""kshell/store: files in kdb+'s form, and saves that fail, are killed or meet others."""
