// Replays a recorded session of an unmodified reinforcement-learning client. The server must accept every request, and
// every answer must contain the members that the client reads.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { InjectOptions } from "fastify";
import { bearer, fakeServer, keys } from "./testing/fake-server.ts";

interface Recorded {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const recorded = readFileSync("test/fixtures/recordings/art-full.jsonl", "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);

test("accepts every request of a recorded client, from registration to deletion", async () => {
  const server = await fakeServer();
  server.chat.script.isTrained = true;
  const ids = new Map<string, string>();
  const known = (text: string): string =>
    text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => ids.get(id) ?? id);
  for (const [index, request] of recorded.entries()) {
    const { authorization, "content-length": _, host: __, ...headers } = request.headers;
    assert.match(authorization ?? "", /^Bearer /);
    const answer = await server.ask({
      method: request.method,
      url: known(request.path),
      query:
        request.query["after"] === undefined ? (request.query as NonNullable<InjectOptions["query"]>) : {},
      headers: { ...headers, authorization: bearer(keys.admin) },
      ...(request.body === null ? {} : { payload: known(JSON.stringify(request.body)) }),
    });
    assert.equal(answer.statusCode, 200, `${index}: ${request.method} ${request.path}: ${answer.body}`);
    assert.equal(answer.headers["x-hone-ignored"], undefined);
    const sent = /"id": ?"([0-9a-f]{8}-[0-9a-f-]{27})"/.exec(
      JSON.stringify(request.body ?? "") && answerOf(index),
    );
    const id = answer.json<{ id?: string }>().id;
    if (sent?.[1] !== undefined && id !== undefined && !id.startsWith("chatcmpl")) ids.set(sent[1], id);
  }
  assert.equal(server.chat.seen.length, 9);
  assert.equal(server.submittedJobs.length, 1);
  await server.close();
});

function answerOf(index: number): string {
  return JSON.stringify((recorded[index] as unknown as { readonly answer: unknown }).answer);
}
