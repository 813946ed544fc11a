"""What the shell, the dynamic loader, environment modules, conda and the bare interpreter say when a program cannot start.

SOURCE  bash, env, ld.so, Lmod and Tcl modules, conda, CPython's own start-up errors.
ROWS    `launcher_event` named `shell_error` with detail.code; what Python itself says (no such script, no such module for -m)
        is an `exception` with detail.interpreter.
CAVEAT  a script goes on after a failed line unless it was told not to: a missing `module` command or a failed `conda activate`
        is a warning.
EXAMPLE /var/spool/slurmd/job77/slurm_script: line 12: torchrun: command not found
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, strip_label, whole
from store import lazy

NAMES: dict[str, str] = {
    "shell_error": "launcher_event: detail.code is command_not_found, no_such_file, permission_denied, not_a_directory, "
    "exec_format, syntax, unbound_variable, shared_library, glibc, module_load, conda, memory_limit, no_space, quota, read_only, "
    "input_output, stale, file_exists, connection; detail.what names it, detail.tool the command that says so",
    "FileNotFoundError": "exception: python: can't open file",
    "ModuleNotFoundError": "exception: python -m with a module that is not there",
    "PythonStartError": "exception: the interpreter could not initialise itself",
}

_OPEN = lazy.compile(
    r"(?:^|\s)(?P<python>\S{0,300}python[\d.]*): can't (?:open|find) (?:file|'__main__' module in) '?(?P<what>[^':]+)'?(?:: \[Errno (?P<errno>\d+)\] (?P<text>.+))?"
)
_MODULE = lazy.compile(
    r"(?:^|\s)(?P<python>\S{0,300}python[\d.]*): (?:No module named (?P<what>\S+)|Error while finding module specification for '(?P<what2>[^']+)')"
)
_START = lazy.compile(
    r"Fatal Python error: (?:init_\w+|Py_Initialize|config_\w+)|Could not find platform independent libraries"
)

_ERRNO: dict[str, str] = {
    "No such file or directory": "no_such_file",
    "Permission denied": "permission_denied",
    "Operation not permitted": "permission_denied",
    "Not a directory": "not_a_directory",
    "Is a directory": "not_a_directory",
    "No space left on device": "no_space",
    "Disk quota exceeded": "quota",
    "Read-only file system": "read_only",
    "Input/output error": "input_output",
    "Stale file handle": "stale",
    "File exists": "file_exists",
    "Directory not empty": "file_exists",
    "Connection refused": "connection",
    "Connection timed out": "connection",
    "Network is unreachable": "connection",
}
"""What the C library says of a failed call, and its code."""
_TOOL = lazy.compile(
    r"^\s*(?:/\S{1,200}/)?(?P<tool>cp|mv|ln|rm|rsync|scp|tar|cat|dd|mkdir|rmdir|touch|chmod|chown|chgrp|install|tee|gzip|gunzip|pigz|xz|zstd|zip|unzip"
    r"|bzip2|sort|head|tail|find|ls|du|split|realpath|stat|ssh|sftp): (?P<words>.{0,600}?)(?::| failed:) "
    rf"(?P<errno>{'|'.join(_ERRNO)})(?: \(\d+\))?\s*$"
)
_QUOTED = lazy.compile(r"[‘'`\"](?P<what>[^’'\"`]+)[’'\"]")

_ABROAD: dict[str, tuple[str, ...]] = {
    "command_not_found": (
        "Kommando nicht gefunden", "Befehl nicht gefunden", "commande introuvable", "orden no encontrada", "no se encontró la orden",
        "comando não encontrado", "comando non trovato", "opdracht niet gevonden", "nie znaleziono polecenia", "команда не найдена",
        "未找到命令", "找不到命令", "コマンドが見つかりません", "명령어를 찾을 수 없음", "명령을 찾을 수 없음",
    ),
    "no_such_file": (
        "Datei oder Verzeichnis nicht gefunden", "Aucun fichier ou dossier de ce type", "Aucun fichier ou dossier de ce nom",
        "No existe el fichero o el directorio", "No existe el archivo o el directorio", "Arquivo ou diretório inexistente",
        "File o directory non esistente", "Bestand of map bestaat niet", "Нет такого файла или каталога", "没有那个文件或目录",
        "そのようなファイルやディレクトリはありません", "그런 파일이나 디렉터리가 없습니다",
    ),
    "permission_denied": (
        "Keine Berechtigung", "Permission non accordée", "Permiso denegado", "Permissão negada", "Permesso negato", "Toegang geweigerd",
        "Отказано в доступе", "权限不够", "許可がありません", "허가 거부",
    ),
}  # fmt: skip
"""The shell's words where the site's language is not English."""
_AT = "line|Zeile|[Ll]igne|l[ií]nea|linha|riga|regel|linia|строка|行|줄|第"
_WHERE = (
    r"(?:^|\s)(?P<where>\S{0,300}?(?:bash|sh|zsh|slurm_script|env|\.(?:sh|sbatch|slurm|job|batch|cmd))) ?[:：] ?"
    rf"(?:(?:(?:{_AT}) ?)?(?P<line>\d+) ?行?(?: ?: |[:：] ?))?"
)


def _abroad(code: str, before: str) -> tuple[str, str]:
    return code, _WHERE + before + rf"(?P<what>[^:：]+?)[’']? ?[:：] ?(?:{'|'.join(_ABROAD[code])})\.?\s*$"


_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (code, lazy.compile(pattern))
    for code, pattern in (
        ("shared_library", r"(?:^|\s)(?P<what>\S{1,300}): error while loading shared libraries: (?P<lib>[^:]+)"),
        ("glibc", r"version `(?P<what>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found"),
        ("module_load", r"The(?:se| following) module\(s\)(?: or extension\(s\))? (?:are unknown|cannot be loaded|exist).{0,40}?(?P<what>\"[^\"]+\")?$|Unable to locate a modulefile for '?(?P<what2>[^\s']+)|Lmod has detected the following error"),
        ("conda", r"Could not find conda environment: (?P<what>\S+)|CondaError|Run 'conda init' before|shell has not been properly configured to use 'conda|EnvironmentLocationNotFound"),
        ("command_not_found", _WHERE + r"(?P<what>[^\s:]+): (?:command not found|not found)\s*$"),
        ("command_not_found", r"^\s*-?(?:bash|sh|zsh): (?:command not found: )?(?P<what>[^\s:]+)(?:: command not found)\s*$"),
        ("no_such_file", _WHERE + r"(?:cd: )?[‘'`]?(?P<what>[^:’']+?)[’']?: No such file or directory\s*$"),
        ("no_such_file", r"^\s*(?:cd|cat|cp|mv|source|ls|mkdir|tar|bash|sh): .{0,40}?[‘'`]?(?P<what>/?[^:’'\s]+?)[’']?: No such file or directory\s*$"),
        ("permission_denied", _WHERE + r"(?:cd: )?(?P<what>[^:]+?): Permission denied\s*$"),
        ("not_a_directory", _WHERE + r"(?:cd: )?(?P<what>[^:]+?): (?:Not|Is) a directory\s*$"),
        _abroad("command_not_found", ""),
        _abroad("no_such_file", r"(?:cd ?[:：] ?)?[‘'`]?"),
        _abroad("permission_denied", r"(?:cd ?[:：] ?)?"),
        ("exec_format", r"(?:^|[\s:])(?P<what>[^\s:]{1,300}): cannot execute(?: binary file)?(?:: Exec format error|: required file not found)|Exec format error"),
        ("syntax", _WHERE + r"(?P<what>syntax error .{1,80}|unexpected EOF .{1,80})"),
        ("unbound_variable", _WHERE + r"(?P<what>\w+): (?:unbound variable|parameter (?:null or )?not set)"),
    )
)  # fmt: skip
_SOFT = lazy.compile(
    r"\b(?:module|ml|conda|nvidia-smi|scontrol|git|source|ulimit|unset|hostname|nvcc|figlet|tput|clear|_?lmod)$"
)

_SITE = lazy.compile(r"prolog|epilog|^/etc/")  # the site's own scripts: their trouble is not the job's


class Shell(LineParser):
    """One line, one failure to start something."""

    name: ClassVar[str] = "shell"
    anchors: ClassVar[tuple[str, ...]] = (
        "can't open file",
        "can't find '__main__'",
        ": No module named",
        "finding module specification",
        "Fatal Python error: ",
        "platform independent libraries",
        "loading shared libraries",
        "GLIBC",
        "CXXABI_",
        "module(s)",
        "modulefile",
        "Lmod has detected",
        "conda environment",
        "CondaError",
        "conda init",
        "'conda activate'",
        "EnvironmentLocationNotFound",
        "not found",
        "No such file or directory",
        "Permission denied",
        "a directory",
        "cannot execute",
        "Exec format error",
        "syntax error",
        "unexpected EOF",
        "unbound variable",
        "not set",
        *_ERRNO,
        *(word for words in _ABROAD.values() for word in words),
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text[:1000])
        if found := _OPEN.search(text):
            return [self._python(line, "FileNotFoundError", found, found["what"])]
        if found := _MODULE.search(text):
            return [self._python(line, "ModuleNotFoundError", found, found["what"] or found["what2"])]
        if found := _START.search(text):
            return [
                line.event(
                    "exception", "PythonStartError", severity="fatal", parser=self.name, detail=detail(interpreter=True)
                )
            ]
        if text.startswith(("srun:", "slurmstepd", "sbatch:")) or re.match(
            r"\s*(?:\w+\.)*\w+(?:Error|Exception): ", text
        ):
            return []
        if found := _TOOL.match(text):
            return [self._tool(line, found)]
        for code, pattern in _RULES:
            if found := pattern.search(text):
                got = found.groupdict()
                what = (got.get("what") or got.get("what2") or "").strip()
                soft = (
                    code in ("conda", "module_load")
                    or _SOFT.search(what) is not None
                    or _SITE.search(got.get("where") or "")
                )
                status = {
                    "command_not_found": 127,
                    "permission_denied": 126,
                    "exec_format": 126,
                    "shared_library": 127,
                }.get(code)
                return [
                    line.event(
                        "launcher_event",
                        "shell_error",
                        severity="warning" if soft else "error",
                        parser=self.name,
                        framework="bash",
                        exit_code=status,
                        detail=detail(
                            code=code, what=what or None, line=whole(got.get("line")), library=got.get("lib")
                        ),
                    )
                ]
        return []

    def _tool(self, line: Line, found: re.Match[str]) -> ParsedRow:
        words = found["words"].strip()
        named = _QUOTED.search(words)
        said = [w.rstrip(":") for w in words.split()]
        what = named["what"] if named else next((w for w in said if "/" in w), said[-1] if said else "")
        code = _ERRNO[found["errno"]]
        return line.event(
            "launcher_event",
            "shell_error",
            severity="error",
            parser=self.name,
            framework="bash",
            detail=detail(code=code, what=what or None, tool=found["tool"]),
        )

    def _python(self, line: Line, name: str, found: re.Match[str], what: str) -> ParsedRow:
        return line.event(
            "exception",
            name,
            found[0].strip(),
            severity="fatal",
            parser=self.name,
            framework="python",
            exit_code=2 if name == "FileNotFoundError" else 1,
            detail=detail(interpreter=True, what=what.strip(), traceback=False),
        )
