// Starts trajectories of an existing model, for custom training loops, evaluations and `train`.
import type { RolloutCreate } from "../api.ts";
import type { Model } from "../trained-model.ts";
import { openAIClients } from "./libraries.ts";
import { RecordedTrajectory } from "./recorded-trajectory.ts";
import type { JsonObject } from "./trajectory-fetch.ts";

export interface StartTrajectoryOptions {
  /** Step of the version to call; by default, each call uses the newest version. */
  readonly step?: number | undefined;
  /** Seed of the trajectory; random by default. Requests without a seed get seeds derived from it. */
  readonly seed?: number | undefined;
  /** Default fields of the model's requests, such as `temperature` or `chat_template_kwargs`. */
  readonly request?: JsonObject | undefined;
  /** Seconds after which the server refuses further calls; 86,400 by default, at most 604,800. */
  readonly expires?: number | undefined;
  /** Aborts every call. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a trajectory on which a training job will train as a rollout. */
export type RolloutOptions = StartTrajectoryOptions & Pick<RolloutCreate, "group" | "metadata">;

/** Starts a trajectory and its rollout on the server. All calls made through the trajectory belong to the rollout. */
export async function startTrajectory(
  model: Model,
  options: StartTrajectoryOptions = {},
): Promise<RecordedTrajectory> {
  return (await trajectoriesOf(model))(options);
}

/** Returns a function that starts trajectories; loads the `openai` package only once for all of them. */
export async function trajectoriesOf(
  model: Model,
): Promise<(options: RolloutOptions) => Promise<RecordedTrajectory>> {
  const openAI = await openAIClients();
  const { baseUrl, apiKey, fetch: send, platform, rollouts } = model.hone;
  const server = { baseURL: `${baseUrl}/v1`, apiKey };
  return async ({ step, seed, request = {}, expires = 86_400, ...others }) => {
    const { signal = new AbortController().signal, group = null, metadata = null } = others;
    const version = step === undefined ? { follow_new_versions: true } : { version: step };
    const created = await rollouts.create(model.id, { ...version, expires, group, metadata }, { signal });
    const { rollout_id: rolloutId, api_key: rolloutKey } = created;
    const path = `/v1/preview/models/${model.id}/rollouts/${rolloutId}/v1`;
    return new RecordedTrajectory({
      send,
      server,
      rollout: { baseURL: baseUrl + path, apiKey: rolloutKey },
      rolloutId,
      calls: {
        read: () => rollouts.trajectories(model.id, rolloutId),
        finish: (outcome) => rollouts.finish(model.id, rolloutId, outcome),
        cancel: (options) => rollouts.cancel(model.id, rolloutId, options),
      },
      model: model.at(step),
      newId: () => platform.newId(),
      seed: seed ?? Math.floor(platform.uniform() * 2 ** 31),
      defaults: request,
      signal,
      openAI,
    });
  };
}
