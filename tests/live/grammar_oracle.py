"""Run by the interpreter that has the engines: says what becomes of what it is sent.

Reads `[engine, tokenizer, seconds, [[tag, texts], …]]` from its standard input, and writes a list
of results as `cachediag.lint.grammar.child.Result` has them.
"""

import json
import sys
from dataclasses import asdict

from cachediag.lint.grammar.child import Child, Limits


def main() -> None:
    engine, tokenizer, seconds, tasks = json.load(sys.stdin)
    with Child(engine, tokenizer, Limits(seconds=seconds)) as child:
        found = [asdict(child.compile(tag, texts=texts)) for tag, texts in tasks]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
