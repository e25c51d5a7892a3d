// Stores trajectories under a split at the model's newest version, with their metrics on that version.
import type { Clock } from "../domain/clock.ts";
import { newUuid7 } from "../domain/ids.ts";
import type { ModelStore, TrainedModel } from "../domain/model.ts";
import { notFound } from "../domain/service-error.ts";
import type { TrajectoryGroup, TrajectoryStore } from "../domain/trajectory.ts";
import { logMetrics } from "./log-metrics.ts";
import { ScenarioIds, scenarioIdsOf } from "./scenario-ids.ts";

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

interface StoreState {
  /** Ends when the last log of the model that was begun has been stored. */
  readonly tails: Map<string, Promise<unknown>>;
  readonly scenarioIds: ScenarioIds;
}

/** Logs of one model run one after another, since each goes on from the sums of the one before. */
const states = new WeakMap<TrajectoryStore, StoreState>();

/**
 * Stores the groups and lays their metrics over those of the model's newest version, in one transaction.
 *
 * @throws ServiceError `invalid` for numbers that are not finite and for metrics named `costs_...`,
 *   `not_found` when the model has no version any more
 */
export async function logTrajectories(
  dependencies: LogTrajectoriesDependencies,
  log: { readonly model: TrainedModel; readonly split: string; readonly groups: readonly TrajectoryGroup[] },
): Promise<LoggedTrajectories> {
  const { tails, scenarioIds } = stateOf(dependencies.store);
  const before = tails.get(log.model.id) ?? Promise.resolve();
  const current = before.then(
    () => append(dependencies, scenarioIds, log),
    () => append(dependencies, scenarioIds, log),
  );
  tails.set(log.model.id, current);
  try {
    return await current;
  } finally {
    if (tails.get(log.model.id) === current) tails.delete(log.model.id);
  }
}

function stateOf(store: TrajectoryStore): StoreState {
  const state = states.get(store) ?? { tails: new Map(), scenarioIds: new ScenarioIds(store) };
  states.set(store, state);
  return state;
}

async function append(
  { store, models, clock }: LogTrajectoriesDependencies,
  scenarioIds: ScenarioIds,
  { model, split, groups }: { model: TrainedModel; split: string; groups: readonly TrajectoryGroup[] },
): Promise<LoggedTrajectories> {
  const version = await models.newestVersion(model.id);
  if (version === null) throw notFound("model", model.id);
  const recordedAt = clock.now();
  const metrics = logMetrics({
    split,
    groups,
    step: version.step,
    earlier: (await store.newestMetrics(model.id))?.metrics ?? {},
    uniqueScenarioCount: await scenarioIds.countWith(model.id, scenarioIdsOf(groups)),
    wallClockSeconds: Math.max(0, (recordedAt.getTime() - model.createdAt.getTime()) / 1000),
  });
  await store.append({
    id: newUuid7(clock),
    modelId: model.id,
    split,
    step: version.step,
    recordedAt,
    groups,
    metrics,
  });
  const trajectories = groups.reduce((count, group) => count + group.trajectories.length, 0);
  return { step: version.step, trajectories, metrics };
}
