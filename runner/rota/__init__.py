"""rota: a job queue that lives inside PostgreSQL."""

from rota.app import App, Discard, Retry, Snooze
from rota.client import (
    NewJob,
    enqueue,
    enqueue_async,
    enqueue_jobs,
    enqueue_jobs_async,
)
from rota.errors import (
    AlreadyExists,
    DuplicateKey,
    InvalidArgument,
    InvalidSchedule,
    JobNotFound,
    LeaseLost,
    QueueNotFound,
    RetryPolicyNotFound,
    RotaError,
    TooLarge,
    VersionMismatch,
    WorkerLost,
    WrongState,
)
from rota.job import Job
from rota.records import EnqueuedJob
from rota.worker import Worker

__all__ = [
    "AlreadyExists",
    "App",
    "Discard",
    "DuplicateKey",
    "EnqueuedJob",
    "InvalidArgument",
    "InvalidSchedule",
    "Job",
    "JobNotFound",
    "LeaseLost",
    "NewJob",
    "QueueNotFound",
    "Retry",
    "RetryPolicyNotFound",
    "RotaError",
    "Snooze",
    "TooLarge",
    "VersionMismatch",
    "Worker",
    "WorkerLost",
    "WrongState",
    "enqueue",
    "enqueue_async",
    "enqueue_jobs",
    "enqueue_jobs_async",
]
