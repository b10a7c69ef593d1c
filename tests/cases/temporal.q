x~gtime ltime x:2024.06.01D12:00  / 1b
type ltime 2024.06.01T12:00:00  / -15h
ltime 10:00  / 'type
type gtime 2024.06.01D0 2024.12.01D0  / 12h
