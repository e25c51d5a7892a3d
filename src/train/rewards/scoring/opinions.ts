// Combines several people's opinions on a topic into one number. Each person's newest opinion counts, with equal
// weight.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";

/** An opinion that a feedback record expresses on a topic. */
export interface Opinion<Said> {
  readonly record: FeedbackRecord;
  readonly said: Said;
}

/** Returns each person's newest opinion; opinions with equal times are ordered by id. */
export function newestOfEach<Said>(opinions: readonly Opinion<Said>[]): readonly Opinion<Said>[] {
  const newest = new Map<string, Opinion<Said>>();
  for (const opinion of opinions) {
    const person = personOf(opinion.record);
    const other = newest.get(person);
    if (other === undefined || isNewer(opinion.record, other.record)) newest.set(person, opinion);
  }
  return [...newest.values()];
}

/**
 * Returns the person who gave a record's feedback. An application that stores feedback of many people with one key
 * names the person in the field `creator`.
 */
export function personOf({
  vendorUserId,
  creator,
}: Pick<FeedbackRecord, "vendorUserId" | "creator">): string {
  return JSON.stringify([vendorUserId, creator]);
}

function isNewer(one: FeedbackRecord, other: FeedbackRecord): boolean {
  const apart = one.createdAt.getTime() - other.createdAt.getTime();
  return apart === 0 ? one.id > other.id : apart > 0;
}
