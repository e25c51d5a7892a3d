// Log lines for answers that break off after the client has received their first byte.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { fastify } from "fastify";
import { notFound } from "../../../base/domain/service-error.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { logBrokenOff } from "../framework-errors.ts";
import { IdleStreamError } from "../sse.ts";

type Line = readonly [level: string, message: string, route: unknown, reason: unknown];

/**
 * Sends an answer made of `pieces`, which a client reads with `read`. Returns the log lines, and whether the client
 * received the whole answer.
 */
async function logOf(
  pieces: () => AsyncIterable<string>,
  read: (answer: Response) => Promise<unknown> = (answer) => answer.text(),
): Promise<{ readonly lines: readonly Line[]; readonly isWhole: boolean }> {
  const lines: Line[] = [];
  const write =
    (level: string) =>
    (fields: object, message = ""): void => {
      const { route, err } = fields as { readonly route?: string; readonly err?: Error };
      lines.push([level, message, route, err?.message]);
    };
  const app = fastify({ forceCloseConnections: true });
  logBrokenOff(app, { ...silentLogger, warn: write("warn"), error: write("error") });
  let over: Promise<unknown> = Promise.resolve();
  app.get("/logs/:id", (_, reply) => {
    over = new Promise<void>((resolve) => reply.raw.once("close", resolve));
    return reply.send(Readable.from(pieces()));
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const isWhole = await fetch(`${url}/logs/7`)
    .then(read)
    .then(
      () => true,
      () => false,
    );
  await over;
  await app.close();
  return { lines, isWhole };
}

function thrown(error: Error): () => AsyncGenerator<string, void> {
  return async function* () {
    yield "one";
    await new Promise((resolve) => setImmediate(resolve));
    throw error;
  };
}

test("logs an expected failure as a warning with the route and the reason", async () => {
  for (const error of [notFound("log of trajectories", "7"), new IdleStreamError("reads nothing")])
    assert.deepEqual(await logOf(thrown(error)), {
      lines: [["warn", "answer broken off", "/logs/:id", error.message]],
      isWhole: false,
    });
});

test("logs an unexpected failure as an error", async () => {
  assert.deepEqual(await logOf(thrown(new TypeError("x is undefined"))), {
    lines: [["error", "answer failed", "/logs/:id", "x is undefined"]],
    isWhole: false,
  });
});

test("logs nothing for a complete answer, or if the client disconnects", async () => {
  const whole = async function* () {
    yield "one";
    yield "two";
  };
  assert.deepEqual(await logOf(whole), { lines: [], isWhole: true });
  const endless = async function* () {
    for (;;) yield "x".repeat(1 << 16);
  };
  const { lines } = await logOf(
    endless,
    (answer) => answer.body?.cancel() ?? assert.fail("There is a body."),
  );
  assert.deepEqual(lines, []);
});
