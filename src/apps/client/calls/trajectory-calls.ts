// Trajectories that are stored of a model, and the metrics of their logs.
import type { TrajectoryCount } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const model = "/v1/preview/models/{model_id}";

/** Which stored trajectories; what is left out lets all through. */
export type TrajectoryFilter = QueryOf<`GET ${typeof model}/trajectories/rows`>;

/** The same of outlines. */
export type OutlineFilter = QueryOf<`GET ${typeof model}/trajectories/outlines`>;

/** `hone.trajectories` */
export class TrajectoryCalls extends CallGroup {
  /** Stores trajectories under a split; the answer has the metrics of them. */
  readonly log = this.send(`POST ${model}/log`);
  /** One by one, in the order they came. */
  readonly list = this.pages(`GET ${model}/trajectories/rows`);
  /** What lists say of each: how it begins and ends, its reward and metrics; the newest first unless asked. */
  readonly outlines = this.pages(`GET ${model}/trajectories/outlines`);
  /** One whole, by the id of its outline. */
  readonly get = this.call(`GET ${model}/trajectories/{number}`);
  /** Whole logs with their groups, as they were sent. */
  readonly logs = this.pages(`GET ${model}/trajectories`);
  /** The metrics of each log over time, the oldest first unless asked. */
  readonly metrics = this.pages(`GET ${model}/metrics`);

  /** How many there are from where, under which split, and their mean reward. */
  async counts(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories/counts`> = {},
    options?: RequestOptions,
  ): Promise<readonly TrajectoryCount[]> {
    const input = { path: { model_id: modelId }, query };
    return (await this.calls.call(`GET ${model}/trajectories/counts`, input, options)).data;
  }

  /** As a file, as it comes: a JSON object a line, or Parquet; or a line for each group with what it holds beside them. */
  export(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories/export`>,
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const input = { path: { model_id: modelId }, query };
    return this.calls.bytes(`GET ${model}/trajectories/export`, input, options);
  }
}
