// Calls about stored trajectories of a model, and the metrics of their logs.
import type { TrajectoryCount } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const model = "/v1/preview/models/{model_id}";

/** Filter for stored trajectories; omitted fields match all. */
export type TrajectoryFilter = QueryOf<`GET ${typeof model}/trajectories/rows`>;

/** Filter for trajectory outlines; omitted fields match all. */
export type OutlineFilter = QueryOf<`GET ${typeof model}/trajectories/outlines`>;

/** `hone.trajectories` */
export class TrajectoryCalls extends CallGroup {
  /** Stores trajectories under a split; returns their metrics. */
  readonly log = this.send(`POST ${model}/log`);
  /** Lists trajectories in the order in which they were stored. */
  readonly list = this.pages(`GET ${model}/trajectories/rows`);
  /** Lists summaries: first and last messages, reward and metrics; newest first by default. */
  readonly outlines = this.pages(`GET ${model}/trajectories/outlines`);
  /** Returns a whole trajectory by the id of its outline. */
  readonly get = this.call(`GET ${model}/trajectories/{number}`);
  /** Lists whole logs with their groups, as they were sent. */
  readonly logs = this.pages(`GET ${model}/trajectories`);
  /** Lists the metrics of each log over time, oldest first by default. */
  readonly metrics = this.pages(`GET ${model}/metrics`);

  /** Counts trajectories by source and split, with their mean reward. */
  async counts(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories/counts`> = {},
    options?: RequestOptions,
  ): Promise<readonly TrajectoryCount[]> {
    const input = { path: { model_id: modelId }, query };
    return (await this.calls.call(`GET ${model}/trajectories/counts`, input, options)).data;
  }

  /** Streams trajectories as a file: JSON Lines or Parquet, or a line per group with its other data. */
  export(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories/export`>,
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const input = { path: { model_id: modelId }, query };
    return this.calls.bytes(`GET ${model}/trajectories/export`, input, options);
  }
}
