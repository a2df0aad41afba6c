"""Sessions of models with stages that mean what they say.

run.py reads the spec and picks the session; llm.py, vlm.py and resnet.py are the sessions; ranges.py, timing.py and
metrics.py are how they are measured; models.py and data.py what they are fed with; failure.py how they end badly.
"""
