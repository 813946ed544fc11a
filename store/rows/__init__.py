"""One frozen dataclass per table; importing this package registers them all."""

from store.rows.base import Col, Column, JobRow, RankRow, Row, col, columns, ddl, table, tables
from store.rows.block import Block, one_by_one
from store.rows.fabric import LinkDetail, LinkEvent, LinkRow, LinkSample
from store.rows.gpu import GpuDetail, GpuDevice, GpuEvent, GpuMinute, GpuRow, GpuSample
from store.rows.host import CgroupSample, CollectorSample, HostEvent, HostSample, InferenceSample, SourceHealth, Verdict
from store.rows.logs import CHECKPOINT_NAMES, EVENT_KINDS, CapturedLine, LogEvent, LogLine, LogRun, TrainStep
from store.rows.runtime import CudaSample, IoWait, NcclSample, Process
from store.rows.scheduler import (
    SlurmControllerSample,
    SlurmJob,
    SlurmJobEvent,
    SlurmNodeSample,
    SlurmNodeState,
    SlurmStep,
)

__all__ = [
    "CHECKPOINT_NAMES",
    "EVENT_KINDS",
    "Block",
    "CapturedLine",
    "CgroupSample",
    "Col",
    "CollectorSample",
    "Column",
    "CudaSample",
    "GpuDetail",
    "GpuDevice",
    "GpuEvent",
    "GpuMinute",
    "GpuRow",
    "GpuSample",
    "HostEvent",
    "HostSample",
    "InferenceSample",
    "IoWait",
    "JobRow",
    "LinkDetail",
    "LinkEvent",
    "LinkRow",
    "LinkSample",
    "LogEvent",
    "LogLine",
    "LogRun",
    "NcclSample",
    "Process",
    "RankRow",
    "Row",
    "SlurmControllerSample",
    "SlurmJob",
    "SlurmJobEvent",
    "SlurmNodeSample",
    "SlurmNodeState",
    "SlurmStep",
    "SourceHealth",
    "TrainStep",
    "Verdict",
    "col",
    "columns",
    "ddl",
    "one_by_one",
    "table",
    "tables",
]
