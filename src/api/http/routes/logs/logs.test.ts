import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { pino } from "pino";
import { bearer, fakeServer, keys } from "../../testing/fake-server.ts";
import { RecentLog } from "../../../../base/telemetry/recent-log.ts";

const url = "/v1/preview/logs";

async function serverWithLog(t: TestContext) {
  const recentLog = new RecentLog();
  const logger = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (json: string) => recentLog.add(json) },
  );
  const server = await fakeServer({ recentLog });
  t.after(() => server.close());
  return {
    logger,
    server,
    get: (query = "", key: string = keys.admin) =>
      server.ask({ method: "GET", url: url + query, headers: { authorization: bearer(key) } }),
  };
}

test("shows the log in pages, only to administrators", async (t) => {
  const { logger, server, get } = await serverWithLog(t);
  assert.deepEqual((await get()).json().data, []);
  logger.info({ requestId: "r", durationMs: 1.5 }, "request answered");
  logger.error("the engine broke down");
  const page = (await get("?limit=1")).json();
  assert.deepEqual([page.data[0].message, page.has_more], ["the engine broke down", true]);
  const [line] = (await get(`?limit=1&after=${page.last_id}`)).json().data;
  assert.deepEqual([line.level, line.message], ["info", "request answered"]);
  assert.deepEqual(line.fields, { requestId: "r", durationMs: 1.5 });
  assert.equal((await get("?level=warn")).json().data.length, 1);

  const refused = await get("", keys.member);
  assert.equal(refused.statusCode, 403);
  assert.match(refused.json().error.message, /^The log is for administrators; this key is a member's\.$/);
  assert.equal((await server.ask({ method: "GET", url })).statusCode, 401);
});

test("refuses an invalid level or cursor", async (t) => {
  const { get } = await serverWithLog(t);
  for (const [query, message] of [
    ["?level=loud", /level/],
    ["?after=x", /"x" is no id of a log line/],
    ["?limit=1000", /100/],
  ] as const) {
    const answer = await get(query);
    assert.equal(answer.statusCode, 422, query);
    assert.match(answer.json().error.message, message);
  }
});

test("streams the stored lines, then each new line of the level as it is written", async (t) => {
  const { logger, server } = await serverWithLog(t);
  const address = await server.app.listen({ host: "127.0.0.1", port: 0 });
  logger.warn("kept");
  const answer = await fetch(`${address}${url}?level=warn`, {
    headers: { authorization: bearer(), accept: "text/event-stream" },
  });
  assert.equal(answer.status, 200);
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  assert.ok(reader !== undefined);
  let text = "";
  const readUntil = async (part: string): Promise<void> => {
    while (!text.includes(part)) {
      const { value, done } = await reader.read();
      assert.ok(!done, text);
      text += decoder.decode(value, { stream: true });
    }
  };
  await readUntil('"message":"kept"');
  logger.info("below");
  logger.error("written later");
  await readUntil('"message":"written later"');
  assert.doesNotMatch(text, /below/);
  assert.match(text, /^id: [0-9a-f]{8}-0$/m);
  await reader.cancel();
});
