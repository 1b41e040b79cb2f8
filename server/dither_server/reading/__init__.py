"""Reading estimates from a database: queries, what they cost, caches, exports.

The numbers themselves are computed in ``estimation`` and ``analysis``.
"""
