// For tests: a fake server with recorded answers of a model, and with people's feedback on these answers.
import assert from "node:assert/strict";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import { sampleCompletion, sampleContent } from "../../../store/database/contract/completion-store.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { bearer, fakeServer, keys, registeredModel } from "./fake-server.ts";

const projectId = "acme/p";

/** Returns the reference to a recorded call, or to one of its choices. */
export function refTo(requestId: string, choice: number | null = null): string {
  return callReference({ projectId, requestId }, choice);
}

export type Json = Readonly<Record<string, unknown>>;
type Refusal = { readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[] };

/** Creates a server with a model. `record` adds an answer of the model, and `say` adds feedback. */
export async function recordingServer() {
  let stores: Stores | undefined;
  const server = await fakeServer({
    services: (opened) => {
      stores = opened;
      return {};
    },
  });
  const modelId = await registeredModel(server);
  assert.ok(stores !== undefined);
  const { completions, feedback } = stores;
  const ask = async (
    method: "GET" | "POST" | "PUT" | "DELETE",
    url: string,
    payload?: object,
    { key = keys.member, ...headers }: Readonly<Record<string, string>> = {},
  ) => {
    const answer = await server.ask({
      method,
      url,
      headers: { authorization: bearer(key), ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    return {
      status: answer.statusCode,
      body: answer.json<Json & Refusal & { readonly data: readonly Json[] }>(),
    };
  };
  return {
    server,
    modelId,
    ask,
    /** Records an answer of the model with this many choices. */
    record: (requestId: string, choiceCount = 1, changes: Parameters<typeof sampleCompletion>[1] = {}) =>
      completions.add([
        sampleCompletion(requestId, {
          projectId,
          modelId,
          step: 0,
          finishReasons: Array.from({ length: choiceCount }, () => "stop" as const),
          content: sampleContent({
            choices: Array.from({ length: choiceCount }, (_, index) => ({
              ...sampleContent().choices[0],
              text: `answer ${index}`,
            })),
          }),
          ...changes,
        }),
      ]),
    say: (...records: readonly FeedbackRecord[]) =>
      feedback.create(records.map((record) => ({ ...record, projectId }))),
  };
}
