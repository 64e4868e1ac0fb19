"""V02: a date, a time of day, a time stamp."""

__all__ = ["CODE", "PATTERN"]

CODE = "V02"

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[ap]\.?m\b\.?)?"
_ZONE = r"(?:\s?(?:z\b|utc\b|gmt\b|cest\b|cet\b|e[sd]t\b|p[sd]t\b|[+-]\d{2}:?\d{2}\b))"
_DATES = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
    r"\d{1,2}[/.]\d{1,2}[/.]\d{4}",
    rf"{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?",
    rf"\d{{1,2}}(?:st|nd|rd|th)?\.?\s+{_MONTH}\.?(?:,?\s+\d{{4}})?",
    rf"{_MONTH}\.?,?\s+\d{{4}}",
)
_DATE = f"(?:{'|'.join(_DATES)})"
# 2001 to 2033 in seconds, or in milliseconds.
_EPOCH = r"1\d{9}(?:\d{3})?(?:\.\d{1,9})?"

PATTERN = (
    rf"(?<![\w.:-])(?:(?:{_DAY}\b,?\s+)?{_DATE}(?![\w-])(?:(?:,?\s+(?:at\s+)?|t)?{_CLOCK}{_ZONE}?"
    rf"(?:\s+\d{{4}}\b)?)?"
    rf"|\d{{4}}-\d{{1,2}}-\d{{1,2}}t{_CLOCK}{_ZONE}?"
    rf"|\d{{8}}t\d{{4,6}}(?:{_ZONE}|(?!\w))"
    rf"|{_CLOCK}(?!\d){_ZONE}?"
    rf"|\d{{1,2}}\s?[ap]\.?m\b"
    rf"|{_DAY}(?![\w-])"
    rf"|{_EPOCH}(?![\w-]))"
)
