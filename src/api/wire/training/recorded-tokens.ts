// What is checked of the tokens that a job's Choices recorded, as far as it is known when the job comes: a record that training
// would refuse is refused at once, with its group, trajectory and turn.
import {
  choiceFaults,
  greatestTokenId,
  strangeIdMessage,
} from "../../../train/trajectories/choice-faults.ts";
import { asChoice, type HistoryItem } from "../../../base/domain/trajectory.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isAtFaultLimit, isObject, report, type Findings } from "../../../base/validation/findings.ts";

/** The greatest token id of a body, and where it stands. */
export interface GreatestTokenId {
  readonly id: number;
  /** From `body` on. */
  readonly location: readonly string[];
}

/** Looks at one Choice after the other. */
export class RecordedTokensCheck {
  readonly #vocabularySize: number | null;
  #greatest: GreatestTokenId | null = null;

  /** @param vocabularySize how many ids the model to train has; null where it is not known yet */
  constructor(vocabularySize: number | null) {
    this.#vocabularySize = vocabularySize;
  }

  get greatestTokenId(): GreatestTokenId | null {
    return this.#greatest;
  }

  /** Adds what is wrong with the item of a history where the walk stands; messages are none of its business. */
  check(item: Readonly<Record<string, unknown>>, findings: Findings): void {
    // Safe cast: parsed from JSON.
    const given = item as HistoryItem;
    if (Object.hasOwn(item, "message") && !isObject(item["message"])) return;
    const choice = asChoice(given);
    if (choice === null) return;
    for (const { place, message } of choiceFaults(choice, this.#vocabularySize)) {
      if (isAtFaultLimit(findings)) return;
      // What is wrong with its type or range was said.
      if (!isReported(findings, place)) report(findings, "value_error", `Value error, ${message}`, ...place);
    }
    const greatest = greatestTokenId(choice);
    if (greatest !== null && greatest.id > (this.#greatest?.id ?? -1))
      this.#greatest = { id: greatest.id, location: [...findings.path, ...greatest.place] };
  }
}

/** Of what is only counted nobody sees whether it counts twice. */
function isReported({ faults, faultCount, path }: Findings, place: readonly string[]): boolean {
  if (faultCount > faults.length) return false;
  const location = [...path, ...place].join("\0");
  return faults.some((fault) => fault.location.join("\0") === location);
}

/** @throws ServiceError `invalid` when the model does not have the greatest token id of a body */
export function refuseStrangeTokenId(greatest: GreatestTokenId | null, vocabularySize: number | null): void {
  if (greatest === null || vocabularySize === null || greatest.id < vocabularySize) return;
  const message = `Value error, ${strangeIdMessage(greatest.id, vocabularySize)}; it is the greatest of the job. With model_id before trajectory_groups the first of every choice is named.`;
  const faults = [{ location: greatest.location, message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", faults });
}
