"""The commands of ``python -m dither``, for users and for an app's developer."""
