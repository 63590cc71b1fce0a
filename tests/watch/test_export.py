"""The page in one file: what is in it, and that its answers are those of the server."""

import json
import re
from importlib.resources import files

import pytest

from mttt.watch.document import SCRIPTS, STYLES, document
from mttt.watch.export import export, is_export
from watch.small import entry, service

SOURCE = re.compile(r'<script id="mttt-source" type="application/json">(.*?)</script>', re.S)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "page.html"
    made = export(path, {name: entry(name) for name in ("full", "attention", "text")}, say=lambda _: None)
    assert made.bytes == path.stat().st_size
    return path, json.loads(SOURCE.search(path.read_text())[1])


def test_its_answers_are_those_of_the_server(exported):
    _, source = exported
    assert source["mode"] == "export" and [one["id"] for one in source["models"]["models"]] == [
        "full",
        "attention",
        "text",
    ]
    live = {
        "/api/trace": service().trace,
        "/api/update": service().update,
        "/api/read": service().read,
        "/api/generate": lambda request: list(service().generate(request)),
    }
    paths = [one["path"] for one in source["answers"]]
    assert {path: paths.count(path) for path in live} == {
        "/api/trace": 3 * 5 + 2 * 2 + 3,
        "/api/update": 2 * (4 + 1),
        "/api/read": 3,
        "/api/generate": 1,
    }
    seen = {}
    for one in source["answers"]:  # of each kind and model the first and the last
        seen.setdefault((one["path"], one["request"]["model"]), []).append(one)
    for (path, _), (first, *others) in seen.items():
        for one in (first, *others[-1:]):
            now = json.loads(json.dumps(live[path](one["request"])))
            assert timeless(now) == timeless(one["answer"])


def timeless(answer):
    if isinstance(answer, list):
        return answer[:-1]
    return {name: value for name, value in answer.items() if name != "milliseconds"}


def test_it_needs_nothing_from_elsewhere(exported):
    path, _ = exported
    page = SOURCE.sub("", path.read_text())
    assert "connect-src 'none'" in page and "mttt:s" not in page
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)|@import|url\((?!["']?data:)""", page)


def test_one_can_be_told_from_other_files(exported, tmp_path):
    assert is_export(exported[0])
    (tmp_path / "mine.html").write_text("<!doctype html><title>mttt watch</title>")
    assert not is_export(tmp_path / "mine.html")
    assert not is_export(tmp_path)


def test_nothing_in_the_json_can_end_its_element():
    html = document({"mode": "export", "models": {"name": "</script><script>alert(1)</script>"}}).html
    assert "alert(1)</script>" not in html
    assert json.loads(SOURCE.search(html)[1])["models"]["name"] == "</script><script>alert(1)</script>"


def test_every_file_of_the_page_is_in_the_document():
    page = files("mttt.watch") / "page"
    names = {file.name for file in page.iterdir() if file.name.endswith((".js", ".css"))}
    assert names == {name for name in (*SCRIPTS, *STYLES) if "/" not in name}
    for name in (*SCRIPTS, *STYLES):
        assert not re.search(r"</(script|style)", (page / name).read_text(), re.I)
