"""Nothing outside the runs directory is read or written."""

from __future__ import annotations

from urllib.parse import quote

import pytest
import server_cases as cases
from server_cases import serve

from distsim.errors import InputError
from distsim.server.app import create_app
from distsim.server.links import FILES
from distsim.server.paths import checked_name
from distsim.server.settings import Settings

SECRET = "outside the runs directory\n"


@pytest.fixture
def runs(tmp_path, small):
    """A runs directory with one run, beside a file that is nobody's business."""
    (tmp_path / "secret.txt").write_text(SECRET)
    return cases.copy_of(small, tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return cases.make_run(tmp_path_factory.mktemp("safety") / "runs" / "small")


TRAVERSALS = ["../../secret.txt", "..", ".", "", "/etc/passwd", "//etc/passwd", "small/../../../secret.txt", "a//b",
              "..\\..\\secret.txt", "%2e%2e/%2e%2e/secret.txt", "..%2f..%2fsecret.txt", "small-perf-0.csv\0.txt", "\0",
              "small-perf-0.csv/..", "./small-perf-0.csv", ".distsim-running", "post_annotated/../../../secret.txt",
              "~/x", "file:///etc/passwd", "a" * 5000, "small-perf-0.csv/x", "\u2025/secret.txt", "..\x7f", "....//"]


@pytest.mark.parametrize("name", TRAVERSALS)
def test_names_that_lead_elsewhere_are_refused(runs, name):
    with serve(runs) as client:
        simulation = cases.only_id(client)
        path = f"/api/v1/simulations/{simulation}/results/download-url"
        for given in (quote(name, safe=""), quote(quote(name, safe=""), safe="")):
            answer = client.get(f"{path}?fileName={given}")
            assert answer.status_code in (400, 404), answer.text
        # A signature of our own does not help either: the name is checked when it is used.
        link, _ = client.app.state.context.links.make(FILES, simulation, name)
        assert client.get(link).status_code in (400, 403, 404)


@pytest.mark.parametrize("id", ["..", "%2e%2e", "sim_" + "a" * 25, "sim_" + "A" * 26, "sim_..%2f..%2fsecret", "%00",
                                "sim_aaaaaaaaaaaaaaaaaaaaaaaaaa%00", "sim_aaaaaaaaaaaaaaaaaaaaaaaaaa%0a"])
def test_ids_that_are_none_are_refused(runs, id):
    with serve(runs) as client:
        for path in (f"/api/v1/simulations/{id}", f"/api/v1/simulations/{id}/results", f"/api/v1/configurations/{id}",
                     f"/api/v1/simulations/{id}/logs", f"/api/v1/downloads/{id}/files/x?expires=1&signature=x"):
            assert client.get(path).status_code in (400, 403, 404), path
        assert client.delete(f"/api/v1/simulations/{id}").status_code in (400, 404, 405)


@pytest.mark.parametrize("path", ["/../secret.txt", "/assets/../../../secret.txt", "/assets/..%2f..%2f..%2fsecret.txt",
                                  "/assets/%2e%2e/%2e%2e/app.py", "/assets//etc/passwd", "/assets/%00"])
def test_the_page_serves_its_own_files_alone(runs, path):
    with serve(runs) as client:
        answer = client.get(path)
        assert answer.status_code in (400, 404) and SECRET not in answer.text


def test_links_out_of_the_directory_are_not_followed(runs, tmp_path):
    run = runs / "small"
    (run / "leak.csv").symlink_to(tmp_path / "secret.txt")
    with serve(runs) as client:
        simulation = cases.only_id(client)
        for path in ("results", "results/download-url?fileName=leak.csv", "results/data?metric=perf"):
            answer = client.get(f"/api/v1/simulations/{simulation}/{path}")
            assert answer.status_code == 403, answer.text
        assert client.delete(f"/api/v1/simulations/{simulation}").status_code == 403
    (run / "leak.csv").unlink()
    # A link inside the directory is no file to download either.
    (run / "twin.csv").symlink_to(run / "small-perf-0.csv")
    with serve(runs) as client:
        found = client.get(f"/api/v1/simulations/{simulation}/results").json()
        assert "twin.csv" not in {file["name"] for file in found["files"]}
        answer = client.get(f"/api/v1/simulations/{simulation}/results/download-url?fileName=twin.csv")
        assert answer.status_code == 404


@pytest.mark.parametrize("name", ["small-perf-0.csv", "small-run.json", ".cache", "post_annotated"])
def test_a_run_whose_own_parts_lead_out_is_not_read(runs, tmp_path, name):
    part, away = runs / "small" / name, tmp_path / "away"
    if part.exists():
        part.rename(away)
    else:
        away.mkdir()
        (away / "x.0.json").write_text(SECRET)
    part.symlink_to(away)
    with serve(runs) as client:
        found = client.get("/api/v1/simulations").json()["simulations"]
        if name.endswith("run.json"):
            assert found == []
            return
        simulation = found[0]["id"]
        for path in ("results", "results/data?metric=perf", "results/download-url?fileName=small-nd-stats-0.csv"):
            assert client.get(f"/api/v1/simulations/{simulation}/{path}").status_code == 403
        assert client.delete(f"/api/v1/simulations/{simulation}").status_code == 403
    assert away.exists()


def test_a_directory_that_is_a_link_is_no_run(runs, small):
    (runs / "linked").symlink_to(small)
    with serve(runs) as client:
        cases.only_id(client)


@pytest.mark.parametrize("name", [".distsim-server", ".distsim-index.sqlite"])
def test_a_state_that_leads_out_is_refused(runs, tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    (runs / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link"):
        create_app(Settings(runs.resolve()))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_delete_leaves_other_files_alone(runs):
    (runs / "small" / "notes.txt").write_text("mine")
    with serve(runs) as client:
        assert client.delete(f"/api/v1/simulations/{cases.only_id(client)}").status_code == 200
        assert client.get("/api/v1/simulations").json()["simulations"] == []
    assert [path.name for path in (runs / "small").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["a.csv", "post_annotated/x.0.json", "\u00fc.csv", "a b.csv", "%2e%2e", "..a"])
def test_names_that_are_none_of_these_are_names(name):
    if name.startswith("."):
        with pytest.raises(Exception, match="fileName"):
            checked_name(name)
    else:
        assert "/".join(checked_name(name)) == name
