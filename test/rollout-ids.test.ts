// Tests agents that all use the same request id: no recorded call of a rollout may be lost.
import assert from "node:assert/strict";
import { test } from "node:test";
import { rolloutSessions, type Session } from "./rollout-sessions.ts";
import { call, serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

const server = serverOfFile({ flags: toolModel });
const agentCount = 8;
const fixed = "my-fixed-id";

/** Calls the model with the fixed id. The id is in the header or, for agents with odd numbers, in the body. */
async function ask(model: string, agent: number, session: Session | null, turn: number) {
  const body = { model, messages: [{ role: "user", content: `${agent} ${turn}` }], max_tokens: 2 };
  const url = session === null ? "/v1" : new URL(session.base_url).pathname;
  const inHeader = agent % 2 === 0;
  return call(server(), "POST", `${url}/chat/completions`, {
    body: inHeader ? body : { ...body, request_id: fixed },
    headers: inHeader ? { "x-request-id": fixed } : {},
  });
}

test("8 agents with the same request id lose no call of their rollouts, also besides calls outside of rollouts", async () => {
  const { create, detail, recorded, modelId } = await rolloutSessions(server(), "ids");
  const sessions = await Promise.all(Array.from({ length: agentCount }, () => create()));
  const outside = async (): Promise<void> => {
    // Outside of rollouts, a request is refused if another one with its id is running.
    for (let agent = 0; agent < 10; agent++)
      assert.equal((await ask(modelId, agent, null, 0)).status, 200, "no call in a rollout has this id");
  };
  const answered = sessions.map(async (session, agent) => {
    for (const turn of [1, 2]) {
      const { status, body } = await ask("any", agent, session, turn);
      assert.equal(status, 200, JSON.stringify(body));
      assert.match(body.id, /^chatcmpl-my-fixed-id-[0-9a-f-]{36}$/);
      assert.equal(body.id, `chatcmpl-${body.request_id}`);
    }
  });
  await Promise.all([outside(), ...answered]);
  const ids = new Set<string>();
  for (const [agent, session] of sessions.entries()) {
    const { calls } = await detail(session);
    const texts = [];
    for (const { request_id: id } of calls) {
      ids.add(id);
      const { messages } = await recorded(id);
      texts.push(messages);
    }
    assert.deepEqual(
      texts,
      [1, 2].map((turn) => [{ role: "user", content: `${agent} ${turn}` }]),
    );
  }
  assert.equal(ids.size, 2 * agentCount);
  assert.deepEqual((await recorded(fixed)).messages, [{ role: "user", content: "9 0" }]);
});
