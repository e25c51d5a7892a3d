// Checks the tokens in a job's Choices as far as possible when the body arrives. A Choice that training could not use
// is refused immediately, and the fault names its group, trajectory and turn.
import {
  choiceFaults,
  greatestTokenId,
  unknownIdMessage,
} from "../../../train/trajectories/choice-faults.ts";
import { asChoice, type HistoryItem } from "../../../base/domain/trajectory.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isAtFaultLimit, isObject, report, type Findings } from "../../../base/validation/findings.ts";

/** Largest token id that a body records, and where it is in the body. */
export interface GreatestTokenId {
  readonly id: number;
  /** Path of the token id, beginning with `body`. */
  readonly location: readonly string[];
}

/** Checks Choices one by one, and remembers the largest token id of all. */
export class RecordedTokensCheck {
  readonly #vocabularySize: number | null;
  #greatest: GreatestTokenId | null = null;

  /** @param vocabularySize number of token ids of the model to train; null if not yet known */
  constructor(vocabularySize: number | null) {
    this.#vocabularySize = vocabularySize;
  }

  get greatestTokenId(): GreatestTokenId | null {
    return this.#greatest;
  }

  /**
   * Adds the faults of a Choice; skips items that are messages. The current path of `findings` must be that of the
   * item.
   */
  check(item: Readonly<Record<string, unknown>>, findings: Findings): void {
    // Safe cast: parsed from JSON.
    const given = item as HistoryItem;
    if (Object.hasOwn(item, "message") && !isObject(item["message"])) return;
    const choice = asChoice(given);
    if (choice === null) return;
    for (const { place, message } of choiceFaults(choice, this.#vocabularySize)) {
      if (isAtFaultLimit(findings)) return;
      // The check against the schema has already reported faults of type or range.
      if (!isReported(findings, place)) report(findings, "value_error", `Value error, ${message}`, ...place);
    }
    const greatest = greatestTokenId(choice);
    if (greatest !== null && greatest.id > (this.#greatest?.id ?? -1))
      this.#greatest = { id: greatest.id, location: [...findings.path, ...greatest.place] };
  }
}

/**
 * True if the findings contain a fault at this location. If the list of faults is full, returns false: faults are then
 * only counted, so adding one twice does no harm.
 */
function isReported({ faults, faultCount, path }: Findings, place: readonly string[]): boolean {
  if (faultCount > faults.length) return false;
  const location = [...path, ...place].join("\0");
  return faults.some((fault) => fault.location.join("\0") === location);
}

/**
 * Refuses recorded token ids that the model does not have.
 *
 * @throws ServiceError `invalid` if the body's largest token id is not in the model's vocabulary
 */
export function refuseUnknownTokenId(greatest: GreatestTokenId | null, vocabularySize: number | null): void {
  if (greatest === null || vocabularySize === null || greatest.id < vocabularySize) return;
  const message = `Value error, ${unknownIdMessage(greatest.id, vocabularySize)}; it is the greatest of the job. With model_id before trajectory_groups the first of every choice is named.`;
  const faults = [{ location: greatest.location, message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", faults });
}
