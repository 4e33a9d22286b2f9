"""A page on its socket: which messages it gets, how fast, and what happens when it misbehaves or goes away."""

import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

import linnet
from linnet.playground import player
from linnet.playground.server import MAX_MESSAGE_BYTES, MAX_SESSIONS, Room, Server
from linnet.playground.session import Session
from linnet.playground.state import State

from .served import Page, ask, good_headers, open_socket, serving


@pytest.fixture(scope="module")
def room() -> Room:
    return Room()


@pytest.fixture(scope="module")
def server(room: Room) -> Iterator[Server]:
    with serving(room) as found:
        yield found


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    found = Page(server)
    yield found
    found.close()


def begun(page: Page, **state: object) -> dict[str, object]:
    page.send("state", state=state)
    facts = page.wait_for("facts")
    page.wait_for("frame")
    return facts


def until_empty(room: Room) -> None:
    deadline = time.monotonic() + 20
    while room.sessions and time.monotonic() < deadline:
        time.sleep(0.01)
    assert room.sessions == 0


def test_a_page_is_told_all_it_needs(page: Page) -> None:
    assert State.of(page.hello["defaults"]) == State()
    assert all(State.of(preset["state"]) for preset in page.hello["presets"])
    facts = begun(page, data="pinwheels", classes=4, layers=[{"units": 3}])
    assert facts["shapes"] == [[2, 3], [3, 4]]
    assert facts["rows"] == [250, 250]
    assert facts["heads"] == [["categorical", "Categorical"], ["perceptron", "Perceptron"]]


def test_steps_epochs_and_reset(page: Page) -> None:
    begun(page, batch=50)
    page.send("step")
    assert page.wait_for("frame")["step"] == 1
    page.send("epoch")
    frame = page.wait_for("frame")
    assert (frame["epoch"], frame["step"]) == (1, 0)
    page.send("reset")
    assert page.wait_for("facts")["run"] == frame["run"] + 1
    assert page.wait_for("frame")["epoch"] == 0


def test_a_page_whose_state_is_refused_is_told_the_last_one(page: Page, server: Server, tmp_path: Path) -> None:
    page.send("state", state={"seed": -1})
    refused = page.wait_for("refused")
    assert (refused["state"], refused["table"]) == (None, None)  # there was none
    begun(page, data="xor", seed=3)
    page.send("state", state={"data": "xor", "seed": 3, "batch": 20})
    page.wait_for("frame")
    for wrong in ({"seed": 2**40}, {"curve": {"low": 5}}, {"data": "table", "target": "y"}, {"head": "poisson"}):
        page.send("state", state={"data": "xor", "seed": 3, "batch": 20, **wrong})
        refused = page.wait_for("refused")
        assert refused["state"] == json.loads(json.dumps(State(data="xor", seed=3, batch=20).to_dict()))
    alone = b"y\n" + b"".join(b"%d.5\n" % (k % 5) for k in range(30))  # nothing to learn it from
    assert ask(server, "/table?name=alone.csv", "POST", body=alone)[0] == 200
    page.send("state", state={"data": "table", "target": "y"}, opened=True)
    refused = page.wait_for("refused")
    assert "there is no column to learn from" in refused["message"]
    assert refused["table"] is None  # the page had none, and has none
    page.send("state", state={"data": "xor", "seed": 4})
    assert page.wait_for("facts")["state"]["seed"] == 4


def test_the_end_of_the_server_is_no_error_of_a_page_at_work(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(player, "approximate", lambda _: time.sleep(3))  # longer than the server waits for pages
    with serving() as server:
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        page = Page(server)
        page.send("approximate", curve={})
        time.sleep(0.2)
    logging.getLogger("uvicorn.error").removeHandler(caplog.handler)
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_table_without_a_target_is_refused_by_name(server: Server) -> None:
    body = b"when,one\n" + b"".join(b"2024-01-%02d,same\n" % (k + 1) for k in range(30))
    status, _, content = ask(server, "/table?name=days.csv", "POST", body=body)
    assert status == 400
    assert "days.csv: no column can be predicted" in json.loads(content)["message"]


def test_frames_come_only_as_fast_as_they_are_seen(page: Page) -> None:
    begun(page)
    page.send("seen", frame="all")
    page.send("play")
    assert page.next()["is"] == "status"
    assert page.next()["is"] == "frame"
    unseen = [message["is"] for message in page.until_silence(1)]
    assert len(unseen) <= 2
    assert set(unseen) <= {"frame"}
    page.send("seen", frame="all")
    assert page.next()["is"] == "frame"
    page.send("pause")
    while page.next()["is"] == "frame":
        pass


def test_training_ends_with_the_page(room: Room, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[str]()
    advance = Session.advance

    def counted(session: Session, how: str) -> None:
        calls.append(how)
        advance(session, how)

    monkeypatch.setattr(Session, "advance", counted)
    page = Page(server)
    begun(page)
    page.send("play")
    for _ in range(5):
        page.wait_for("frame")
    assert room.sessions >= 1
    page.close()
    until_empty(room)
    count = len(calls)
    time.sleep(0.3)  # that nothing happens can only be seen by waiting
    assert len(calls) == count


def test_a_page_that_goes_away_is_not_caught_up_with(
    server: Server, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link may have a long run behind it: the page learns how far, and training stops when the page has gone."""
    monkeypatch.setattr(player, "_CATCH_UP_SECONDS", 1000.0)
    page = Page(server)
    long = {"data": "digits", "batch": 1, "layers": [{"units": 16, "activation": "tanh", "dropout": 0.5}] * 6}
    page.send("state", state={**long, "epochs": 5000}, **{"catch up": True})
    page.wait_for("facts")
    frames = [page.wait_for("frame") for _ in range(3)]
    assert all(each["behind"] for each in frames)
    assert frames[0]["epoch"] <= frames[1]["epoch"] <= frames[2]["epoch"] < 5000
    page.close()
    until_empty(room)


def test_patience_with_a_link_has_an_end(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player, "_CATCH_UP_SECONDS", 0.3)
    long = {"data": "digits", "batch": 1, "rate": 0.001, "epochs": 5000}
    page.send("state", state={**long, "past": [{"epochs": 5000, "settings": {"rate": 0.002}}]}, **{"catch up": True})
    while (frame := page.wait_for("frame"))["behind"]:
        assert frame["past"][-1]["settings"] == {"rate": 0.002}
    assert frame["past"][-1]["settings"] == {}  # what is on screen from here on
    assert f"this is epoch {frame['epoch']} of 5000" in page.wait_for("error")["message"]


def test_what_a_link_tells_of_is_shown_on_the_way(page: Page) -> None:
    page.send("state", state={"epochs": 400}, **{"catch up": True})
    frames = [page.wait_for("frame")]
    while frames[-1]["behind"]:
        frames.append(page.wait_for("frame"))
    epochs = [frame["epoch"] for frame in frames]
    assert epochs == sorted(epochs)
    assert epochs[:3] == [0, 1, 2]
    assert epochs[-1] == 400
    assert 40 < len(set(epochs)) < 80
    assert sum(epoch <= 100 for epoch in epochs) > 20


def test_one_thread_at_a_time_is_at_work_on_a_session(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when training is paused in the middle of what a thread does."""
    inside, most = [0], [0]
    advance = Session.advance

    def slowly(session: Session, how: str, seconds: float = 0.02) -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.1)
        advance(session, how, seconds)
        inside[0] -= 1

    begun(page)
    monkeypatch.setattr(Session, "advance", slowly)
    for _ in range(4):
        page.send("play")
        page.wait_for("status")
        page.send("step")
        assert page.wait_for("status")["playing"] is False
        page.wait_for("frame")
    assert most[0] == 1


HOSTILE: list[Any] = [
    None,
    True,
    -1,
    10**400,
    1.5,
    "",
    "x",
    [],
    [[]],
    [None],
    [{}],
    {},
    {"a": 1},
    [[1, 2, "a"]],
    [10**400],
]


@pytest.mark.parametrize("name", [*State().to_dict(), "do", "value", "kind", "function", "low", "units"])
def test_any_value_of_any_field_is_answered(page: Page, name: str) -> None:
    begun(page)
    weight = {"layer": 0, "source": 0, "unit": 0}
    for value in HOSTILE:
        if name == "do":
            page.socket.send(json.dumps({"do": value}))
        page.send("explain", **{"row": 0, name: value} if name != "do" else {})
        page.send("weight", **{**weight, name: value} if name != "do" else {})
        page.send("approximate", curve={"epochs": 1, name: value})
        page.send("approximate", curve=value)
        if name in State().to_dict():
            page.send("state", state={name: value})
    page.send("download", what="train")  # all that came before was answered, one by one, and the page is still there
    assert page.wait_for("file")["name"].endswith("-train.csv")


def test_wrong_messages_are_answered_and_do_no_harm(page: Page) -> None:
    for text, reply in (
        ("no json", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ("[]", "must be an object"),
        ("{}", "unknown command None"),
        ('{"do": "play"}', "there is no session yet"),
        ('{"do": "sate"}', "did you mean 'state'"),
        ('{"do": "state", "state": {"noise": 3}}', "noise must be"),
        ('{"do": "state"}', "a state must be an object"),
        ('{"do": "approximate", "curve": {"function": "f"}}', "unknown function"),
    ):
        page.socket.send(text)
        assert reply in page.wait_for("refused" if '"do": "state"' in text else "error")["message"]
    begun(page)
    for message in (
        {"do": "weight", "layer": 9},
        {"do": "explain", "row": -1},
    ):
        page.socket.send(json.dumps(message))
        assert page.wait_for("error")["message"]
    page.send("state", state={"data": "drawn"})
    assert page.wait_for("refused")["message"]
    page.send("epoch")
    assert page.wait_for("frame")["epoch"] == 1


def test_divergence_pauses_and_says_so(page: Page) -> None:
    begun(page, data="multi_gauss", optimizer="sgd", rate=100.0, layers=[{"units": 4, "activation": "identity"}])
    page.send("play")
    assert "lower the learning rate" in page.wait_for("error")["message"]
    assert page.wait_for("status")["playing"] is False


def test_large_messages_and_bytes_end_the_socket(server: Server, room: Room) -> None:
    for data in ("x" * (MAX_MESSAGE_BYTES + 1), b"bytes"):
        page = Page(server)
        page.socket.send(data)
        with pytest.raises(ConnectionClosed):
            page.wait_for("nothing")
    until_empty(room)


def test_no_more_pages_than_there_may_be(server: Server, room: Room) -> None:
    until_empty(room)
    pages = [Page(server) for _ in range(MAX_SESSIONS)]
    with open_socket(server) as one_more, pytest.raises(ConnectionClosed, match=f"{MAX_SESSIONS} pages are open"):
        one_more.recv(30)
    for page in pages:
        page.close()
    until_empty(room)
    Page(server).close()


def test_weights_explanations_and_the_way_out(page: Page, tmp_path: Path) -> None:
    begun(page, layers=[{"units": 2}])
    page.send("epoch")
    page.wait_for("frame")
    page.send("weight", layer=0, source=1, unit=0, value=1.5)
    theta = np.frombuffer(page.wait_for("frame")["bytes"][: 9 * 4], np.float32)
    assert theta[2] == 1.5
    page.send("explain", row=4)
    assert page.wait_for("explained")["layers"][0]["w"][1][0] == 1.5
    page.send("approximate", curve={"function": "bell", "units": 4, "epochs": 10})
    assert page.wait_for("approximated")["units"] == 4
    page.send("way out")
    reply = page.wait_for("way out")
    assert "model.set_weights(weights)" in reply["program"]
    assert reply["command"].startswith("linnet train circle-train.csv --valid circle-test.csv")
    assert "will differ" in reply["note"]
    page.send("download", what="model")
    file = page.wait_for("file")
    assert file["name"] == "circle.linnet"
    (tmp_path / "m").write_bytes(file["bytes"][: file["arrays"][0][2][0]])
    assert linnet.load(tmp_path / "m").get_weights()[0][1, 0] == 1.5
    for part in ("train", "test"):
        page.send("download", what=part)
        file = page.wait_for("file")
        assert file["name"] == f"circle-{part}.csv"
        assert file["bytes"].startswith(b"x1,x2,class\n")


def test_a_table_that_is_uploaded_can_be_played(server: Server, page: Page) -> None:
    text = b"size,kind\n" + b"".join(b"%d.5,%s\n" % (k % 9, b"ab"[k % 2 : k % 2 + 1]) for k in range(30))
    status, _, body = ask(server, "/table?name=..%2Ftoys.csv", "POST", body=text)
    stored = json.loads(body)
    assert (status, stored["name"], stored["targets"]) == (200, "toys.csv", ["size", "kind"])
    page.send("state", state={"data": "table", "target": "kind"}, opened=True)
    facts = page.wait_for("facts")
    assert facts["classes"] == ["a", "b"]
    page.send("way out")
    assert "Table.read(['toys.csv']).dataset('kind')" in page.wait_for("way out")["program"]
    status, _, body = ask(server, "/table?name=bad.parquet", "POST", body=b"nonsense")
    assert status == 400
    assert json.loads(body)["message"].startswith("bad.parquet does not begin as .parquet files do")


def test_a_page_keeps_its_table_until_it_opens_another_one(server: Server, page: Page, tmp_path: Path) -> None:
    def opened(kinds: bytes) -> None:
        rows = b"".join(b"%d.5,%s\n" % (k % 9, kinds[k % 2 : k % 2 + 1]) for k in range(30))
        assert ask(server, "/table?name=toys.csv", "POST", body=b"size,kind\n" + rows)[0] == 200

    state = {"data": "table", "target": "kind"}
    opened(b"ab")
    page.send("state", state=state, opened=True)
    assert page.wait_for("facts")["classes"] == ["a", "b"]
    opened(b"cd")  # by another page, say
    page.send("state", state={**state, "threshold": 0.25})
    page.wait_for("frame")
    page.send("download", what="model")
    file = page.wait_for("file")
    (tmp_path / "m").write_bytes(file["bytes"][: file["arrays"][0][2][0]])
    assert linnet.load(tmp_path / "m").classes.tolist() == ["a", "b"]
    page.send("state", state=state, opened=True)  # the same settings mean another table now
    assert page.wait_for("facts")["classes"] == ["c", "d"]


@pytest.mark.parametrize(
    "name", ["..", ".", "%00", "a%00b.csv", "%C3%A4" * 200, "a/../b.csv", "", "x.c%20sv", "..%5Cb.csv"]
)
def test_any_name_of_a_file_will_do(server: Server, name: str) -> None:
    text = b"size,kind\n" + b"".join(b"%d.5,%d\n" % (k % 9, k % 2) for k in range(30))
    status, _, body = ask(server, f"/table?name={name}", "POST", body=text)
    assert status == 200, body
    assert json.loads(body)["rows"] == 30


def test_half_an_upload_changes_nothing(server: Server, room: Room) -> None:
    before = room.table
    lines = [f"{name}: {value}" for name, value in good_headers(server).items()]
    head = "\r\n".join(["POST /table?name=half.csv HTTP/1.1", *lines, "Content-Length: 1000"])
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(f"{head}\r\n\r\na,b\n".encode() + b"1,2\n" * 20)
    assert ask(server, "/")[0] == 200
    for _ in range(20):  # that nothing happens can only be seen by waiting
        time.sleep(0.02)
        assert room.table is before


def test_a_link_brings_its_epochs_to_a_page_that_has_gone_another_way(page: Page) -> None:
    begun(page, batch=50)
    for _ in range(3):
        page.send("epoch")
        page.wait_for("frame")
    for epochs in (5, 2):  # further on, and back
        page.send("state", state={"batch": 50, "epochs": epochs}, **{"catch up": True})
        while (frame := page.wait_for("frame"))["behind"]:
            assert frame["epoch"] <= epochs
        assert frame["epoch"] == epochs


def test_a_link_whose_run_diverges_shows_how_far_it_came(page: Page) -> None:
    state = {"data": "multi_gauss", "optimizer": "sgd", "rate": 100.0, "epochs": 50}
    page.send("state", state={**state, "layers": [{"units": 4, "activation": "identity"}]}, **{"catch up": True})
    while (frame := page.wait_for("frame"))["behind"]:
        pass
    assert frame["epoch"] < 50
    assert "lower the learning rate" in page.wait_for("error")["message"]
