"""The page that shows a session's training, and the WebSocket that keeps it up to date."""
