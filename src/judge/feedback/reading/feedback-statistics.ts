// Computes statistics of the feedback that a selection matches: exact counts by type, and statistics of payloads.
// Payload statistics cover all records, or the largest sample within the limits.
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
  /** Number of records that the selection matches. */
  readonly totalCount: number;
  /** The most frequent feedback types, most frequent first. */
  readonly types: readonly (PayloadStatistics & {
    readonly feedbackType: string;
    readonly totalCount: number;
  })[];
  /** Number of records whose type is not among `types`. */
  readonly otherTypesCount: number;
  /**
   * Share of the matching records that were read for payload statistics; 1 if all were read. The function `isSampled`
   * chooses which records are in a sample.
   */
  readonly share: number;
  /** Number of records that were read for payload statistics. */
  readonly sampleCount: number;
}

/** Limits on the size of the sample, which correspond to about a second of work. */
export interface SampleBounds {
  readonly records: number;
  /** Maximum number of characters in the payloads of the sample. */
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
 * Computes statistics of the feedback that a selection matches.
 *
 * @param turn entity that searches, and the time limit of the whole operation
 * @param options.signal aborts between two pages
 * @throws ServiceError `too_slow` or `overloaded`, like `FeedbackStore.scan`
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
    // The error of the last search states only the time that was left for it. Throws an error with the time limit of
    // the whole operation instead.
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
  // If a limit stops the reading, the records read so far are the oldest ones. A smaller, uniformly chosen sample
  // represents the selection better, so reading starts again with a smaller share.
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
  /** Number of records that were read. */
  readonly count: number;
  /** False if the character limit stopped the reading. */
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
    // The character limit does not apply to the first record, so a sample is never empty.
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
