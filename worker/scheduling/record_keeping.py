"""Keeps the records of the installation: the sealed audit, repairs that the console ran, the nightly backup and the
nightly checks of GPUs.
"""

import structlog

from cluster.files.safe_read import FileMissing, FileNotPlain
from cluster.services.audit.log_lines import append_sealed_entries
from cluster.services.audit.recorded_seals import note_lost_seal
from cluster.services.audit.seals import seal_entries
from cluster.services.backups.requests import request_nightly_backup
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.repairs.nightly_checks import request_nightly_checks
from cluster.services.repairs.offline_records import import_offline_records
from worker.backups.audit_anchors import seal_recorder
from worker.scheduling.clock_watch import ClockWatch

log = structlog.get_logger()


def import_offline_repairs(cluster: Cluster) -> None:
    """Imports the repairs that the console ran without the database as rows."""
    try:
        for run_id in import_offline_records(cluster):
            log.info("a repair that the console ran is read in", run=run_id)
    except OSError as error:
        log.warning("the console's records are not read in; trying again", error=str(error))


def seal_access_log(cluster: Cluster) -> None:
    """Seals the entries in the database; a disk that refuses the daily files delays nothing else.

    A newest seal that the database has lost is noted before, because the next one takes its place in the file.
    """
    note_lost_seal(cluster)
    seal_entries(cluster, seal_recorder(cluster.settings))
    try:
        append_sealed_entries(cluster)
    except (OSError, FileMissing, FileNotPlain) as error:
        log.warning("the access log's files are not written; trying again", error=str(error))


def request_backup(cluster: Cluster, clocks: ClockWatch, held: HeldLease) -> None:
    if clocks.is_settled and (night := request_nightly_backup(cluster, held)) is not None:
        log.info("the nightly backup is asked for", operation=night.id)


def request_gpu_checks(cluster: Cluster, clocks: ClockWatch, held: HeldLease) -> None:
    if clocks.is_settled and (runs := request_nightly_checks(cluster, held)):
        log.info("the nightly checks of GPUs are asked for", runs=[run.id for run in runs])
