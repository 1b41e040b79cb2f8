"""The spool: collectors append batches to journals, journals become segments, and a fold counts each batch once.

The collector knows it by ``dither_server.store.sink`` alone, whose functions are in ``seam``.
"""
