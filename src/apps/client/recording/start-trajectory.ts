// Starts trajectories of an existing model, for custom loops, evaluations and `train`.
import type { Model } from "../trained-model.ts";
import { openAIClients } from "./libraries.ts";
import type { JsonObject } from "./model-request.ts";
import { RecordedTrajectory } from "./recorded-trajectory.ts";

export interface StartTrajectoryOptions {
  /** The version to call; default: the newest at each call. */
  readonly step?: number | undefined;
  /** Requests without a seed get seeds derived from this one; random by default. */
  readonly seed?: number | undefined;
  /** Default request fields, such as `temperature` or `chat_template_kwargs`. */
  readonly request?: JsonObject | undefined;
  /** Aborts every call. */
  readonly signal?: AbortSignal | undefined;
}

/** Starts a trajectory, which records the calls made through its clients and its `fetch` until it is finished. */
export async function startTrajectory(
  model: Model,
  options: StartTrajectoryOptions = {},
): Promise<RecordedTrajectory> {
  return (await trajectoriesOf(model))(options);
}

/** Returns a function that starts trajectories and loads shared parts once. */
export async function trajectoriesOf(
  model: Model,
): Promise<(options: StartTrajectoryOptions) => RecordedTrajectory> {
  const openAI = await openAIClients();
  const { baseUrl, apiKey, fetch: send, platform } = model.hone;
  return ({ step, seed, request = {}, signal = new AbortController().signal }) =>
    new RecordedTrajectory({
      send,
      baseURL: `${baseUrl}/v1`,
      // Clients require a key, even if the server does not.
      apiKey: apiKey ?? "none",
      model: model.at(step),
      step: step ?? null,
      seed: seed ?? Math.floor(platform.uniform() * 2 ** 31),
      defaults: request,
      signal,
      openAI,
      startedAt: platform.now().toISOString(),
    });
}
