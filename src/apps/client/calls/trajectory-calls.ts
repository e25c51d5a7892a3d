// Calls for a model's stored trajectories, and for the metrics of its logs.
import type { TrajectoryCount } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const model = "/v1/preview/models/{model_id}";

/** Filter for stored trajectories; an omitted field matches all. */
export type TrajectoryFilter = QueryOf<`GET ${typeof model}/trajectories/rows`>;

/** Filter for trajectory outlines; an omitted field matches all. */
export type OutlineFilter = QueryOf<`GET ${typeof model}/trajectories/outlines`>;

/** The call group `hone.trajectories`. */
export class TrajectoryCalls extends CallGroup {
  /** Stores trajectories under a split such as `train` or `val`, and returns their metrics. */
  readonly log = this.send(`POST ${model}/log`);
  /** Lists trajectories in the order in which they were stored. */
  readonly list = this.pages(`GET ${model}/trajectories/rows`);
  /** Lists outlines of trajectories: the first and last messages, the reward and metrics. Newest first by default. */
  readonly outlines = this.pages(`GET ${model}/trajectories/outlines`);
  /** Returns a whole trajectory, identified by the id of its outline. */
  readonly get = this.call(`GET ${model}/trajectories/{number}`);
  /** Lists whole logs with their groups, as they were sent. */
  readonly logs = this.pages(`GET ${model}/trajectories`);
  /** Lists the metrics of each log, oldest first by default. */
  readonly metrics = this.pages(`GET ${model}/metrics`);

  /** Returns the number of trajectories and their mean reward, by source and split. */
  async counts(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories/counts`> = {},
    options?: RequestOptions,
  ): Promise<readonly TrajectoryCount[]> {
    const input = { path: { model_id: modelId }, query };
    return (await this.calls.call(`GET ${model}/trajectories/counts`, input, options)).data;
  }

  /** Streams trajectories as JSON Lines or Parquet, or the data of their groups with a line per group. */
  export(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories/export`>,
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    const input = { path: { model_id: modelId }, query };
    return this.calls.bytes(`GET ${model}/trajectories/export`, input, options);
  }
}
