// Trajectories that are stored of a model, and the metrics of their logs.
import type {
  Logged,
  LoggedMetrics,
  LoggedTrajectories,
  Page,
  StoredTrajectory,
  TrajectoryCount,
  TrajectoryLog,
  TrajectoryOutline,
} from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
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
  log(modelId: string, body: TrajectoryLog, options?: RequestOptions): Promise<Logged> {
    return this.calls.value(`POST ${model}/log`, { path: { model_id: modelId }, body }, options);
  }

  /** One by one, in the order they came. */
  list(
    modelId: string,
    filter: TrajectoryFilter = {},
    options?: RequestOptions,
  ): Pages<StoredTrajectory, Page<StoredTrajectory>> {
    const input = { path: { model_id: modelId }, query: filter };
    return this.calls.pages(`GET ${model}/trajectories/rows`, input, options);
  }

  /** What lists say of each: how it begins and ends, its reward and metrics; the newest first unless asked. */
  outlines(
    modelId: string,
    filter: OutlineFilter = {},
    options?: RequestOptions,
  ): Pages<TrajectoryOutline, Page<TrajectoryOutline>> {
    const input = { path: { model_id: modelId }, query: filter };
    return this.calls.pages(`GET ${model}/trajectories/outlines`, input, options);
  }

  /** How many there are from where, under which split, and their mean reward. */
  async counts(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories/counts`> = {},
    options?: RequestOptions,
  ): Promise<readonly TrajectoryCount[]> {
    const input = { path: { model_id: modelId }, query };
    return (await this.calls.value(`GET ${model}/trajectories/counts`, input, options)).data;
  }

  /** One whole, by the id of its outline. */
  get(modelId: string, id: string, options?: RequestOptions): Promise<StoredTrajectory> {
    const path = { model_id: modelId, number: id };
    return this.calls.value(`GET ${model}/trajectories/{number}`, { path }, options);
  }

  /** As a file, as it comes: a JSON object a line, or Parquet; or a line for each group with what it holds beside them. */
  export(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories/export`>,
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(
      `GET ${model}/trajectories/export`,
      { path: { model_id: modelId }, query },
      options,
    );
  }

  /** Whole logs with their groups, as they were sent. */
  logs(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/trajectories`> = {},
    options?: RequestOptions,
  ): Pages<LoggedTrajectories, Page<LoggedTrajectories>> {
    return this.calls.pages(`GET ${model}/trajectories`, { path: { model_id: modelId }, query }, options);
  }

  /** The metrics of each log over time, the oldest first unless asked. */
  metrics(
    modelId: string,
    query: QueryOf<`GET ${typeof model}/metrics`> = {},
    options?: RequestOptions,
  ): Pages<LoggedMetrics, Page<LoggedMetrics>> {
    return this.calls.pages(`GET ${model}/metrics`, { path: { model_id: modelId }, query }, options);
  }
}
