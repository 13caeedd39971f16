"""No altered or expired link, no wrong token, nothing too large or too much."""

from __future__ import annotations

import hmac
import threading

import pytest
import server_cases as cases
from fastapi.testclient import TestClient
from server_cases import serve

from distsim.server import auth
from distsim.server.app import create_app
from distsim.server.links import FILES, Links
from distsim.server.settings import Settings


@pytest.fixture
def runs(tmp_path, small):
    return cases.copy_of(small, tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return cases.make_run(tmp_path_factory.mktemp("access") / "runs" / "small")


# ---- links -----------------------------------------------------------------------------------------------------------
def test_a_link_ends_when_it_says(runs):
    with serve(runs) as client:
        simulation = cases.only_id(client)
        links = client.app.state.context.links
        now = 1_000_000.0
        links._clock = lambda: now
        url = client.get(f"/api/v1/simulations/{simulation}/results/download-url?fileName=small-perf-0.csv").json()
        assert url["expiresAt"] == "1970-01-12T14:01:40.000Z"  # 15 minutes after 13:46:40
        now += 899
        assert client.get(url["downloadUrl"]).status_code == 200
        now += 1
        answer = client.get(url["downloadUrl"])
        assert answer.status_code == 403 and "expired" in answer.json()["error"]["message"]


def test_an_altered_link_is_refused(runs):
    with serve(runs) as client:
        simulation = cases.only_id(client)
        links = client.app.state.context.links
        good, _ = links.make(FILES, simulation, "small-perf-0.csv")
        assert client.get(good).status_code == 200
        expires = good.partition("expires=")[2].partition("&")[0]
        altered = [good.replace("small-perf", "small-nd-stats"), good.replace("/files/", "/computed/"),
                   good.replace(expires, str(int(expires) + 1)), good.replace(expires, f"0{expires}"), good[:-1],
                   good + "0", good.replace(f"&signature={good[-64:]}", ""), good.replace(good[-64:], "\u00e9"),
                   good.replace(simulation, "sim_" + "a" * 26), good.replace(expires, "9" * 19),
                   good[:-1] + ("0" if good[-1] != "0" else "1")]
        for link in altered:
            assert client.get(link).status_code in (400, 403), link
        other = Links(b"k" * 32, 900).make(FILES, simulation, "small-perf-0.csv")[0]
        assert client.get(other).status_code == 403


def test_the_key_is_kept_from_others(runs):
    with serve(runs):
        key = runs / ".distsim-server" / "key"
        first = key.read_bytes()
        assert key.stat().st_mode & 0o777 == 0o600 and len(first) == 32
    with serve(runs):
        assert key.read_bytes() == first
    key.chmod(0o644)  # others may have read it
    with serve(runs):
        assert key.read_bytes() != first and key.stat().st_mode & 0o777 == 0o600


# ---- token -----------------------------------------------------------------------------------------------------------
WRONG = ["", "Bearer", "Bearer ", "Bearer x", f"Bearer {cases.TOKEN}x", f"Bearer {cases.TOKEN[:-1]}", cases.TOKEN,
         f"Basic {cases.TOKEN}", f"Bearer {cases.TOKEN.upper()}", "Bearer \u00fc"]


def test_with_a_token_everything_needs_it_but_signed_links(runs):
    with serve(runs, token=cases.TOKEN) as client:
        for path in ("/api/v1/simulations", "/api/v1/components", "/metrics", "/api/v1/nothing", "/api/v1/page/runs"):
            for given in WRONG:
                answer = client.get(path, headers={"Authorization": given.encode()})
                assert answer.status_code == 401 and answer.json()["error"]["code"] == "UNAUTHORIZED"
                assert answer.headers["www-authenticate"].startswith("Bearer")
            assert client.get(path).status_code == 401
        right = {"Authorization": f"Bearer {cases.TOKEN}"}
        assert client.get("/api/v1/simulations", headers=right).status_code == 200
        assert client.get("/metrics", headers={"Authorization": f"bearer {cases.TOKEN}"}).status_code == 200
        assert client.get("/healthz").status_code == client.get("/").status_code == 200
        assert client.get("/api/v1/downloads/x/files/y?expires=1&signature=2").status_code == 403


def test_tokens_are_compared_by_digests_of_one_length(monkeypatch, runs):
    compared, original = [], hmac.compare_digest

    def compare(one, other):
        compared.append((len(one), len(other)))
        return original(one, other)

    monkeypatch.setattr(auth.hmac, "compare_digest", compare)
    with serve(runs, token=cases.TOKEN) as client:
        for given in WRONG[2:] + [f"Bearer {cases.TOKEN}", "Bearer " + "y" * 4000]:
            client.get("/api/v1/simulations", headers={"Authorization": given.encode()})
    assert len(compared) == len(WRONG) and set(compared) == {(32, 32)}


def test_without_a_token_any_is_accepted_on_loopback(runs):
    with serve(runs) as client:
        assert client.get("/api/v1/simulations", headers={"Authorization": "Bearer whatever"}).status_code == 200


def test_without_a_token_other_sites_cannot_ask(runs):
    with serve(runs) as client:
        for host in ("evil.example", "127.0.0.1.evil.example", "10.0.0.1:8765", ""):
            assert client.get("/api/v1/simulations", headers={"Host": host}).status_code == 403
        for host in ("localhost:1", "127.0.0.1", "[::1]:8765", "127.1.2.3"):
            assert client.get("/api/v1/simulations", headers={"Host": host}).status_code == 200
        simulation = cases.only_id(client)
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Origin": "http://127.0.0.1:9999"}):
            assert client.delete(f"/api/v1/simulations/{simulation}", headers=headers).status_code == 403
            assert client.post("/api/v1/simulations", headers=headers, json={}).status_code == 403
        own = {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}
        assert client.post("/api/v1/simulations", headers=own, json={}).status_code == 400


# ---- bounds ----------------------------------------------------------------------------------------------------------
def test_large_requests_are_413(runs):
    with serve(runs, most_body=1000) as client:
        body = {"name": "x", "text": "a: " + "x" * 2000}
        answer = client.post("/api/v1/configurations", json=body)
        assert answer.status_code == 413 and answer.json()["error"]["code"] == "PAYLOAD_TOO_LARGE"
        chunks = (b"x" * 400 for _ in range(4))  # without Content-Length
        answer = client.post("/api/v1/configurations", content=chunks, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        answer = client.post("/api/v1/configurations", content=b"{}", headers={"Content-Length": "9" * 20})
        assert answer.status_code == 413


def test_as_many_requests_as_are_allowed(runs):
    app = create_app(Settings(runs.resolve(), most_requests=2, patience_s=0.05, most_computing=1))
    context = app.state.context
    asked, go = threading.Barrier(3), threading.Event()
    catalog = context.simulations.all

    def slow():
        asked.wait(20)
        go.wait(20)
        return catalog()

    context.simulations.all = slow
    with TestClient(app, base_url="http://127.0.0.1") as client:
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(client.get("/api/v1/simulations").status_code))
                   for _ in range(2)]
        for thread in threads:
            thread.start()
        asked.wait(20)
        refused = client.get("/api/v1/simulations")
        assert refused.status_code == 503 and refused.headers["retry-after"]
        assert client.get("/healthz").status_code == 200
        go.set()
        for thread in threads:
            thread.join()
        assert answers == [200, 200]
        context.simulations.all = catalog
        with context.computed._turns.one():  # someone computes, and nobody waits for long
            answer = client.get(f"/api/v1/simulations/{cases.only_id(client)}/results/data?metric=perf")
        assert answer.status_code == 503 and answer.json()["error"]["code"] == "SERVICE_UNAVAILABLE"


def test_bodies_that_are_no_json(runs):
    with serve(runs) as client:
        for content in (b"", b"{", b"[" * 100_000, b"\xff\xfe", b"[]", b'{"name": "x", "text": "\\ud800: 1"}', b"null"):
            answer = client.post("/api/v1/configurations", content=content,
                                 headers={"Content-Type": "application/json"})
            assert answer.status_code == 400, (content[:40], answer.text)
        answer = client.post("/api/v1/configurations", content=b'{"name": "x", "text": "a: 1"}',
                             headers={"Content-Type": "text/plain"})
        assert answer.status_code in (400, 415)


def test_the_middleware_counts_what_is_inside(runs):
    """A request that breaks off leaves its place."""
    app = create_app(Settings(runs.resolve()))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        app.state.context.simulations.all = lambda: 1 / 0
        for _ in range(70):
            answer = client.get("/api/v1/simulations")
            assert answer.status_code == 500 and answer.json()["error"]["code"] == "INTERNAL_ERROR"
            assert "ZeroDivision" not in answer.text


