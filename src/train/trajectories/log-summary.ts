// Summary of a log, collected group by group for its metrics and scenarios. Message contents are discarded
// immediately, since a log can have hundreds of megabytes.
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { Trajectory, TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { answersOf, type AnswerLength } from "./choice-faults.ts";
import { tallyLog, type LogTally } from "./log-metrics.ts";

export interface LogSummary {
  /** Measurements of the log itself. */
  readonly tally: LogTally;
  /** Scenario ids of all groups. */
  readonly scenarioIds: readonly string[];
  readonly groupCount: number;
  /** Number of trajectories, excluding exceptions. */
  readonly trajectoryCount: number;
  /** The `final_policy_version` shared by all trajectories; null if they differ. */
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

  /** Returns the summary. @throws ServiceError as {@link tallyLog} */
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
    // Only the number of exceptions is needed.
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

/** A trajectory without content. */
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

/** Returns each group's scenario id: `metadata.scenario_id` of the group, or else of its trajectories. */
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
