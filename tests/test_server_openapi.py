"""The OpenAPI document, and requests made from it: no server error, and every answer as the document says."""

from __future__ import annotations

import pytest
import schemathesis
import server_cases as cases
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from distsim.server import checks
from distsim.server.app import create_app
from distsim.server.check_child import check
from distsim.server.settings import Settings

EXAMPLES = 12  # a request each; 150 pass too, in three minutes
HEADERS = {"Authorization": f"Bearer {cases.TOKEN}"}
# Ids are texts to the document, and those that are made up are refused.
NOT_HERE = [positive_data_acceptance]


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    runs = tmp_path_factory.mktemp("openapi") / "runs"
    cases.make_run(runs / "small")
    made = create_app(Settings(runs.resolve(), token=cases.TOKEN))
    with pytest.MonkeyPatch.context() as patch:
        # The check itself, without a process for each example.
        patch.setattr(checks.Checks, "_run", lambda self, text: check(text, checks.folders_of(self._settings)))
        yield made
    made.state.context.close()


@pytest.fixture(scope="module")
def schema(app):
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.fixture(scope="module")
def real(app):
    """Ids that there are, by the names of path parameters."""
    here = app.state.context
    simulation = next(entry.id for entry in here.simulations.all())
    return {"sim_id": simulation, "run_id": simulation, "record": "uet-transport-stats", "component_name": "nic",
            "config_id": here.configurations.create("real", cases.SMALL).id, "component_id": "ScalaUETNIC",
            "version": 1}


def requests(schema, known):
    """Sends what the document's operations may be sent, with ids that there are in place of others."""
    for found in schema.get_all_operations():
        operation = found.ok()
        if known and operation.method == "delete":
            continue

        @hypothesis_settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
                             suppress_health_check=list(HealthCheck), phases=[Phase.generate])
        @given(operation.as_strategy())
        def send(case):
            case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
            if known:
                answer = case.call(headers=HEADERS)
                assert answer.status_code < 500, (case.as_curl_command(), answer.text)
            else:
                case.call_and_validate(headers=HEADERS, excluded_checks=NOT_HERE)

        send()


def test_it_is_openapi_3_1(schema):
    assert schema.raw_schema["openapi"].startswith("3.1")
    paths = schema.raw_schema["paths"]
    for path, methods in {
            "/api/v1/simulations": "get post", "/api/v1/simulations/{sim_id}": "get delete",
            "/api/v1/simulations/{sim_id}/terminate": "post", "/api/v1/simulations/{sim_id}/results": "get",
            "/api/v1/simulations/{sim_id}/results/download-url": "get", "/api/v1/simulations/{sim_id}/logs": "get",
            "/api/v1/simulations/{sim_id}/results/data": "get", "/api/v1/configurations": "get post",
            "/api/v1/configurations/{config_id}": "get patch delete", "/api/v1/components": "get",
            "/api/v1/configurations/{config_id}/parameters": "patch", "/api/v1/components/{component_id}": "get",
            "/api/v1/configurations/{config_id}/validate": "post", "/api/v1/chart-definitions": "get"}.items():
        assert set(methods.split()) == set(paths[path]), path
    for operations in paths.values():
        for operation in operations.values():
            assert "422" not in operation["responses"] or "ErrorBody" in str(operation["responses"]["422"])


def test_made_up_requests_are_answered_as_documented(schema):
    requests(schema, {})


def test_requests_for_what_there_is_give_no_server_error(schema, real):
    requests(schema, real)
