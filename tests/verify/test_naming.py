import json

import pytest

from cachediag.errors import UsageError
from cachediag.verify.naming import model_name


def named(serve, listed, recorded):
    server = serve(lambda _, reply: reply.body(b"", 404))
    if listed is not None:
        document = {"object": "list", "data": [{"id": name} for name in listed]}
        server.told["/v1/models"] = json.dumps(document).encode()
    return model_name(server.url, recorded)


@pytest.mark.parametrize(
    ("listed", "recorded", "name"),
    [
        (["tiny"], ["opus", "haiku"], "tiny"),
        (["opus", "haiku", "tiny"], ["opus", None, "haiku"], None),
        (["tiny"], [], "tiny"),
        ([], ["opus"], None),
        (None, ["opus"], None),
    ],
)
def test_the_one_model_is_asked_for_where_the_recorded_ones_are_not_there(
    serve, listed, recorded, name
):
    assert named(serve, listed, recorded) == name


def test_of_several_one_must_be_named(serve):
    with pytest.raises(UsageError, match="serves 2 models") as told:
        named(serve, ["a", "b"], ["opus"])
    assert told.value.remedy == "Choose one: --request-model a"


def test_what_is_no_list_is_none(serve):
    server = serve(lambda _, reply: reply.body(b"", 404))
    for said in (b"[]", b"{", b'{"data":[1,{"id":2}]}'):
        server.told["/v1/models"] = said
        assert model_name(server.url, ["opus"]) is None


def test_a_server_that_is_not_near_is_not_asked(monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("it is asked")

    monkeypatch.setattr("cachediag.verify.naming.get", never)
    assert model_name("https://8.8.8.8", ["opus"]) is None
