"""Stand-in for transformers.logging."""


def set_verbosity_error():
    pass


def disable_progress_bar():
    pass
