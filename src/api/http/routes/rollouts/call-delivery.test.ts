// Tests which answers to calls of a rollout are left out of training, because the client did not receive them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { bearer, fakeServer, registeredModel } from "../../testing/fake-server.ts";

/** Starts a server with an open rollout. Returns functions that call its model, and read its calls. */
async function place(t: TestContext, wrap?: (dependencies: HttpDependencies) => HttpDependencies) {
  const server = await fakeServer({ recordsRollouts: true, ...(wrap && { wrap }) });
  t.after(() => server.close());
  server.chat.script.isTrained = true;
  const base = `/v1/preview/models/${await registeredModel(server)}/rollouts`;
  const ask = (url: string, payload?: object, headers: Record<string, string> = {}) =>
    server.ask({
      method: payload === undefined ? "GET" : "POST",
      url,
      headers: { authorization: bearer(), ...headers },
      ...(payload && { payload }),
    });
  const { rollout_id: id, api_key: key } = (await ask(base, {})).json<{
    rollout_id: string;
    api_key: string;
  }>();
  const body = { model: "any", messages: [{ role: "user", content: "Hi" }] };
  const post = async (headers: Record<string, string>, payload: object = body): Promise<number> =>
    (await ask(`${base}/${id}/v1/chat/completions`, payload, headers)).statusCode;
  const detail = async () =>
    (await ask(`${base}/${id}`)).json<{
      calls: { request_id: string; is_delivered: boolean; replaced_by: string | null }[];
      sequences: object[];
    }>();
  /** For each call, the index of the call that replaces it; null if none does. */
  const replaced = async (): Promise<readonly (number | null)[]> => {
    const { calls } = await detail();
    const ids = calls.map(({ request_id: one }) => one);
    return calls.map(({ replaced_by: by }) => (by === null ? null : ids.indexOf(by)));
  };
  return { server, ask, post, detail, replaced, base, id, key, body };
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

const attempt = (count: number) => ({ "x-stainless-retry-count": String(count) });

test("a repeated call replaces the earlier answer, which gets no reward and is not trained on", async (t) => {
  const { post, detail, replaced, ask, base, id } = await place(t);
  for (const count of [0, 1, 2]) assert.equal(await post(attempt(count)), 200);
  assert.deepEqual(await replaced(), [1, 2, null]);
  const { calls, sequences } = await detail();
  assert.equal(sequences.length, 1);
  const finish = `${base}/${id}/finish`;
  const refused = await ask(finish, { reward: 1, call_rewards: { [calls[0]?.request_id ?? ""]: 1 } });
  assert.equal(refused.statusCode, 422);
  assert.match(refused.body, /did not receive the answer of the call .*, so no job trains on it/);
  assert.equal((await ask(finish, { reward: 1 })).statusCode, 200);
  const { trajectories } = (await ask(`${base}/${id}/trajectories`)).json<{
    trajectories: { messages_and_choices: { request_id?: string }[]; additional_histories: object[] }[];
  }>();
  const ids = trajectories.flatMap((one) =>
    one.messages_and_choices.flatMap((item) => item.request_id ?? []),
  );
  assert.deepEqual(ids, [calls[2]?.request_id]);
  assert.deepEqual(trajectories[0]?.additional_histories, []);
});

test("a call with another body, without the header, or after an attempt that failed here replaces nothing", async (t) => {
  const { post, replaced, server, body } = await place(t);
  assert.equal(await post(attempt(0)), 200);
  assert.equal(await post(attempt(1), { ...body, max_tokens: 7 }), 200);
  assert.equal(await post({}), 200);
  assert.equal(await post({ "x-stainless-retry-count": "one" }), 200);
  server.chat.script.refusal = new ServiceError({ code: "unavailable", message: "busy" });
  assert.equal(await post(attempt(0)), 503);
  server.chat.script.refusal = null;
  assert.equal(await post(attempt(1)), 200);
  assert.deepEqual(await replaced(), [null, null, null, null, null]);
  // This attempt repeats the one before.
  assert.equal(await post(attempt(2)), 200);
  assert.deepEqual(
    (await replaced()).filter((index) => index !== null),
    [5],
  );
});

test("calls with the same idempotency key and body replace each other", async (t) => {
  const { post, replaced, body } = await place(t);
  for (const key of ["a", "b", "a"]) assert.equal(await post({ "idempotency-key": key }), 200);
  assert.equal(await post({ "idempotency-key": "b" }, { ...body, max_tokens: 7 }), 200);
  assert.deepEqual(await replaced(), [2, null, null, null]);
});

test("an answer that is recorded but not sent, because the client left, is not trained on", async (t) => {
  const left = gate();
  const recorded = gate();
  const { server, detail, key, base, id, body, post } = await place(t, (dependencies) => ({
    ...dependencies,
    chat: {
      begin: async (request, caller, options) => {
        const completion = await dependencies.chat.begin(request, caller, options);
        const { deltas } = completion;
        const waiting = (async function* () {
          yield* deltas;
          recorded.open();
          await left.opened;
        })();
        return { ...completion, deltas: waiting };
      },
    },
  }));
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const accepted = once(server.app.server, "connection");
  const client = connect(Number(new URL(server.app.listeningOrigin).port), "127.0.0.1");
  const text = JSON.stringify(body);
  const head = [`POST ${base}/${id}/v1/chat/completions HTTP/1.1`, "host: a", `authorization: Bearer ${key}`];
  const more = [
    "content-type: application/json",
    `content-length: ${text.length}`,
    "x-stainless-retry-count: 0",
  ];
  client.write(`${[...head, ...more].join("\r\n")}\r\n\r\n${text}`);
  const [served] = await accepted;
  await recorded.opened;
  client.destroy();
  await once(served, "close");
  left.open();
  while ((await detail()).calls[0]?.is_delivered ?? true) await setImmediate();
  assert.deepEqual((await detail()).sequences, []);
  // The server knows that this attempt repeats the one that was not delivered.
  assert.equal(await post(attempt(1)), 200);
  const { calls, sequences } = await detail();
  assert.deepEqual(
    [calls.map(({ is_delivered: isDelivered }) => isDelivered), sequences.length],
    [[false, true], 1],
  );
});
