// A server with a fake chat service and one model, for tests of rollouts.
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { RolloutSettings } from "../../../train/rollouts/settings.ts";
import { sampleCompletion, sampleContent } from "../../../store/database/contract/completion-store.ts";
import { bearer, fakeServer, keys, registeredModel } from "./fake-server.ts";

export interface Created {
  readonly rollout_id: string;
  readonly api_key: string;
  readonly base_url: string;
  readonly [name: string]: unknown;
}

/** Starts a server with one model. Tests create and record rollouts of this model. */
export async function rolloutServer(
  rolloutSettings: Partial<RolloutSettings> = {},
  auth: "on" | "off" = "on",
) {
  const clock = new FakeClock();
  const server = await fakeServer({ clock, rolloutSettings, auth });
  const modelId = await registeredModel(server);
  const base = `/v1/preview/models/${modelId}/rollouts`;
  const ask = async (
    url: string,
    payload?: object,
    { key = keys.member, method = "POST" }: { readonly key?: string; readonly method?: "POST" | "GET" } = {},
  ) => {
    const headers = { authorization: bearer(key) };
    const answer = await server.ask({ method, url, headers, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json() };
  };
  const create = async (payload: object = {}): Promise<Created> => (await ask(base, payload)).body;
  const record = (
    requestId: string,
    rolloutId: string,
    usage = { promptTokens: 4, completionTokens: 16, cachedTokens: 0 },
  ) =>
    server.completions.add([
      sampleCompletion(requestId, {
        projectId: "acme/p",
        modelId,
        step: 0,
        rolloutId,
        usage,
        content: sampleContent({ choices: sampleContent().choices.slice(0, 1) }),
      }),
    ]);
  return { server, clock, modelId, base, ask, create, record };
}
