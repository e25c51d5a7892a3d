// Summarizes a log of trajectories group by group, for its metrics and scenarios. Discards message contents
// immediately, because a log can have hundreds of megabytes.
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { Trajectory, TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { answersOf, type AnswerLength } from "./choice-faults.ts";
import { tallyLog, type LogTally } from "./log-metrics.ts";

export interface LogSummary {
  /** Measurements of the log, from which its metrics are computed. */
  readonly tally: LogTally;
  /** Scenario ids of all groups that have one. */
  readonly scenarioIds: readonly string[];
  readonly groupCount: number;
  /** Number of trajectories; rollouts that ended with an exception do not count. */
  readonly trajectoryCount: number;
  /** The `final_policy_version` that all trajectories state; null if they differ. */
  readonly policyVersion: number | null;
}

export class LogSummarizer {
  readonly #groups: TrajectoryGroup[] = [];
  readonly #answers: AnswerLength[] = [];
  readonly #policyVersions = new Set<number | null>();

  add(group: TrajectoryGroup): void {
    this.#groups.push(bare(group));
    for (const trajectory of group.trajectories) {
      for (const answer of answersOf(trajectory)) this.#answers.push(answer);
      this.#policyVersions.add(trajectory.finalPolicyVersion);
    }
  }

  /**
   * Returns the summary of all groups added so far.
   *
   * @throws ServiceError as {@link tallyLog}
   */
  summary(split: string): LogSummary {
    const groups = this.#groups;
    return {
      tally: tallyLog(split, groups, this.#answers),
      scenarioIds: scenarioIdsOf(groups),
      groupCount: groups.length,
      trajectoryCount: groups.reduce((count, group) => count + group.trajectories.length, 0),
      policyVersion: this.#policyVersions.size === 1 ? ([...this.#policyVersions][0] ?? null) : null,
    };
  }
}

function bare(group: TrajectoryGroup): TrajectoryGroup {
  return {
    trajectories: group.trajectories.map(bareTrajectory),
    // Keeps only the number of exceptions, because the summary needs no more.
    exceptions: group.exceptions.map(() => nothing),
    metadata: scenarioAlone(group.metadata),
    metrics: group.metrics,
    logs: [],
    extra: {},
  };
}

function bareTrajectory({ reward, metrics, metadata }: Trajectory): Trajectory {
  return { ...emptyTrajectory, reward, metrics, metadata: scenarioAlone(metadata) };
}

const nothing: JsonObject = {};

/** A trajectory without messages, choices or metrics. */
export const emptyTrajectory: Trajectory = {
  messagesAndChoices: [],
  tools: null,
  additionalHistories: [],
  reward: 0,
  initialPolicyVersion: null,
  finalPolicyVersion: null,
  metrics: {},
  metadata: {},
  logs: [],
  startTime: null,
  extra: {},
};

function scenarioAlone({ scenario_id: id }: JsonObject): JsonObject {
  return id === undefined || typeof id === "object" ? nothing : { scenario_id: id };
}

/**
 * Returns the scenario id of each group that has one: `metadata.scenario_id` of the group, or else of its trajectories.
 */
export function scenarioIdsOf(groups: readonly TrajectoryGroup[]): string[] {
  return groups.flatMap((group) => {
    const ofGroup = scenarioIdIn(group.metadata);
    if (ofGroup !== null) return [ofGroup];
    return group.trajectories.flatMap((trajectory) => scenarioIdIn(trajectory.metadata) ?? []);
  });
}

function scenarioIdIn(metadata: TrajectoryGroup["metadata"]): string | null {
  const id = metadata["scenario_id"];
  return typeof id === "string" || typeof id === "number" ? String(id) : null;
}
