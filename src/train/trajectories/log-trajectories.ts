// Stores trajectories under a split at a version of the model, with their metrics on that version.
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import type { ModelStore, TrainedModel } from "../../base/domain/model.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import type { TrajectoryOutline } from "../../base/domain/summaries/trajectory-outline.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { TrajectoryStore } from "../../base/domain/trajectory.ts";
import { logMetrics, mergedTallies, tallyMetrics, type LogTally } from "./log-metrics.ts";
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
 * Stores the groups and lays their metrics over those of their version, in one transaction. The version gets the metrics of
 * all logs under the split at that version together.
 *
 * @throws ServiceError `not_found` when the model has no version any more, or never had the one that `log.step` names
 */
export async function logTrajectories(
  { store, models, clock }: LogTrajectoriesDependencies,
  log: {
    readonly model: TrainedModel;
    readonly split: string;
    /** Version to store the groups at; null for the one they were made with, or else the newest. */
    readonly step: number | null;
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
  const step = stepOf(log.step, summary, version.step);
  const { tally, scenarioIds, groupCount, trajectoryCount } = summary;
  const measured = tallyMetrics(tally);
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
    (earlier) => {
      // Unchecked cast: the tally of an earlier log, stored by this function.
      const all = earlier === null ? tally : mergedTallies(earlier as unknown as LogTally, tally);
      return { tally: all as unknown as JsonObject, metrics: tallyMetrics(all) };
    },
  );
  return { step, trajectories: trajectoryCount, metrics };
}

/** Versions that were deleted count: a late evaluation may be of one. */
function stepOf(
  given: number | null,
  { policyVersion }: Pick<LogSummary, "policyVersion">,
  newest: number,
): number {
  if (given !== null && given > newest) {
    const message = `There is no version ${given} of this model yet; the newest is ${newest}.`;
    const faults = [{ location: ["step"], message, type: "not_found" }];
    throw new ServiceError({ code: "not_found", message: `step: ${message}`, faults });
  }
  const isKnown = policyVersion !== null && policyVersion >= 0 && policyVersion <= newest;
  return given ?? (isKnown ? policyVersion : newest);
}
