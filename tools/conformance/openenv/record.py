"""Records the messages of OpenEnv's own server: `record.py <ws-url> <requests>...`. Prints JSON lines of request and answer."""

import asyncio
import json
import sys

import websockets

REQUESTS = [
    {"type": "reset", "data": {"seed": 1}},
    {"type": "step", "data": {"answer": "h-o-s-p-i-t-a-l"}},
    {"type": "step", "data": {"wrong": 1}},
    {"type": "state"},
    {"type": "step", "data": {"answer": "no"}},
    {"type": "step", "data": {"answer": "no"}},
]


async def record(url: str) -> None:
    """Plays an episode with two faulty steps, and then opens more sessions than the server has."""
    async with websockets.connect(url) as session:
        for request in REQUESTS:
            await session.send(json.dumps(request))
            print(json.dumps({"request": request, "answer": await session.recv()}))
    sessions = [await websockets.connect(url) for _ in range(17)]
    print(json.dumps({"request": None, "answer": await sessions[-1].recv()}))
    for session in sessions:
        await session.close()


asyncio.run(record(sys.argv[1]))
