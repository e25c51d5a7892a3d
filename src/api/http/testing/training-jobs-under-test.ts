// For tests: a fake server with a model, and functions that send training jobs to it and check its refusals.
import assert from "node:assert/strict";
import { bearer, fakeServer, type FakeServerOptions, keys, registeredModel } from "./fake-server.ts";

export type Server = Awaited<ReturnType<typeof fakeServer>>;

export type Refusal = {
  readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[];
};

export const path = "/v1/preview/training-jobs";

export async function withModel(
  options: FakeServerOptions = {},
): Promise<{ readonly server: Server; readonly modelId: string }> {
  const server = await fakeServer(options);
  return { server, modelId: await registeredModel(server) };
}

export function post(
  server: Server,
  payload: object | string,
  headers: Readonly<Record<string, string>> = {},
) {
  const base = { authorization: bearer(keys.member), "content-type": "application/json" };
  return server.ask({ method: "POST", url: path, headers: { ...base, ...headers }, payload });
}

export function get(server: Server, url: string, headers: Readonly<Record<string, string>> = {}) {
  return server.ask({ method: "GET", url, headers: { authorization: bearer(keys.member), ...headers } });
}

export async function refuses(
  server: Server,
  body: object | string,
  faults: readonly (readonly [string, RegExp])[],
) {
  const answer = await post(server, body);
  assert.equal(answer.statusCode, 422, answer.body);
  const { detail } = answer.json<Refusal>();
  assert.deepEqual(
    detail.map(({ loc }) => loc.slice(1).join(".")),
    faults.map(([place]) => place),
  );
  faults.forEach(([, message], index) => assert.match(detail[index]?.msg ?? "", message));
}

export const choice = {
  finish_reason: "stop",
  index: 0,
  message: { role: "assistant", content: "no" },
  logprobs: { content: [{ token: "token_id:5", logprob: -0.1, bytes: [], top_logprobs: [] }], refusal: null },
  token_ids: [5],
  prompt_token_ids: [1, 2],
  stop_reason: null,
};
