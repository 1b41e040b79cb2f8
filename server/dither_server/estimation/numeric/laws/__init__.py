"""What estimates ask of the law of a mechanism of numbers; ``registry`` is the one list of them."""
