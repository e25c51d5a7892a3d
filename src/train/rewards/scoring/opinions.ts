// Combines several people's opinions of one thing into one number: each person's newest opinion counts, with equal
// weight.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";

/** A statement of a record about a topic. */
export interface Opinion<Said> {
  readonly record: FeedbackRecord;
  readonly said: Said;
}

/** Returns each person's newest opinion; ties in time are broken by id. */
export function newestOfEach<Said>(opinions: readonly Opinion<Said>[]): readonly Opinion<Said>[] {
  const newest = new Map<string, Opinion<Said>>();
  for (const opinion of opinions) {
    const person = personOf(opinion.record);
    const other = newest.get(person);
    if (other === undefined || isNewer(opinion.record, other.record)) newest.set(person, opinion);
  }
  return [...newest.values()];
}

/** Returns the person of a record: an application that writes for many with one key names them in `creator`. */
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
