// What a log's metrics and scenarios are made of, gathered a group at a time: what was said in a trajectory is dropped at
// once, since a log can be hundreds of megabytes.
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { Trajectory, TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { answersOf, type AnswerLength } from "./choice-faults.ts";
import { tallyLog, type LogTally } from "./log-metrics.ts";

export interface LogSummary {
  /** What the log measures by itself. */
  readonly tally: LogTally;
  /** Every scenario that the groups name. */
  readonly scenarioIds: readonly string[];
  readonly groupCount: number;
  /** Exceptions not counted. */
  readonly trajectoryCount: number;
  /** The `final_policy_version` that all trajectories share; null where they do not. */
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

  /** @throws ServiceError as {@link tallyLog} */
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
    // They are counted; what they say is not read.
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

/** A trajectory that says nothing. */
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

/** The scenario of each group: `metadata.scenario_id` of the group, else those of its trajectories. */
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
