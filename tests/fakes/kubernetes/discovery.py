"""What a client asks before it creates an object whose kind it does not know: of kubectl."""

from __future__ import annotations

from collections.abc import Iterable

from tests.fakes.kubernetes.store import Json, Resource

_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def discover(path: str, resources: Iterable[Resource]) -> Json | None:
    """The answer to a question about the kinds of the cluster, or None if it is about another.

    The description of an API only says that the server itself checks the fields of objects, so
    that the client does not.
    """
    versions: dict[str, list[Resource]] = {}
    for resource in resources:
        root = "apis" if resource.group else "api"
        versions.setdefault(f"{root}/{resource.api_version}", []).append(resource)
    root = path.strip("/")
    if root == "openapi/v3":
        return {"paths": {key: {"serverRelativeURL": f"/openapi/v3/{key}"} for key in versions}}
    if root.startswith("openapi/v3/"):
        return _description(versions.get(root.removeprefix("openapi/v3/"), []))
    if root == "api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if root == "apis":
        groups: dict[str, list[Resource]] = {}
        for found in versions.values():
            groups.setdefault(found[0].group, []).append(found[0])
        return {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [_group(name, found) for name, found in groups.items() if name],
        }
    if root in versions:
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": versions[root][0].api_version,
            "resources": [_resource(each) for each in versions[root]],
        }
    return None


def _group(name: str, resources: list[Resource]) -> Json:
    versions = [{"groupVersion": one.api_version, "version": one.version} for one in resources]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resource(resource: Resource) -> Json:
    return {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": True,
        "kind": resource.kind,
        "verbs": _VERBS,
    }


def _description(resources: Iterable[Resource]) -> Json:
    return {
        "openapi": "3.0.0",
        "info": {"title": "emulated", "version": "1"},
        "paths": {
            f"/{each.plural}": {
                "patch": {
                    "parameters": [{"name": "fieldValidation", "in": "query"}],
                    "responses": {},
                    "x-kubernetes-group-version-kind": {
                        "group": each.group,
                        "version": each.version,
                        "kind": each.kind,
                    },
                }
            }
            for each in resources
        },
    }
