// Trajectories of a model that is there: how a loop of one's own, an evaluation or `train` begins one.
import type { Model } from "../trained-model.ts";
import { openAIClients } from "./libraries.ts";
import type { JsonObject } from "./model-request.ts";
import { RecordedTrajectory } from "./recorded-trajectory.ts";

export interface StartTrajectoryOptions {
  /** The version that is called; the newest unless given, whichever that is at each call. */
  readonly step?: number | undefined;
  /** Requests without a seed get seeds that follow from it; a random one unless given. */
  readonly seed?: number | undefined;
  /** Fields for requests that leave them open, such as `temperature` or `chat_template_kwargs`. */
  readonly request?: JsonObject | undefined;
  /** Ends every call with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Begins a trajectory: what is said by its clients and its `fetch` is recorded until it is finished. */
export async function startTrajectory(
  model: Model,
  options: StartTrajectoryOptions = {},
): Promise<RecordedTrajectory> {
  return (await trajectoriesOf(model))(options);
}

/** The same for many: what they share is loaded once. */
export async function trajectoriesOf(
  model: Model,
): Promise<(options: StartTrajectoryOptions) => RecordedTrajectory> {
  const openAI = await openAIClients();
  const { baseUrl, apiKey, fetch: send, platform } = model.hone;
  return ({ step, seed, request = {}, signal = new AbortController().signal }) =>
    new RecordedTrajectory({
      send,
      baseURL: `${baseUrl}/v1`,
      // Clients want one, also where the server asks for none.
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
