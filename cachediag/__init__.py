"""cachediag: why was this prompt prefilled again, and what makes it stop?"""

__version__ = "0.1.0"
__all__ = ["__version__"]
