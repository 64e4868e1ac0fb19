"""Appends made-up exchanges to a session and says so; run by the tests in a process of its own.

python recording_writer.py SESSION FIRST COUNT
"""

import json
import random
import sys
from pathlib import Path

from cachediag.model import Exchange, ExchangeInfo
from cachediag.session import Session

SYSTEM = " ".join(f"Rule {n}: write plainly and test what you write." for n in range(200))


def exchange(number: int) -> Exchange:
    """Exchange `number` of a conversation that grows, with every fifth from a sub-agent."""
    text = random.Random(number).randbytes(200).hex()
    messages = [
        {"role": "user", "content": f"step {n} " + random.Random(n).randbytes(60).hex()}
        for n in range(number % 5 if number % 5 == 4 else number)
    ]
    body = {
        "model": "m",
        "messages": messages,
        "system": SYSTEM[: 4000 if number % 5 == 4 else None],
    }
    return Exchange(
        ExchangeInfo(endpoint="messages", path="/v1/messages", started=float(number)),
        json.dumps(body).encode(),
        f'event: message_start\ndata: {{"text":"{text}"}}\n\n'.encode(),
    )


def main() -> None:
    path, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with Session.create(path) as session:
        for number in range(first, first + count):
            index = session.append(exchange(number))
            sys.stdout.write(f"{index} {number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
