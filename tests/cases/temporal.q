x~gtime ltime x:2024.06.01D12:00  / 1b
type ltime 2024.06.01T12:00:00  / -15h
ltime 10:00  / 'type
type gtime 2024.06.01D0 2024.12.01D0  / 12h
ltime gtime 2000.01.01D0  / 2000.01.01D00:00:00.000000000
ltime 0Np  / 0Np
ltime 0#0Np  / `timestamp$()
ltime gtime 2024.01.01D0 2024.07.01D0  / 2024.01.01D00:00:00.000000000 2024.07.01D00:00:00.000000000
ltime`a  / 'type
gtime ltime 2024.06.01D12:00  / 2024.06.01D12:00:00.000000000
gtime 0Np  / 0Np
gtime 0#0Np  / `timestamp$()
type gtime 2024.06.01T12:00:00  / -15h
gtime 10:00  / 'type
gtime`a  / 'type
