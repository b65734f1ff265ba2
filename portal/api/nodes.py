"""Nodes over REST: list, show, drain, undrain and forget."""

from typing import Any

from flask.views import MethodView

from cluster import words
from cluster.domain.nodes.confinement import list_confinement_gaps
from cluster.services.nodes import drain_effects, drains, forgotten_nodes, queries, summaries
from cluster.services.nodes.drain_effects import JobOnNode
from portal.api.blueprint import ApiBlueprint
from portal.api.node_schemas import DrainBody, KubernetesAnswer, NodeAnswer, NodeList, OneNodeAnswer
from portal.i18n.messages import localized_hint, localized_sentence
from portal.i18n.translate import request_language
from portal.presenters.nodes.kubernetes_health import HealthLine, cluster_health, node_health
from portal.presenters.nodes.node_problems import problem_of_node
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("nodes", "Nodes with their units.")


@blueprint.route("")
class Nodes(MethodView):
    @blueprint.response(200, NodeList)
    def get(self) -> dict[str, Any]:
        """All nodes, by name."""
        views = summaries.list_node_summaries(current_cluster())
        return {"items": [describe_node(view) for view in views]}


@blueprint.route("/kubernetes")
class Kubernetes(MethodView):
    @blueprint.response(200, KubernetesAnswer)
    def get(self) -> dict[str, Any]:
        """How Kubernetes stands, and where it does otherwise than the queue decided. For administrators."""
        health = cluster_health()
        status = health.status if health else None
        return {
            "seen_at": status.at if status else None,
            "silent_since": status.silent_since if status else None,
            "parts": [describe_health_line(line) for line in health.system_workloads] if health else [],
            "disagreements": health.disagreements if health else [],
            "disagreements_ever": status.seen if status else 0,
        }


@blueprint.route("/<int:node_id>")
class OneNode(MethodView):
    @blueprint.response(200, OneNodeAnswer)
    def get(self, node_id: int) -> dict[str, Any]:
        """One node with the jobs that hold units there, and whom a drain would touch."""
        cluster, actor = current_cluster(), current_actor()
        affected = drain_effects.read_drain_effect(cluster, actor, node_id)
        return describe_node(queries.read_node(cluster, actor, node_id)) | {
            "running": [describe_running_there(run) for run in affected.running],
            "too_large_elsewhere": affected.too_large,
            "may_drain": actor.is_administrator,
        }


@blueprint.route("/<int:node_id>")
class ForgetNode(MethodView):
    @blueprint.response(204)
    def delete(self, node_id: int) -> None:
        """Forgets a node that was removed: its units, alerts and token go. Refused while a job holds units there, and
        while it answers, unless it is drained."""
        forgotten_nodes.forget_node(current_cluster(), current_actor(), node_id)


@blueprint.route("/<int:node_id>/drain")
class Drain(MethodView):
    @blueprint.arguments(DrainBody)
    @blueprint.response(200, NodeAnswer)
    def post(self, body: dict[str, Any], node_id: int) -> dict[str, Any]:
        """Nothing new starts there; what runs goes on to its end. A second one changes the reason."""
        drains.drain_node(current_cluster(), current_actor(), node_id, body["reason"])
        return describe_node(queries.read_node(current_cluster(), current_actor(), node_id))


@blueprint.route("/<int:node_id>/undrain")
class Undrain(MethodView):
    @blueprint.response(200, NodeAnswer)
    def post(self, node_id: int) -> dict[str, Any]:
        """Jobs start there again at once."""
        drains.undrain_node(current_cluster(), current_actor(), node_id)
        return describe_node(queries.read_node(current_cluster(), current_actor(), node_id))


def describe_node(view: queries.NodeSummary) -> dict[str, Any]:
    problem = problem_of_node(view)
    return {
        "id": view.id,
        "name": view.name,
        "state": view.state.value,
        "state_word": words.word("state.node", view.state.value, request_language()),
        "reason": " ".join(filter(None, [problem.sentence, *problem.further_sentences])) if problem else None,
        "drain_reason": view.node.drain_reason or None,
        "kubernetes": [describe_health_line(line) for line in node_health(view)],
        "confinement": describe_confinement(view),
        "units": view.unit_count,
        "units_free": view.free_count,
        "unit_kind": view.kind.value,
        "heartbeat_at": view.heartbeat_at,
    }


def describe_confinement(view: queries.NodeSummary) -> dict[str, Any] | None:
    if view.confinement_features is None:
        return None
    return {
        "powers": view.confinement_features,
        "weaknesses": [
            {
                "code": each.code,
                "sentence": localized_sentence(each.code, each.data),
                "hint": localized_hint(each.code, each.data),
            }
            for each in list_confinement_gaps(view.confinement_features)
        ],
    }


def describe_health_line(line: HealthLine) -> dict[str, Any]:
    return {
        "what": line.label,
        "state": line.kind,
        "answer": line.answer,
        "repairs": [title for title, _ in line.repairs],
    }


def describe_running_there(run: JobOnNode) -> dict[str, Any]:
    name = run.job.name if run.job else None
    return {"job_id": run.job_id, "name": name, "units": run.units, "ends_at": run.ends_at}
