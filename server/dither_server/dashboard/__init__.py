"""The pages that people look at: written on the server, whole without a script."""
