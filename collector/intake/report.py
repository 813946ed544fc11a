"""What an import says of every file: what it became, how many rows, what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class FileReport:
    """What became of one file. `rows` is by table; `error` says why nothing of it could be used.

    `problems` are damages (what could not be read), `notes` limits and assumptions.

    `merged_into` names the files that hold what this one told of jobs which they know better.
    """

    name: str
    importer: str | None = None
    rows: dict[str, int] = field(default_factory=dict[str, int])
    problems: list[str] = field(default_factory=list[str])
    problem_count: int = 0
    notes: list[str] = field(default_factory=list[str])
    duplicate: bool = False
    bytes: int = 0
    error: str | None = None
    job_id: str | None = None
    attempt: int | None = None
    seconds: float = 0.0
    merged_into: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class ImportReport:
    """What became of every file, and in which zone local times were read (`zone_known`: given, inferred, default)."""

    files: list[FileReport]
    zone: str
    zone_known: str
    zone_basis: str = ""
    jobs: list[str] = field(default_factory=list[str])
    log_jobs: list[str] = field(default_factory=list[str])

    @property
    def rows(self) -> dict[str, int]:
        """Rows by table over all files."""
        total: dict[str, int] = {}
        for report in self.files:
            for table, count in report.rows.items():
                total[table] = total.get(table, 0) + count
        return dict(sorted(total.items()))
