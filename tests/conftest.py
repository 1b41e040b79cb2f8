"""What holds for every test."""

import signal

# A shell ignores SIGINT in jobs that it runs in the background, and so may a CI. Children inherit that, and tests that
# interrupt them would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
