// Stores a log of trajectories under a split and a version of the model, and merges the log's metrics into the
// version's.
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
  /** Number of the version to which the log belongs. */
  readonly step: number;
  /** Number of stored trajectories; rollouts that ended with an exception do not count. */
  readonly trajectories: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Stores the groups of a log and merges their metrics into the version's, in one transaction. The version's metrics
 * combine all logs under the split.
 *
 * @throws ServiceError `not_found` if the model has no version any more, or never had a version with the number
 * `log.step`
 */
export async function logTrajectories(
  { store, models, clock }: LogTrajectoriesDependencies,
  log: {
    readonly model: TrainedModel;
    readonly split: string;
    /**
     * Number of the version under which to store the groups. Null to use the version that generated them, or if there
     * is no such version, the newest one.
     */
    readonly step: number | null;
    readonly summary: LogSummary;
    /**
     * The log's groups, one JSON line per group; a long line is folded into several parts
     * (`base/domain/text/folded-lines.ts`).
     */
    readonly lines: Iterable<string>;
    /** Summaries of the trajectories in all groups. */
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
      // Safe cast: this function stored the object for an earlier log.
      const all = earlier === null ? tally : mergedTallies(earlier as unknown as LogTally, tally);
      return { tally: all as unknown as JsonObject, metrics: tallyMetrics(all) };
    },
  );
  return { step, trajectories: trajectoryCount, metrics };
}

/** Returns the version under which to store a log. It may be a deleted version, because evaluations can arrive late. */
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
