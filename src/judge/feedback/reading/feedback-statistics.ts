// Statistics over a selection of feedback: exact counts by type, and what payloads hold, of all records or of a sample that
// is as large as there is room for.
import type { Clock } from "../../../base/domain/clock.ts";
import type {
  FeedbackScan,
  FeedbackScanPage,
  QueryTurn,
  TypeQuestion,
} from "../../../base/domain/feedback-query/feedback-query.ts";
import type { FeedbackStore } from "../../../base/domain/feedback-query/feedback-store.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { inTurns } from "../in-turns.ts";
import { type PayloadStatistics, StatisticsCollector } from "./collect-statistics.ts";

export interface FeedbackStatistics {
  /** Of all records of the selection. */
  readonly totalCount: number;
  /** Of the most frequent types, the first of them first. */
  readonly types: readonly (PayloadStatistics & {
    readonly feedbackType: string;
    readonly totalCount: number;
  })[];
  /** Records of further types, of which nothing is said. */
  readonly otherTypesCount: number;
  /** How large a part of the records was read for what payloads hold; 1 for all. See `isSampled` for which. */
  readonly share: number;
  /** Records that were read. */
  readonly sampleCount: number;
}

/** What is read: a second's work. */
export interface SampleBounds {
  readonly records: number;
  /** Characters of payloads. */
  readonly characters: number;
}

const sampleBounds: SampleBounds = { records: 50_000, characters: 32 << 20 };
const typesMax = 100;
const pageRecords = 1000;

type Selection = Omit<TypeQuestion, "typesMax">;

interface Dependencies {
  readonly store: Pick<FeedbackStore, "scan" | "countTypes">;
  readonly clock: Clock;
}

/**
 * @param turn how long all of it may take
 * @param options.signal ends it between two pages
 * @throws ServiceError `too_slow`, `overloaded` as `FeedbackStore.scan`
 */
export async function feedbackStatistics(
  dependencies: Dependencies,
  selection: Selection,
  turn: QueryTurn,
  { signal, bounds = sampleBounds }: { readonly signal: AbortSignal; readonly bounds?: SampleBounds },
): Promise<FeedbackStatistics> {
  try {
    return await statisticsWithin(dependencies, selection, turn, { signal, bounds });
  } catch (error) {
    // A search of it knows no more than the time that it had itself.
    if (error instanceof ServiceError && error.code === "too_slow") throw tooSlow(turn.timeMs, error);
    throw error;
  }
}

async function statisticsWithin(
  { store, clock }: Dependencies,
  selection: Selection,
  { entity, timeMs }: QueryTurn,
  { signal, bounds }: { readonly signal: AbortSignal; readonly bounds: SampleBounds },
): Promise<FeedbackStatistics> {
  const endMs = clock.monotonicMs() + timeMs;
  const left = (): QueryTurn => {
    signal.throwIfAborted();
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) throw tooSlow(timeMs);
    return { entity, timeMs: leftMs };
  };
  const { totalCount, types } = await store.countTypes({ ...selection, typesMax }, left());
  const names = types.map(({ feedbackType }) => feedbackType);
  let share = Math.min(1, bounds.records / Math.max(1, totalCount));
  let sample = await readSample({ store, clock }, { ...selection, share }, { names, bounds, left });
  // What was read then are the oldest: fewer, from all over, say more.
  while (!sample.isWhole) {
    share /= 4;
    sample = await readSample({ store, clock }, { ...selection, share }, { names, bounds, left });
  }
  const { collector, count: sampleCount } = sample;
  const ofTypes = types.map(({ feedbackType, count }) => ({
    ...collector.of(feedbackType),
    feedbackType,
    totalCount: count,
  }));
  const otherTypesCount = totalCount - types.reduce((sum, { count }) => sum + count, 0);
  return { totalCount, types: ofTypes, otherTypesCount, share, sampleCount };
}

interface Sample {
  readonly collector: StatisticsCollector;
  /** Records. */
  readonly count: number;
  /** False where it would have had more than its bound of characters, and was left before its end. */
  readonly isWhole: boolean;
}

async function readSample(
  { store, clock }: Dependencies,
  scan: Pick<FeedbackScan, "projectId" | "condition" | "share">,
  {
    names,
    bounds,
    left,
  }: { readonly names: readonly string[]; readonly bounds: SampleBounds; readonly left: () => QueryTurn },
): Promise<Sample> {
  const collector = new StatisticsCollector(names);
  let [count, characters] = [0, 0];
  for (let after: number | null = null, hasMore = true; hasMore;) {
    const page: FeedbackScanPage = await store.scan({ ...scan, after, limit: pageRecords }, left());
    await inTurns(
      page.items,
      (record) => {
        collector.add(record);
        characters += JSON.stringify(record.payload).length;
      },
      { clock, tenant: left().entity },
    );
    count += page.items.length;
    // A single record is read however large it is.
    if (characters > bounds.characters && count > 1) return { collector, count, isWhole: false };
    after = page.last ?? after;
    hasMore = page.hasMore;
  }
  return { collector, count, isWhole: true };
}

function tooSlow(timeMs: number, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "too_slow",
    message: `The statistics took longer than ${timeMs / 1000} s; ask about fewer records, such as those of a type or since a time.`,
    cause,
  });
}
