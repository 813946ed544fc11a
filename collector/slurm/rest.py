"""slurmrestd as a way in, over a Unix socket or TCP with a token (JWT).

SOURCE  slurmrestd of Slurm 20.11 to 26.05 (API v0.0.36 to v0.0.45): the newest version that it serves of `/slurm` and
        `/slurmdb`, found in its OpenAPI description.
ROWS    those of `SlurmAccess`, read by the parsers of `sacct --json`, `squeue --json`, `scontrol show node --json`,
        `sdiag --json`, which print the same objects.
OVERHEAD  one request to a daemon per question; with v0.0.40 and v0.0.41 one for each job that is asked for by its id.
CAVEAT  before 23.11 it says SUCCESS of every ended job: where the state contradicts that, the exit code is not known.
        It cannot tell of past node events, nor comment a job that has ended: `beside` (the commands) does that.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, TypeAlias

import httpx

from collector.formats import slurm_json as sj
from collector.formats.slurm_values import ENDED
from collector.importers.nodes_json import NodesJson
from collector.importers.sacct_json import SacctJson
from collector.importers.sdiag import Sdiag
from collector.importers.squeue_json import SqueueJson
from collector.slurm.access import ENDED_NAMES, ENDED_STATES, Known, NotAllowed, SlurmAccess, asked_for, checked
from collector.slurm.half import whole
from collector.slurm.outputs import Reads, read
from collector.sources.base import SourceUnavailable
from store import lazy
from store.rows import Row, SlurmJob
from store.rows.base import JobRow

SOCKETS = ("/run/slurmrestd/slurmrestd.socket", "/run/slurmrestd.socket", "/run/slurmrestd/slurmrestd.sock")
"""Where slurmrestd's own and the distributions' units put it."""
BATCH = 200
"""Jobs in one question: their ids fit into an address."""

_SINGLE, _LISTS = 40, 42
"""API versions from which a comma (as `%2C`) is refused, and from which a parameter may stand several times.

In v0.0.40 of a real 23.11 the last of several holds and the others are lost; v0.0.41 was not seen, so it is not trusted either.
"""

Query: TypeAlias = Sequence[tuple[str, str]]
_PATH = lazy.compile(r"/(slurm|slurmdb)/(v0\.0\.(\d{2,3}))/(\w+)(/?)\Z")
_START = "systemctl start slurmrestd"
_TOKEN = "scontrol token username=inquest lifespan=31536000 (as root; put what it prints into the environment or the token file)"
_NOTHING = (9003, 2017)
"""Slurm's errors that mean: no such thing (nothing found with query, invalid job id)."""
_FINISHED = 2084
_DENIED = lazy.compile(r"Invalid user id|[Pp]ermission denied|[Aa]ccess denied|not permitted")
_QUICK_S, _LONG_S = 30.0, 180.0


def address_of(environ: Mapping[str, str]) -> str | None:
    """Where slurmrestd is: SLURMRESTD_URL (`unix:/path`, `http://head:6820`), else a socket at a usual place."""
    given = environ.get("SLURMRESTD_URL")
    return given or next((f"unix:{path}" for path in SOCKETS if Path(path).is_socket()), None)


class Rest(Known):
    """Asks slurmrestd at `address`. The token is `token`, or what `token_file` holds at the moment of each request."""

    name: ClassVar[str] = "slurmrestd"

    def __init__(
        self,
        address: str,
        *,
        user: str | None = None,
        token: str | None = None,
        token_file: Path | None = None,
        beside: SlurmAccess | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__()
        socket = address.removeprefix("unix:").removeprefix("//") if address.startswith("unix:") else None
        self._address = address
        self._user, self._token, self._token_file = user, token, token_file
        self._client = httpx.Client(
            base_url="http://localhost" if socket else address,
            transport=transport or (httpx.HTTPTransport(uds=socket) if socket else None),
            trust_env=False,
        )
        self._beside = beside
        self._paths: dict[tuple[str, str], str] = {}

    @property
    def versions(self) -> dict[str, str]:
        """The API version in use of `slurm` and of `slurmdb`."""
        return {api: path.split("/")[2] for (api, name), path in self._paths.items() if name == "jobs"}

    def probe(self) -> None:
        """The versions served, Slurm's release, the cluster's name, and whether both daemons answer."""
        self._discover()
        with tempfile.TemporaryDirectory(prefix="inquest-") as folder:
            answer = Path(folder) / "answer"
            self._into(answer, "slurmctld", "ping", self._path("slurm", "ping"), (), _QUICK_S)
            ping = _object(answer.read_bytes())
            self._into(answer, "slurmdbd", "clusters", self._path("slurmdb", "clusters"), (), _QUICK_S)
            clusters = _object(answer.read_bytes())
        meta = sj.obj(ping.get("meta"))
        slurm = sj.obj(meta.get("slurm") or meta.get("Slurm"))
        self._is(sj.text(slurm.get("release")))
        names = [name for c in sj.items(clusters.get("clusters")) if (name := sj.text(sj.obj(c).get("name")))]
        self._cluster = sj.text(slurm.get("cluster")) or (names[0] if len(names) == 1 else None)

    def accounting(
        self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None
    ) -> Iterator[Row]:
        """`/slurmdb/VERSION/jobs`."""
        path = self._path("slurmdb", "jobs")
        version = int(path.split("/")[2].rpartition(".")[2])
        if job_ids is None:
            end = (until or datetime.now(UTC)) + timedelta(seconds=1)
            query = [("start_time", _epoch(since)), ("end_time", _epoch(end))]
            if version >= _LISTS:
                query += [("state", s) for s in ENDED_NAMES]
            elif version < _SINGLE:
                query += [("state", ENDED_STATES)]
            yield from whole(
                _ended(self._asked("slurmdbd", "jobs", path, query, SacctJson(), _LONG_S)), datetime.now(UTC)
            )
            return
        named = asked_for(job_ids)
        batch = 1 if _SINGLE <= version < _LISTS else BATCH
        for at in range(0, len(named), batch):
            some = named[at : at + batch]
            query = [("step", j) for j in some] if version >= _SINGLE else [("step", ",".join(some))]
            yield from whole(self._asked("slurmdbd", "jobs", path, query, SacctJson(), _LONG_S), datetime.now(UTC))

    def queue(self) -> Iterator[Row]:
        """`/slurm/VERSION/jobs`."""
        rows = self._asked("slurmctld", "jobs", self._path("slurm", "jobs"), (), SqueueJson(), _LONG_S)
        return (row for row in rows if isinstance(row, SlurmJob))

    def nodes(self) -> Iterator[Row]:
        """`/slurm/VERSION/nodes`."""
        return self._asked("slurmctld", "nodes", self._path("slurm", "nodes"), (), NodesJson(), _QUICK_S)

    def node_events(self, since: datetime) -> Iterator[Row]:
        """By the way beside: slurmrestd has no such question."""
        if self._beside is None:
            raise SourceUnavailable(
                "slurmrestd does not tell of past node events", "apt-get install slurm-client (sacctmgr does)"
            )
        return self._beside.node_events(since)

    def controller(self) -> Iterator[Row]:
        """`/slurm/VERSION/diag`."""
        return self._asked("slurmctld", "stats", self._path("slurm", "diag"), (), Sdiag(), _QUICK_S)

    def set_comment(self, job_id: str, text: str) -> None:
        """`/slurm/VERSION/job/ID` while the job is there, by the way beside when it has ended."""
        checked([job_id])
        path = self._path("slurm", "jobs").rstrip("/").removesuffix("jobs") + f"job/{job_id}"
        with self._calls.asking("slurmctld", "update"):
            try:
                answer = self._client.post(path, json={"comment": text}, headers=self._headers(), timeout=_QUICK_S)
            except httpx.HTTPError as error:
                raise self._unreachable(error) from error
        errors = _errors(_object(answer.content))
        if not errors and answer.status_code == 200:
            return None
        said = "; ".join(what for _, what in errors) or f"HTTP status {answer.status_code}"
        if any(number in (_FINISHED, 2017) for number, _ in errors):
            if self._beside is not None:
                return self._beside.set_comment(job_id, text)
            raise NotAllowed(
                f"{said}: slurmrestd cannot comment an ended job; sacctmgr can (apt-get install slurm-client)"
            )
        remedy = f"sacctmgr modify user where name={self._user or '$USER'} set adminlevel=Operator"
        if _DENIED.search(said) or answer.status_code in (401, 403):
            raise NotAllowed(f"{said}: {remedy}")
        raise SourceUnavailable(f"slurmrestd {path}: {said}", self._remedy(said))

    def _discover(self) -> None:
        """Of each question the newest version that is served, from the OpenAPI description."""
        with tempfile.TemporaryDirectory(prefix="inquest-") as folder:
            answer = Path(folder) / "openapi"
            self._into(answer, "slurmrestd", "openapi", "/openapi/v3", (), _QUICK_S)
            paths = sj.obj(_object(answer.read_bytes()).get("paths"))
        best: dict[tuple[str, str], tuple[int, str]] = {}
        for path in paths:
            found = _PATH.match(path)
            if found is not None:
                key = (found.group(1), found.group(4))
                best[key] = max(best.get(key, (0, "")), (int(found.group(3)), path))
        self._paths = {key: path for key, (_, path) in best.items()}

    def _path(self, api: str, question: str) -> str:
        if not self._paths:
            self._discover()
        found = self._paths.get((api, question))
        if found is None:
            plugin = "openapi/slurmdbd" if api == "slurmdb" else "openapi/slurmctld"
            raise SourceUnavailable(
                f"slurmrestd does not serve /{api}/.../{question}",
                f"load its plugin: slurmrestd -s {plugin} (or no -s)",
            )
        return found

    def _headers(self) -> dict[str, str]:
        token = self._token
        if self._token_file is not None:
            try:
                token = self._token_file.read_text().strip().removeprefix("SLURM_JWT=")
            except OSError as error:
                raise SourceUnavailable(f"the token file {self._token_file}: {error.strerror}", _TOKEN) from error
        headers = {"X-SLURM-USER-NAME": self._user} if self._user else {}
        return {**headers, "X-SLURM-USER-TOKEN": token} if token else headers

    def _asked(
        self, daemon: str, question: str, path: str, query: Query, importer: Reads, timeout_s: float
    ) -> Iterator[Row]:
        with tempfile.TemporaryDirectory(prefix="inquest-") as folder:
            answer = Path(folder) / "answer"
            asked = datetime.now(UTC)
            if self._into(answer, daemon, question, path, query, timeout_s):
                yield from read(importer, answer, f"{self.name}: {path}", asked, self._cluster, self._calls)

    def _into(self, answer: Path, daemon: str, question: str, path: str, query: Query, timeout_s: float) -> bool:
        """One request, its answer in a file; False when Slurm says that there is no such thing."""
        with self._calls.asking(daemon, question):
            try:
                with (
                    self._client.stream(
                        "GET", path, params=list(query), headers=self._headers(), timeout=timeout_s
                    ) as response,
                    answer.open("wb") as out,
                ):
                    for part in response.iter_bytes():
                        out.write(part)
            except httpx.HTTPError as error:
                raise self._unreachable(error) from error
        if response.status_code in (401, 403):
            raise SourceUnavailable(
                f"slurmrestd at {self._address} does not accept us (HTTP status {response.status_code})", _TOKEN
            )
        with answer.open("rb") as file:
            file.seek(max(0, answer.stat().st_size - 4096))
            ending = file.read()
            file.seek(0)
            is_object = file.read(64).lstrip().startswith(b"{")
        if response.status_code == 200 and is_object and not ending.rstrip().endswith(b"}"):
            raise SourceUnavailable(f"slurmrestd {path}: its answer breaks off", _START)
        if response.status_code == 200 and is_object and b'"error' not in ending and answer.stat().st_size > 4096:
            return True
        return self._checked(response.status_code, path, answer.read_bytes())

    def _checked(self, status: int, path: str, raw: bytes) -> bool:
        content = _object(raw)
        errors = _errors(content)
        if errors and all(number in _NOTHING for number, _ in errors):
            return False
        if errors or status != 200 or not content:
            said = "; ".join(what for _, what in errors)[:400] or raw[:200].decode("utf-8", "replace")
            raise SourceUnavailable(
                f"slurmrestd {path}: {said or f'HTTP status {status}, no JSON'}", self._remedy(said)
            )
        return True

    def _remedy(self, said: str) -> str | None:
        found = _remedy(said)
        if found is not None and "slurmdbd" in found and (self._token or self._token_file):
            # From 24.11 on it says the same of a token that slurmdbd does not take.
            return f"{_TOKEN}; where the token is good: {found}"
        return found

    def _unreachable(self, error: httpx.HTTPError) -> SourceUnavailable:
        why = str(error) or type(error).__name__
        return SourceUnavailable(f"slurmrestd at {self._address}: {why}", _START)


def configured(beside: SlurmAccess | None = None, environ: Mapping[str, str] = os.environ) -> Rest | None:
    """slurmrestd as the environment describes it: SLURMRESTD_URL, SLURM_JWT or SLURM_JWT_FILE, SLURM_JWT_USER; None if nothing does."""
    address = address_of(environ)
    if address is None:
        return None
    file = environ.get("SLURM_JWT_FILE")
    return Rest(
        address,
        user=environ.get("SLURM_JWT_USER") or environ.get("USER"),
        token=environ.get("SLURM_JWT"),
        token_file=Path(file) if file else None,
        beside=beside,
    )


def _ended(rows: Iterable[Row]) -> Iterator[Row]:
    """Those of attempts that have ended: old versions list running jobs whatever states are asked for."""
    running: set[tuple[str | None, int | None]] = set()
    for row in rows:
        key = (row.job_id, row.attempt) if isinstance(row, JobRow) else (None, None)
        if isinstance(row, SlurmJob) and row.state not in ENDED:
            running.add(key)
        if key not in running:
            yield row


def _epoch(moment: datetime) -> str:
    """Every version takes `uts` before the seconds; those before 23.02 take nothing else."""
    return f"uts{int(moment.timestamp())}"


def _object(raw: bytes) -> sj.Object:
    try:
        return sj.obj(json.loads(raw))
    except (ValueError, RecursionError):
        return {}


def _errors(answer: sj.Object) -> list[tuple[int | None, str]]:
    found: list[tuple[int | None, str]] = []
    for item in map(sj.obj, sj.items(answer.get("errors"))):
        words = [t for t in (sj.text(item.get("error")), sj.text(item.get("description"))) if t]
        found.append((sj.whole(item.get("error_number")), ": ".join(words)))
    return found


def _remedy(said: str) -> str | None:
    if re.search("config is unable to load|authenticat", said, re.IGNORECASE):
        return _TOKEN  # what 22.05 says of a token that the controller does not take
    if re.search("slurmdbd|database|persist", said, re.IGNORECASE):
        return "systemctl restart slurmdbd"
    if re.search("contact|connect|slurmctld", said, re.IGNORECASE):
        return "systemctl restart slurmctld"
    return "sacctmgr modify user where name=$USER set adminlevel=Operator" if "permission" in said.lower() else None
