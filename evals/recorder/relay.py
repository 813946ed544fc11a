"""A door into a cluster's private network: whoever connects to a socket file speaks with a socket or a port inside.

    python3 relay.py DOOR unix:/run/x.sock | HOST:PORT

Runs inside the namespace with nothing but the standard library. slurmrestd wants to know who is at the other end of its
socket, and cannot see a process of the host: the relay is the one that it sees.
"""

from __future__ import annotations

import asyncio
import os
import sys


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while part := await reader.read(1 << 16):
            writer.write(part)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def _serve(door: str, target: str) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if target.startswith("unix:"):
                there = await asyncio.open_unix_connection(target.removeprefix("unix:"))
            else:
                host, _, port = target.rpartition(":")
                there = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))

    server = await asyncio.start_unix_server(connected, door)
    os.chmod(door, 0o666)  # noqa: PTH101
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2]))
