"""A session → lanes, each request's parent, and what changed on the way from one to the other."""

from cachediag.analysis.requests import Request, Walk, requests

__all__ = ["Request", "Walk", "requests"]
