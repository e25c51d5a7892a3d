// A fake server on which tests of the training loop run, with the rewards and settings of the jobs that the loop
// creates.
import assert from "node:assert/strict";
import { fakeServer, keys, playJob } from "../../../api/http/testing/fake-server.ts";
import { Hone } from "../hone.ts";
import type { Model } from "../trained-model.ts";
import { fetchFrom } from "./fake-fetch.ts";

export interface Place {
  readonly model: Model;
  /** For each job, the rewards of its rollouts on the server, by group. */
  readonly trained: (readonly (readonly (number | null)[])[])[];
  /** Settings that were sent to each job. */
  readonly settings: unknown[];
  /** Metrics of the versions that jobs create. */
  versionMetrics: Record<string, number>;
  /** True to run jobs as soon as they are created. */
  runsJobs: boolean;
  /** Runs the oldest queued job. */
  readonly runJob: () => Promise<void>;
}

export async function withModel(use: (place: Place) => Promise<void>): Promise<void> {
  const server = await fakeServer({ recordsRollouts: true });
  server.chat.script.isTrained = true;
  let step = 0;
  const plain = fetchFrom(server);
  const hone = new Hone({
    baseUrl: "http://host",
    apiKey: keys.member,
    fetch: async (url, request) => {
      const answer = await Promise.race([plain(url, request), abortOf(request.signal)]);
      if (request.method === "POST" && url.endsWith("/training-jobs")) {
        const body = JSON.parse(request.body as string);
        place.trained.push(await rewardsOf(place.model, body.rollout_ids));
        place.settings.push(body.experimental_config);
        if (place.runsJobs) await place.runJob();
      }
      return answer;
    },
  });
  const place: Place = {
    model: await hone.model("p/m", { base: "tiny" }),
    trained: [],
    settings: [],
    versionMetrics: {},
    runsJobs: true,
    runJob: () =>
      playJob(server, {
        step: ++step,
        events: [{ type: "training_ended", data: {} }],
        metrics: place.versionMetrics,
      }),
  };
  await use(place);
  await server.close();
}

/** Returns the rewards of the groups to which these rollouts belong. All of them are finished. */
async function rewardsOf(
  { hone, id }: Model,
  ids: readonly string[],
): Promise<readonly (readonly (number | null)[])[]> {
  const all = await hone.rollouts.list(id, { order: "asc" }).all();
  const named = all.filter(({ rollout_id: rolloutId }) => ids.includes(rolloutId));
  assert.deepEqual(new Set(named.map(({ state }) => state)), new Set(["finished"]));
  const names = new Set(named.map(({ group }) => group));
  return [...names].map((name) => named.flatMap(({ group, reward }) => (group === name ? [reward] : [])));
}

/** Rejects when the signal aborts, which the fake server ignores. */
function abortOf(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(signal?.reason as Error);
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
