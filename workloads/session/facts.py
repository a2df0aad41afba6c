"""What a session states about itself: codes with typed parameters. internal/message of deepprof has their words."""


def fact(code, **params):
    """A fact as deepprof reads it. A parameter is a pair of its kind (count, name, ns, error) and its value."""
    stated = {"code": code}
    if params:
        stated["params"] = {key: {kind: value} for key, (kind, value) in params.items()}
    return stated


def line(stated):
    """A fact for the log: its code and the values of its parameters."""
    values = ", ".join(f"{key} {value}" for key, kinds in stated.get("params", {}).items() for value in kinds.values())
    return f"{stated['code']} ({values})" if values else stated["code"]
