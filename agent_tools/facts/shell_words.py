"""What a shell says that finds no program or file, or may not run it, in the languages that sites set it to.

Parts of regular expressions. SOURCE: the translations of bash and the C library.
"""

from __future__ import annotations

UNKNOWN_COMMAND = (
    "command not found|(?:Kommando|Befehl) nicht gefunden|commande introuvable|orden no encontrada|no se encontró la orden"
    "|comando não encontrado|comando non trovato|opdracht niet gevonden|nie znaleziono polecenia|команда не найдена"
    "|未找到命令|找不到命令|コマンドが見つかりません|명령어를 찾을 수 없음|명령을 찾을 수 없음"
)
NO_FILE = (
    "No such file or directory|Datei oder Verzeichnis nicht gefunden|Aucun fichier ou dossier de ce (?:type|nom)"
    "|No existe el (?:fichero|archivo) o el directorio|Arquivo ou diretório inexistente|File o directory non esistente"
    "|Bestand of map bestaat niet|Нет такого файла или каталога|没有那个文件或目录|そのようなファイルやディレクトリはありません"
    "|그런 파일이나 디렉터리가 없습니다"
)
DENIED = (
    "Permission denied|Keine Berechtigung|Permission non accordée|Permiso denegado|Permissão negada|Permesso negato"
    "|Toegang geweigerd|Отказано в доступе|权限不够|許可がありません|허가 거부"
)
LINE = r"(?:line|Zeile|ligne|l[ií]nea|linha|riga|regel|linia|строка|行|줄|第) ?\d+ ?行?(?: ?: |[:：] ?)"
