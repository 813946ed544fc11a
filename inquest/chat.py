"""A chat: questions line by line, each answered through the gate, kept on disk before it is shown.

What is shown while an answer is in the making are the steps (which tool asks what), and each sentence as soon as it is
complete and has passed the gate. Where the answer does not hold as a whole it is written again: what it does not begin with
is then said to be withdrawn.
"""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agent_tools.endpoints.drive import Limits
from agent_tools.evidence import Evidence
from agent_tools.questions.answer import Answer, Reply
from agent_tools.questions.investigation import Investigation
from agent_tools.references import plain
from inquest import safe, stopping
from inquest.chat_log import ChatLog, cut_off
from inquest.commands import Failure
from inquest.options import print_json
from inquest.prefix import Prefix
from inquest.render.reply import counted, evidence_text, reply_json, reply_text
from store.result import StoreError

HELP = {
    "/why": "the verdict on the open job",
    "/job N [ATTEMPT]": "open another job",
    "/jobs": "jobs of the lake, newest first",
    "/evidence [E7]": "the evidence so far; one piece of it whole, with its query",
    "/sql SELECT ...": "read-only SQL",
    "/model M": "ask another model; /model examiner asks none",
    "/history [N]": "the questions so far with their answers; one of them whole",
    "/help  /quit": "Anything else is a question.",
}
WITHDRAWN = "(Withdrawn: what stands above since the question. The answer did not hold as a whole; this is it.)"


@dataclass(slots=True)
class Chat:
    """One chat. `say` prints; `emit` tells of steps."""

    investigation: Investigation
    log: ChatLog
    model: str | None
    limits: Limits
    json: bool = False
    interactive: bool = False
    columns: Callable[[], int] = lambda: 100
    """How wide the terminal is now: it may be drawn wider in mid-chat."""
    colour: bool = False
    say: Callable[[str], None] = print
    emit: Callable[[str], None] | None = None

    def run(self, lines: Iterator[str]) -> int:
        """Until the lines end or `/quit`."""
        for line in lines:
            text = line.strip()
            if text in ("/quit", "/exit", "/q"):
                break
            if not text:
                continue
            try:
                self.turn(text)
            except (Failure, StoreError) as failure:
                self.say(self._fitted("inquest: ", safe.line(str(failure))))
            except KeyboardInterrupt:
                if stopping.asked():
                    raise
                self.say("\nstopped; the question was not answered, or not to its end")
        return 0

    def turn(self, text: str) -> None:
        """One line: a command or a question. Raises Failure."""
        if text.startswith("/"):
            self._command(text)
            return
        shown = Prefix[str]()
        part: Answer | None = None

        def told(answer: Answer) -> None:
            nonlocal part
            lines = self._lines(Reply(question=text, **answer.model_dump()))
            withdrawn, new = shown.grown(lines)
            if new and self._kept(lambda: self.log.keep_part(self.investigation, text, answer, self.model or "")):
                part = answer
                self._show(shown, withdrawn, new)

        try:
            reply = self.investigation.ask(
                text, model=self.model, limits=self.limits, on_event=self.emit, on_part=None if self.json else told
            )
        except BaseException:
            if part is not None:  # it was shown: it belongs to the chat
                self.investigation.turns.append(cut_off(text, part, self.investigation.job_id, self.model or ""))
                self._kept(lambda: self.log.keep(self.investigation))
            raise
        self._kept(lambda: self.log.keep(self.investigation))
        if self.json:
            print_json(reply_json(reply, self.investigation.ledger))
            return
        self._show(shown, *shown.whole([*self._lines(reply), ""]))

    def _lines(self, reply: Reply) -> list[str]:
        return reply_text(reply, self.investigation.ledger, width=self.columns(), colour=self.colour).split("\n")

    def _show(self, shown: Prefix[str], withdrawn: bool, new: list[str]) -> None:
        if self.emit:
            self.emit("")
        self.say("\n".join([*(["", WITHDRAWN, ""] if withdrawn else []), *new]))
        shown.show(withdrawn, new)

    def _kept(self, write: Callable[[], None]) -> bool:
        try:
            write()
        except OSError as error:
            print(f"inquest: this could not be kept in {self.log.path}: {error.strerror}", file=sys.stderr)
            return False
        return True

    def _command(self, text: str) -> None:
        name, _, rest = text[1:].partition(" ")
        rest = rest.strip()
        known: dict[str, Callable[[str], None]] = {
            "help": lambda _: self.say("\n".join(self._fitted(f"{k.ljust(19)}", v) for k, v in HELP.items())),
            "why": self._why,
            "job": self._job,
            "jobs": self._jobs,
            "evidence": self._evidence,
            "sql": self._sql,
            "model": self._model,
            "history": self._history,
        }
        if name not in known:
            raise Failure(f"no command /{safe.line(name)[:40]}; /help lists them")
        known[name](rest)

    def _wide(self) -> int | None:
        """How wide tables may be; None where no person reads them in a terminal."""
        return self.columns() if self.interactive else None

    def _fitted(self, lead: str, words: str) -> str:
        """A line as wide as the terminal; what goes on in the next begins below its words."""
        return textwrap.fill(words, max(self.columns(), 40), initial_indent=lead, subsequent_indent=" " * len(lead))

    def _why(self, _: str) -> None:
        if not self.investigation.job_id:
            raise Failure("no job is open: /job N opens one, /jobs lists them")
        self.turn("Why did this job end as it did?")

    def _job(self, rest: str) -> None:
        try:
            words = shlex.split(rest)
        except ValueError:  # a quote or a backslash that ends nothing
            words = rest.split()
        if not words or (len(words) > 1 and not words[1].isdigit()):
            raise Failure("/job N [ATTEMPT]")
        try:
            self.investigation.open(words[0], int(words[1]) if len(words) > 1 else None)
        except KeyError as error:
            raise Failure(str(error.args[0])) from error
        self.say(f"job {safe.line(words[0])} is open")

    def _jobs(self, _: str) -> None:
        self._table("find_jobs")

    def _table(self, query: str, **params: Any) -> None:
        evidence = self.investigation.ledger.ask(self.investigation.reader, query, **params)
        self._looked_up(evidence, colour=self.colour, width=self._wide())

    def _looked_up(self, evidence: Evidence, **layout: Any) -> None:
        """Show what was asked for outside of a turn, once it is kept: `/evidence` has it in the next sitting too."""
        self._kept(lambda: self.log.keep_evidence(self.investigation))
        self.say(evidence_text(evidence, **layout) + "\n")

    def _evidence(self, rest: str) -> None:
        ledger = self.investigation.ledger
        if not rest:
            self.say("\n".join(f"{e.id}  {e.query}: {counted(e.row_count)}" for e in ledger.all()) or "no evidence yet")
            return
        try:
            evidence = ledger.get(rest.strip("[]").upper())
        except KeyError as error:
            raise Failure(str(error.args[0])) from error
        self.say(evidence_text(evidence, max_rows=200, colour=self.colour, sql=True, width=self._wide()) + "\n")

    def _sql(self, rest: str) -> None:
        from store import free_sql

        if not rest:
            raise Failure("/sql SELECT ...")
        lake = getattr(self.investigation.reader, "lake", None)
        if lake is None:
            raise Failure("free SQL sees every job, so it is an operator's; /job, /jobs and questions show your own")
        try:
            result = free_sql.run(lake, rest)
        except StoreError as error:
            raise Failure(str(error)) from error
        evidence = self.investigation.ledger.record(result, "sql", {"query": rest})
        self._looked_up(evidence, max_rows=200, colour=self.colour, width=self._wide())

    def _model(self, rest: str) -> None:
        self.model = None if rest in ("", "examiner") else rest
        self._kept(lambda: self.log.keep_model(self.model))
        self.say(f"asking {safe.line(self.model or 'the built-in examiner')}")

    def _history(self, rest: str) -> None:
        turns = self.investigation.turns
        if not rest:
            told = (
                f"{self._fitted(f'{i}. ', safe.line(t.question))}\n{self._fitted('   ', safe.line(plain(t.short, self.investigation.ledger)))}"
                for i, t in enumerate(turns, 1)
            )
            self.say("\n".join(told) or "nothing yet")
        elif rest.isdecimal() and 1 <= int(rest) <= len(turns):
            self.say("\n".join(self._lines(turns[int(rest) - 1])))
        else:
            raise Failure(f"/history N, of the {len(turns)} turns so far")
