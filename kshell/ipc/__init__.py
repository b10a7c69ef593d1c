"""The port: q's wire protocol, connections in and out, and the loop that serves them. It may
import values and what is below them; the language imports its addresses alone, the session all of it."""
