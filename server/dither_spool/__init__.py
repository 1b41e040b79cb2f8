"""The spool: collectors append batches to journals, journals become segments, and a fold counts each batch once.

The collector knows it only through ``dither_server.store.sink``, whose functions are in ``seam``.
"""
