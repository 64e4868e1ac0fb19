import pytest

from tests.verify.measurements import measured


@pytest.mark.parametrize(
    ("predicted", "reused", "exact", "came"),
    [
        (100, 100, True, True),
        (100, 101, True, True),
        (100, 99, True, False),
        (0, 0, True, True),
        (100, None, True, None),
        # An estimate is held to no more than it is.
        (100, 85, False, True),
        (100, 75, False, False),
    ],
)
def test_whether_what_was_predicted_came(predicted, reused, exact, came):
    made = measured("both", predicted=predicted, reused=reused, exact=exact)
    assert made.came is came
