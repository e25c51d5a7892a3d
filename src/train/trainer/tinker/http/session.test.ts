import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../../../base/domain/testing/fake-clock.ts";
import { TinkerConnection } from "./connection.ts";
import { TinkerSession } from "./session.ts";

/** Opens a session with a server that answers the session's heartbeats with the given statuses, in order. */
async function opened(t: TestContext, statuses: readonly number[]) {
  const clock = new FakeClock();
  const left = [...statuses];
  const beaten = new EventTarget();
  const answer = (url: string | undefined, response: ServerResponse): void => {
    if (url?.endsWith("create_session") === true) {
      response.end('{"session_id":"session_1"}');
      return;
    }
    response.on("close", () => beaten.dispatchEvent(new Event("beat")));
    response.writeHead(left.shift() ?? 200).end("{}");
  };
  const server = createServer((request, response) => answer(request.url, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = new TinkerConnection({ url, apiKey: "any", clock });
  const session = await TinkerSession.open(connection, {
    run: "run",
    clock,
    signal: new AbortController().signal,
  });
  t.after(() => session.close());
  return { session, clock, beaten, left };
}

for (const status of [404, 410])
  test(`a session ends when the server answers a heartbeat with ${status}, and not before`, async (t) => {
    const { session, clock, beaten, left } = await opened(t, [200, 503, status]);
    for (let beat = 1; beat <= 3; beat++) {
      session.requireThere();
      while (clock.sleepingCount === 0) await new Promise(setImmediate);
      const beating = once(beaten, "beat");
      await clock.advance(20_000);
      await beating;
    }
    assert.equal(left.length, 0);
    // Waits, because the server has sent its answer but the session may not have processed it yet.
    while (isThere(session)) await new Promise(setImmediate);
    assert.throws(() => session.requireThere(), { code: "unavailable", message: /has ended the session/ });
  });

function isThere(session: TinkerSession): boolean {
  try {
    session.requireThere();
    return true;
  } catch {
    return false;
  }
}
