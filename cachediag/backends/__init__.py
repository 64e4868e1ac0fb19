"""Live backends: recognising them, reading what they tell of their caches, a sandbox of our own.

```python
recognised = recognise("http://127.0.0.1:8000")
watch = begin(url, recognised, log)       # before a request
readings(watch, "messages", kind, body)   # after it
```
"""

from cachediag.backends.kinds import PROBES, Accounting, Probe, Reading, Recognised, Sure
from cachediag.backends.recognise import recognise
from cachediag.backends.watch import Watch, begin, readings

__all__ = [
    "PROBES",
    "Accounting",
    "Probe",
    "Reading",
    "Recognised",
    "Sure",
    "Watch",
    "begin",
    "readings",
    "recognise",
]
