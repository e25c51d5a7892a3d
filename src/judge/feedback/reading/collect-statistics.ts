// Collects statistics of payloads record by record, in bounded memory.
import { type PathStep, pathText } from "../../../base/domain/feedback-query/feedback-field.ts";
import { searchableText } from "../../../base/domain/feedback-query/values.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/domain/text/json.ts";
import type { NumberRoom } from "./number-summary.ts";
import { PathCollector, type PathStatistics } from "./path-statistics.ts";

/** Statistics of the payloads of one feedback type, over all records that were read. */
export interface PayloadStatistics {
  readonly count: number;
  /** Statistics of the values at each payload path, most frequent path first. */
  readonly paths: readonly PathStatistics[];
  /**
   * Number of values that the statistics leave out, because there were too many paths, the value's path was too long,
   * or the record had too many values.
   */
  readonly otherCount: number;
}

const pathsMax = 100;
/** Maximum length of a payload path in characters. */
const pathLengthMax = 1024;
/** Maximum depth of nested objects, and maximum number of values examined in each record. */
const depthMax = 16;
const valuesMax = 1000;
/** Maximum number of numeric values that are kept for all paths together. They take 8 MiB. */
const numbersMax = 1 << 20;

/** Collects statistics over records of the given feedback types; ignores records of other types. */
export class StatisticsCollector {
  readonly #types: ReadonlyMap<string, TypeCollector>;

  /** @param types feedback types, spelled as in queries */
  constructor(types: readonly string[]) {
    const room: NumberRoom = { left: numbersMax };
    this.#types = new Map(types.map((type) => [type, new TypeCollector(room)]));
  }

  add({ feedbackType, payload }: Pick<FeedbackRecord, "feedbackType" | "payload">): void {
    this.#types.get(searchableText(feedbackType))?.add(payload);
  }

  /** Returns the statistics of one of the collected types. */
  of(feedbackType: string): PayloadStatistics {
    return this.#types.get(feedbackType)?.result() ?? { count: 0, paths: [], otherCount: 0 };
  }
}

class TypeCollector {
  readonly #room: NumberRoom;
  readonly #paths = new Map<string, PathCollector>();
  #count = 0;
  #otherCount = 0;

  constructor(room: NumberRoom) {
    this.#room = room;
  }

  add(payload: JsonObject): void {
    this.#count += 1;
    let left = valuesMax;
    for (const [path, value] of leavesOf(payload)) {
      left -= 1;
      if (left < 0) {
        this.#otherCount += 1;
        return;
      }
      this.#pathOf(path)?.add(value);
    }
  }

  result(): PayloadStatistics {
    const paths = [...this.#paths.values()].map((path) => path.result());
    return {
      count: this.#count,
      paths: paths.sort((one, other) => other.count - one.count),
      otherCount: this.#otherCount,
    };
  }

  #pathOf(path: string): PathCollector | null {
    let collector = this.#paths.get(path);
    if (collector === undefined && (this.#paths.size === pathsMax || path.length > pathLengthMax)) {
      this.#otherCount += 1;
      return null;
    }
    collector ??= new PathCollector(path, this.#room);
    this.#paths.set(path, collector);
    return collector;
  }
}

/** Yields all values in an object and its nested objects, with their paths. A list counts as a single value. */
function* leavesOf(
  object: JsonObject,
  steps: readonly PathStep[] = [],
): Generator<readonly [string, Json], void> {
  for (const [name, value] of Object.entries(object)) {
    const path = [...steps, name];
    if (!isJsonObject(value)) yield [pathText(path), value];
    else if (path.length < depthMax) yield* leavesOf(value, path);
  }
}
