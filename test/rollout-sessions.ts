// Rollouts of one model on a running server. For tests that call the model as an agent does, and then read the recorded
// calls.
import assert from "node:assert/strict";
import { call, type RunningServer } from "./running-server.ts";
import { registerModel } from "./served-jobs.ts";

export interface Session {
  readonly rollout_id: string;
  readonly api_key: string;
  readonly base_url: string;
  readonly anthropic_base_url: string;
}

/** Tokens of one recorded answer. */
export interface Tokens {
  readonly prompt_token_ids: readonly number[];
  readonly token_ids: readonly number[];
}

interface Detail {
  readonly calls: readonly { readonly request_id: string }[];
  readonly sequences: readonly { readonly answers: readonly { readonly request_id: string }[] }[];
}

/** Registers a model, and returns functions that create, read and train on its rollouts. */
export async function rolloutSessions(server: RunningServer, name: string) {
  const modelId = await registerModel(server, name);
  const path = `/v1/preview/models/${modelId}/rollouts`;
  const send = async (method: string, url: string, body?: object) => {
    const answer = await call(server, method, url, body === undefined ? {} : { body });
    assert.equal(answer.status, 200, `${url}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  return {
    modelId,
    send,
    create: (body: object = {}): Promise<Session> => send("POST", path, body),
    detail: ({ rollout_id: id }: Session): Promise<Detail> => send("GET", `${path}/${id}`),
    finish: ({ rollout_id: id }: Session, reward: number) => send("POST", `${path}/${id}/finish`, { reward }),
    recorded: async (requestId: string): Promise<Tokens & { readonly messages: readonly object[] }> => {
      const body = await send("GET", `/v1/chat/completions/${encodeURIComponent(requestId)}`);
      return { prompt_token_ids: body.prompt_token_ids, messages: body.messages, ...body.choices[0] };
    },
  };
}
