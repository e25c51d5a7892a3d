// How many different scenarios a model has seen: ids that clients put in the metadata of groups or trajectories.
// Reads the stored logs once per model and then only what came after; keeps the ids of a few models.
import type { TrajectoryGroup, TrajectoryStore } from "../domain/trajectory.ts";

const MODEL_COUNT_MAX = 32;
const PAGE_SIZE = 20;

interface Seen {
  readonly ids: Set<string>;
  /** The last log that was read. */
  after: string | null;
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

/** Counts different scenario ids over all logs of a model. */
export class ScenarioIds {
  readonly #store: TrajectoryStore;
  /** In order of use, the longest unused first. */
  readonly #seenByModel = new Map<string, Seen>();

  constructor(store: TrajectoryStore) {
    this.#store = store;
  }

  /** Different ids in the stored logs and `ids` together; null when `ids` is empty, without reading anything. */
  async countWith(modelId: string, ids: readonly string[]): Promise<number | null> {
    if (ids.length === 0) return null;
    const seen = await this.#catchUp(modelId);
    return new Set([...seen.ids, ...ids]).size;
  }

  async #catchUp(modelId: string): Promise<Seen> {
    const seen = this.#seenByModel.get(modelId) ?? { ids: new Set<string>(), after: null };
    this.#seenByModel.delete(modelId);
    this.#seenByModel.set(modelId, seen);
    if (this.#seenByModel.size > MODEL_COUNT_MAX) {
      const [longestUnused] = this.#seenByModel.keys();
      this.#seenByModel.delete(longestUnused);
    }
    for (let hasMore = true; hasMore;) {
      const request = { after: seen.after, limit: PAGE_SIZE, order: "asc" as const };
      const page = await this.#store.list(modelId, { split: null }, request);
      for (const log of page.items) {
        for (const id of scenarioIdsOf(log.groups)) seen.ids.add(id);
        seen.after = log.id;
      }
      hasMore = page.hasMore;
    }
    return seen;
  }
}
