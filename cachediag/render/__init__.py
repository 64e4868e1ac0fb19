"""What a backend makes of a prompt: profiles, chat templates, and the text that comes out."""

from cachediag.render.profiles import Profile, default_profile, profile
from cachediag.render.rendered import Piece, Rendered, Segment
from cachediag.render.templates import Template, template

__all__ = [
    "Piece",
    "Profile",
    "Rendered",
    "Segment",
    "Template",
    "default_profile",
    "profile",
    "template",
]
