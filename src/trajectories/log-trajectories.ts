// Stores trajectories under a split at the model's newest version, with their metrics on that version.
import type { Clock } from "../domain/clock.ts";
import { newUuid7 } from "../domain/ids.ts";
import type { ModelStore, TrainedModel } from "../domain/model.ts";
import { notFound } from "../domain/service-error.ts";
import type { TrajectoryOutline } from "../domain/outlines/trajectory-outline.ts";
import type { TrajectoryStore } from "../domain/trajectory.ts";
import { logMetrics } from "./log-metrics.ts";
import type { LogSummary } from "./log-summary.ts";

export interface LogTrajectoriesDependencies {
  readonly store: TrajectoryStore;
  readonly models: Pick<ModelStore, "newestVersion">;
  readonly clock: Clock;
}

export interface LoggedTrajectories {
  /** The version the log belongs to. */
  readonly step: number;
  /** Stored trajectories, exceptions not counted. */
  readonly trajectories: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Stores the groups and lays their metrics over those of the model's newest version, in one transaction.
 *
 * @throws ServiceError `not_found` when the model has no version any more
 */
export async function logTrajectories(
  { store, models, clock }: LogTrajectoriesDependencies,
  log: {
    readonly model: TrainedModel;
    readonly split: string;
    readonly summary: LogSummary;
    /** The groups, a folded line of JSON each. */
    readonly lines: Iterable<string>;
    /** Of their trajectories. */
    readonly outlines: Iterable<TrajectoryOutline>;
  },
): Promise<LoggedTrajectories> {
  const { model, split, summary, lines, outlines } = log;
  const version = await models.newestVersion(model.id);
  if (version === null) throw notFound("model", model.id);
  const recordedAt = clock.now();
  const { step } = version;
  const { measured, scenarioIds, groupCount, trajectoryCount } = summary;
  const metrics = await store.append(
    {
      id: newUuid7(clock),
      modelId: model.id,
      split,
      step,
      recordedAt,
      lines,
      outlines,
      groupCount,
      scenarioIds,
    },
    (earlier) =>
      logMetrics(measured, {
        step,
        earlier: earlier.metrics,
        uniqueScenarioCount: scenarioIds.length === 0 ? null : earlier.scenarioCount,
        wallClockSeconds: Math.max(0, (recordedAt.getTime() - model.createdAt.getTime()) / 1000),
      }),
  );
  return { step, trajectories: trajectoryCount, metrics };
}
