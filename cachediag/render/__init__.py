"""What a backend makes of a prompt: profiles."""

from cachediag.render.profiles import Profile, default_profile, profile

__all__ = ["Profile", "default_profile", "profile"]
