// Starts trajectories of an existing model, for custom training loops, evaluations and `train`.
import type { Model } from "../trained-model.ts";
import { openAIClients } from "./libraries.ts";
import type { JsonObject } from "./model-request.ts";
import { RecordedTrajectory } from "./recorded-trajectory.ts";

export interface StartTrajectoryOptions {
  /** Step of the version to call; by default, each call uses the newest version. */
  readonly step?: number | undefined;
  /** Seed from which seeds of requests are derived if they have none; random by default. */
  readonly seed?: number | undefined;
  /** Default fields of chat requests, such as `temperature` or `chat_template_kwargs`. */
  readonly request?: JsonObject | undefined;
  /** Aborts every call. */
  readonly signal?: AbortSignal | undefined;
}

/** Starts a trajectory. It records the calls that are made through its clients and its `fetch`. */
export async function startTrajectory(
  model: Model,
  options: StartTrajectoryOptions = {},
): Promise<RecordedTrajectory> {
  return (await trajectoriesOf(model))(options);
}

/** Returns a function that starts trajectories; loads the `openai` package only once for all of them. */
export async function trajectoriesOf(
  model: Model,
): Promise<(options: StartTrajectoryOptions) => RecordedTrajectory> {
  const openAI = await openAIClients();
  const { baseUrl, apiKey, fetch: send, platform } = model.hone;
  return ({ step, seed, request = {}, signal = new AbortController().signal }) =>
    new RecordedTrajectory({
      send,
      baseURL: `${baseUrl}/v1`,
      // Libraries require a key even if the server does not.
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
