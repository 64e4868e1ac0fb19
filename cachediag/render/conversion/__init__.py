"""From the messages of a request to the turns of a chat template, as servers convert them."""

__all__: list[str] = []
