// What several people said of one thing, as one number: of each person the newest counts, and then everybody alike.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";

/** Something that a record says, about a topic. */
export interface Opinion<Said> {
  readonly record: FeedbackRecord;
  readonly said: Said;
}

/** Of every person the newest; which of two was written at the same time is decided by their ids. */
export function newestOfEach<Said>(opinions: readonly Opinion<Said>[]): readonly Opinion<Said>[] {
  const newest = new Map<string, Opinion<Said>>();
  for (const opinion of opinions) {
    const person = personOf(opinion.record);
    const other = newest.get(person);
    if (other === undefined || isNewer(opinion.record, other.record)) newest.set(person, opinion);
  }
  return [...newest.values()];
}

/** Whose opinion a record is: an application that writes for many with one key says for whom in `creator`. */
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
