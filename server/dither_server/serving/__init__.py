"""HTTP/1.1 on asyncio: connections, who may have them and for how long, and what answers their requests."""
