// For tests: outlines of trajectories in memory.
import { clamped } from "../../../base/domain/outlines/clamped.ts";
import type {
  ListedOutline,
  OutlineCount,
  OutlineFilter,
  TrajectoryOutline,
} from "../../../base/domain/outlines/trajectory-outline.ts";
import type { TrajectoryStore } from "../../../base/domain/trajectory.ts";
import type { Exclusively, Tables } from "./memory-tables.ts";

export function addOutlines(
  tables: Tables,
  place: Pick<ListedOutline, "source" | "sourceId" | "split" | "step" | "recordedAt"> & {
    readonly modelId: string;
  },
  outlines: Iterable<TrajectoryOutline>,
): void {
  const count = tables.outlineCounts.get(place.modelId) ?? 0;
  const added = [...outlines].map((outline, index) => ({ ...outline, ...place, number: count + index + 1 }));
  tables.outlines = [...tables.outlines, ...added];
  tables.outlineCounts = new Map([...tables.outlineCounts, [place.modelId, count + added.length]]);
}

export function memoryOutlines(
  exclusively: Exclusively,
): Pick<TrajectoryStore, "listOutlines" | "findOutline" | "countOutlines"> {
  return {
    listOutlines: (modelId, filter, { after, limit, order }) =>
      exclusively((tables) => {
        const isForward = order === "asc";
        const all = ofModel(tables, modelId);
        const behind = (isForward ? all : all.toReversed()).filter(
          ({ number }) => after === null || (isForward ? number > after : number < after),
        );
        const wanted = behind.filter((outline) => isWanted(outline, filter));
        const items = wanted.slice(0, limit);
        return { items, last: items.at(-1)?.number ?? 0, hasMore: wanted.length > limit };
      }),
    findOutline: (modelId, number) =>
      exclusively((tables) => ofModel(tables, modelId).find((one) => one.number === number) ?? null),
    countOutlines: (modelId, step) =>
      exclusively((tables) => {
        const all = ofModel(tables, modelId).filter((outline) => step === null || outline.step === step);
        const kinds = new Map<string, OutlineCount>();
        const sums = new Map<string, number>();
        for (const { source, split, reward } of all) {
          const key = JSON.stringify([source, split]);
          const count = (kinds.get(key)?.count ?? 0) + 1;
          const sum = clamped((sums.get(key) ?? 0) + reward);
          sums.set(key, sum);
          kinds.set(key, { source, split, count, meanReward: sum / count });
        }
        return [...kinds.entries()]
          .sort(([a, one], [b, other]) => other.count - one.count || (a < b ? -1 : 1))
          .map(([, kind]) => kind);
      }),
  };
}

function ofModel(tables: Tables, id: string): readonly ListedOutline[] {
  return tables.outlines
    .filter((one) => one.modelId === id)
    .map((one) => {
      const { modelId: _, ...outline } = one;
      return outline;
    });
}

function isWanted(outline: ListedOutline, filter: OutlineFilter): boolean {
  const { source, split, step, reward, recordedAt } = outline;
  return (
    source === (filter.source ?? source) &&
    split === (filter.split ?? split) &&
    step === (filter.step ?? step) &&
    reward >= (filter.rewardMin ?? reward) &&
    reward <= (filter.rewardMax ?? reward) &&
    recordedAt >= (filter.recordedFrom ?? recordedAt) &&
    (filter.recordedBefore === null || recordedAt < filter.recordedBefore)
  );
}
