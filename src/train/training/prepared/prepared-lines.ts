// The lines of a job as they are prepared: those that an earlier attempt prepared come from the file, the others are made
// now and written there. Says how far that is.
import type { Clock } from "../../../base/domain/clock.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import type { StoredSequence, TokenFile } from "./token-file.ts";

/** What a job trains on: groups, conversations or preferences, in their order. */
export interface WorkLines<Item> {
  readonly count: number;
  /** Those from this index on, one in memory at a time. */
  from(index: number): AsyncIterable<Item>;
}

/** What a line is made into. */
export interface PreparedLine<Note> {
  /** What is to be known of it beside its sequences; survives JSON. */
  readonly note: Note;
  readonly sequences: readonly TokenSequence[];
}

/** Is called with how many lines are prepared, and in how many seconds all will be, by the speed so far. */
export type PreparedReport = (count: number, total: number, secondsLeft: number) => Promise<void>;

export interface PreparedLinesOptions {
  readonly clock: Clock;
  readonly report: PreparedReport;
}

/** A report comes as often, at the end, and at every tenth of so many lines. */
const reportMs = 1000;
const tenthsMin = 1000;

export class PreparedLines<Item> {
  readonly #file: TokenFile;
  readonly #lines: WorkLines<Item>;
  readonly #options: PreparedLinesOptions;

  constructor(file: TokenFile, lines: WorkLines<Item>, options: PreparedLinesOptions) {
    this.#file = file;
    this.#lines = lines;
    this.#options = options;
  }

  /**
   * Every line in its order. When it ends all sequences can be read from the file.
   *
   * @param prepare makes of a line the same in every attempt; what it throws ends the job
   */
  async *each<Note>(
    prepare: (item: Item, index: number) => PreparedLine<Note>,
  ): AsyncGenerator<{ readonly note: Note; readonly sequences: readonly StoredSequence[] }, void> {
    const { count: total } = this.#lines;
    let count = 0;
    for (const { note, sequences } of this.#file.records()) {
      // What `prepare` made in an earlier attempt.
      yield { note: note as Note, sequences };
      count += 1;
    }
    const report = this.#reporting(count, total);
    if (count < total)
      for await (const item of this.#lines.from(count)) {
        const { note, sequences } = prepare(item, count);
        yield { note, sequences: this.#file.append(note, sequences).sequences };
        count += 1;
        await report(count);
      }
    this.#file.flush();
    await this.#options.report(total, total, 0);
  }

  #reporting(firstCount: number, total: number): (count: number) => Promise<void> {
    const { clock, report } = this.#options;
    const startMs = clock.monotonicMs();
    const tenthOf = (count: number): number => (total < tenthsMin ? 0 : Math.floor((10 * count) / total));
    let [reportedMs, reportedTenth] = [startMs, tenthOf(firstCount)];
    return async (count) => {
      const nowMs = clock.monotonicMs();
      const tenth = tenthOf(count);
      if (count === total || (nowMs - reportedMs < reportMs && tenth === reportedTenth)) return;
      [reportedMs, reportedTenth] = [nowMs, tenth];
      const msPerLine = (nowMs - startMs) / (count - firstCount);
      await report(count, total, (msPerLine * (total - count)) / 1000);
    };
  }
}
