"""A small LLM server with continuous batching, which also stands in for other engines in tests."""
